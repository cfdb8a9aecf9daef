// Whole blocks of sweeps on the device: one block of threads a chain, nothing returns to the host in between.
//
// sweep_block   sweeps of independent chains, or of the replicas of ensembles between two swaps
// end_sweep     what ensembles do between sweeps: keep the cold replica's draw, trade places
//
// Compile with --fmad=false. Macros: WIDE_CODES, TABLES_IN_SHARED, MOST_THREADS, SCREENED, see chain.cuh.
// Threads: a power of two from 32 to MOST_THREADS. Dynamic shared memory: the tables, 3 max_order table_width
// floats, if they are kept there; else none.
#include "sweeps/swap.cuh"
#include "sweeps/sweep.cuh"

using namespace raytpnn;

// Keep the draw of sweep number i if it is time to, and tell the host how far the chain came. A call of its own:
// inlined, NVRTC 13.0 spills registers of sweep_block on sm_90.
UNIT void after_sweep(DeviceRecord* records, long long i, long long warmup, long long thin) {
    if (records && i >= warmup && (i - warmup + 1) % thin == 0) keep_draw(records[blockIdx.x]);
    if (leader()) {
        chain.work->control[SWEEPS_DONE] = i + 1;
        chain.work->control[TERMS] = chain.state->K;
    }
}

// Sweeps first ... first + sweeps - 1 of chain blockIdx.x, draws into its record; records may be null: then
// nothing is kept. `flags`: BEGIN, PRIOR_DRAWS. control[SWEEPS_DONE] says how far a chain came that was stopped.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    sweep_block(const Problem* problem, const Settings* settings, State* states, DeviceWork* works,
                DeviceRecord* records, long long first, long long sweeps, long long warmup, long long thin, int flags) {
    if (leader()) {
        chain.problem = problem;
        chain.whole = problem;
        chain.rows = nullptr;
        chain.settings = settings;
        chain.state = states + blockIdx.x;
        chain.work = works + blockIdx.x;
        if (settings->batch > 0) begin_subsets(problem, settings, chain.work);
    }
    __syncthreads();
    if ((flags & BEGIN) && !chain.rows) begin_block();
    for (int done = 0; done < sweeps; ++done) {
        if (leader()) {
            chain.state->stream[3] = (unsigned long long)(first + done);
            plan_screening(first + done, warmup);
        }
        if (!going_on()) return;
        if (chain.rows) begin_subset();
        if (is_screening()) begin_screening();
        if ((flags & PRIOR_DRAWS) && chain.state->scalar[TEMPERATURE] == 0.0)
            draw_from_prior();
        else if (!sweep(first + done < warmup))
            return;
        after_sweep(records, first + done, warmup, thin);
    }
}

// After sweep number `index` of ensemble blockIdx.x, whose replicas stand one after the other: keep the cold
// replica's draw and every level's log-likelihood if it is time to, then swap if it is time to.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    end_sweep(const Problem* problem, const Settings* settings, State* states, DeviceWork* works, Ladder* ladders,
              DeviceRecord* records, long long index, long long warmup, long long thin) {
    Ladder* ladder = ladders + blockIdx.x;
    const long long levels = ladder->levels;
    State* replicas = states + blockIdx.x * levels;
    const long long cold = ladder->replica_at[levels - 1];
    if (leader()) {
        chain.problem = problem;
        chain.whole = problem;
        chain.rows = nullptr;
        chain.settings = settings;
        chain.state = replicas + cold;
        chain.work = works + blockIdx.x * levels + cold;
    }
    __syncthreads();
    if (records && index >= warmup && (index - warmup + 1) % thin == 0) {
        DeviceRecord& record = records[blockIdx.x];
        double* trace = at<double>(record.trace) + record.row * levels;
        for (int level = threadIdx.x; level < levels; level += blockDim.x)
            trace[level] = full_log_likelihood(settings, replicas + ladder->replica_at[level]);
        keep_draw(record);
    }
    if (leader()) {
        long long* control = works[blockIdx.x * levels].control;
        control[SWEEPS_DONE] = index + 1;
        control[TERMS] = chain.state->K;
    }
    const long long every = ladder->swap_every;
    if ((index + 1) % every == 0) swap_neighbours(settings, replicas, ladder, (int)((index + 1) / every % 2));
}
