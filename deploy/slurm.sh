#!/bin/bash
# A fit over the nodes of a Slurm job: a Ray cluster for the time of the job, the run on a disk all nodes see.
#
#   sbatch deploy/slurm.sh DATA --target T --out /shared/runs/first --chains 64
#
# Everything after the script is for `raytpnn fit`. Submitted again, or requeued after a preemption, it goes on
# with the run that is there. raytpnn must be in the environment: activate it here or before sbatch.
#SBATCH --job-name=raytpnn
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# Two minutes before the end the fit finishes its blocks and saves.
#SBATCH --signal=B:TERM@120
# With GPUs: `#SBATCH --gpus-per-node=1` too, and `--gpus 1` for raytpnn.
set -euo pipefail

if [ "$#" -eq 0 ]; then
  echo "usage: sbatch $0 DATA --target T --out RUN [options of raytpnn fit]" >&2
  exit 2
fi

# The folder of the run, to know whether to begin or to go on.
run=""
previous=""
for word in "$@"; do
  case "$word" in --out=*) run=${word#--out=} ;; esac
  if [ "$previous" = "--out" ]; then run=$word; fi
  previous=$word
done
if [ -z "$run" ]; then
  echo "give --out RUN, a folder that all nodes see" >&2
  exit 2
fi

# A token of this job's own, so that no other user of the nodes can use this Ray. The folder must be shared.
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
secrets=$(mktemp -d "${RAYTPNN_SHARED:-$HOME}/.raytpnn-job-XXXXXX")
chmod 700 "$secrets"
export RAY_AUTH_TOKEN_PATH=$secrets/token
(umask 077 && python3 -c "import secrets; print(secrets.token_hex(32))" >"$RAY_AUTH_TOKEN_PATH")
unset RAY_ADDRESS

# Several jobs may meet on a node: ports and folders by the number of the job.
job=${SLURM_JOB_ID:-0}
port=$((20000 + job % 10000))
folder=${SLURM_TMPDIR:-/tmp}/ray-$job
cpus=${SLURM_CPUS_PER_TASK:-1}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
# The first address; some nodes tell several.
ip=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | awk '{print $1}')
started=()

# shellcheck disable=SC2329  # the trap below calls it
finish() {
  # End what this job has started, by its number; the folder with the token goes too.
  for process in "${started[@]}"; do
    kill "$process" 2>/dev/null || true
  done
  wait || true
  rm -rf "$secrets"
}
trap finish EXIT

echo "head $head ($ip:$port), $((${#nodes[@]} - 1)) further nodes, $cpus CPUs each"
srun --nodes=1 --ntasks=1 -w "$head" \
  ray start --head --block --node-ip-address="$ip" --port="$port" --num-cpus="$cpus" \
  --temp-dir="$folder" --include-dashboard=false >/dev/null &
started+=("$!")
for attempt in $(seq 60); do
  if ray status --address="$ip:$port" >/dev/null 2>&1; then break; fi
  if [ "$attempt" -eq 60 ]; then
    echo "Ray has not come up on $head" >&2
    exit 1
  fi
  sleep 2
done
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 -w "$node" \
    ray start --block --address="$ip:$port" --num-cpus="$cpus" >/dev/null &
  started+=("$!")
done

if raytpnn watch --once "$run" >/dev/null 2>&1 || [ "$?" -ne 1 ]; then
  raytpnn resume "$run" --address "$ip:$port" &
else
  raytpnn fit "$@" --address "$ip:$port" &
fi
fit=$!
# Slurm's warning, and scancel, are for the fit: it finishes the blocks at hand and saves.
trap 'kill -TERM "$fit" 2>/dev/null || true' TERM INT
code=0
wait "$fit" || code=$?
# A signal ends `wait`, not the fit.
while kill -0 "$fit" 2>/dev/null; do
  code=0
  wait "$fit" || code=$?
done
echo "raytpnn ended with code $code"
exit "$code"
