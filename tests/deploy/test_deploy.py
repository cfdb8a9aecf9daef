"""Cluster files against what reads them: Ray's loader, KubeRay's schemas, Kubernetes' schemas, linters."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="cluster files: pip install 'raytpnn[test]'")
from support.deploy_cases import DEPLOY, documents, problems_of  # noqa: E402

CLUSTERS = ["aws-gpu.yaml", "onprem.yaml"]
MANIFESTS = ["kuberay-raycluster.yaml", "kuberay-rayjob.yaml"]


def prepared(config):
    """Configuration as `ray up` sees it after its own checks."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = prepare_config(copy.deepcopy(config))
    validate_config(config)
    return config


@pytest.mark.parametrize("name", CLUSTERS)
def test_ray_takes_the_cluster_file(name):
    (config,) = documents(DEPLOY / name)
    seen = prepared(config)
    assert seen["cluster_name"].startswith("raytpnn")
    starts = " ".join(seen["head_start_ray_commands"])
    assert "RAY_AUTH_MODE=token" in starts
    assert "--dashboard-host=127.0.0.1" in starts
    assert all("RAY_AUTH_MODE=token" in c for c in seen["worker_start_ray_commands"] if "ray start" in c)
    # What examples/genomics.py needs beside the package.
    extras = re.search(r"/raytpnn\[([\w,]+)\]", " ".join(seen["setup_commands"]))[1].split(",")
    assert {"cluster", "report", "h5ad"} <= set(extras)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("aws-gpu.yaml", {"idle_timeout_minute": 5}),
        ("aws-gpu.yaml", {"max_workers": "eight"}),
        ("aws-gpu.yaml", {"head_node_type": "haed"}),
        ("onprem.yaml", {"setup_command": []}),
    ],
)
def test_ray_refuses_what_is_wrong(name, change):
    import jsonschema

    (config,) = documents(DEPLOY / name)
    with pytest.raises((jsonschema.ValidationError, ValueError)):
        prepared(config | change)


def test_spot_workers_have_bounds_and_a_role_for_the_bucket():
    (config,) = documents(DEPLOY / "aws-gpu.yaml")
    assert config["max_workers"] <= 8
    for kind, node in config["available_node_types"].items():
        assert node["node_config"]["MetadataOptions"] == {"HttpTokens": "required"}
        if kind != "head":
            assert node["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
            # Ray gives the head a role of its own making, and workers none.
            assert node["node_config"]["IamInstanceProfile"] == {"Name": "raytpnn-worker"}
            assert node["min_workers"] == 0


@pytest.mark.parametrize("name", MANIFESTS)
def test_kuberay_takes_the_manifest(name):
    for document in documents(DEPLOY / name):
        assert problems_of(document) == []


def cluster_of(manifest):
    """Where a manifest describes the Ray cluster."""
    spec = manifest["spec"]
    return spec["rayClusterSpec"] if manifest["kind"] == "RayJob" else spec


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda cluster: cluster.update(enableInTreeAutoscalng=True),
        lambda cluster: cluster["workerGroupSpecs"][0].update(maxReplica=3),
        lambda cluster: cluster["workerGroupSpecs"][0].update(maxReplicas="3"),
        lambda cluster: cluster["workerGroupSpecs"][1].pop("groupName"),
        lambda cluster: cluster["authOptions"].update(mode="tokn"),
        lambda cluster: cluster["headGroupSpec"]["template"]["spec"]["containers"][0].update(imag="x"),
        lambda cluster: cluster["headGroupSpec"]["template"]["spec"].update(toleration=[]),
    ],
)
def test_a_typo_in_a_manifest_is_caught(name, spoil):
    (manifest,) = documents(DEPLOY / name)
    assert problems_of(manifest) == []
    spoil(cluster_of(manifest))
    assert len(problems_of(manifest)) == 1


@pytest.mark.parametrize("name", [*MANIFESTS, "kuberay-volume.yaml"])
def test_kubernetes_takes_the_pods_and_the_volume(name):
    """The CRD's own copy of the pod schema is loose; that of Kubernetes is not."""
    checker = pytest.importorskip("kubernetes_validate", reason="pip install 'raytpnn[test]'")
    for document in documents(DEPLOY / name):
        if document["kind"] not in ("RayCluster", "RayJob"):
            checker.validate(document, "1.33", strict=True)
            continue
        cluster = cluster_of(document)
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
            template = group["template"]
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": template["spec"]}
            checker.validate(pod, "1.33", strict=True)


def test_a_job_ends_and_a_cluster_shrinks():
    (job,) = documents(DEPLOY / "kuberay-rayjob.yaml")
    assert job["spec"]["shutdownAfterJobFinishes"] is True
    assert job["spec"]["ttlSecondsAfterFinished"] > 0
    assert job["spec"]["activeDeadlineSeconds"] > 0
    for name in MANIFESTS:
        (manifest,) = documents(DEPLOY / name)
        cluster = cluster_of(manifest)
        assert cluster["authOptions"]["mode"] == "token"
        assert cluster["headGroupSpec"]["serviceType"] == "ClusterIP"
        assert cluster["autoscalerOptions"]["idleTimeoutSeconds"] > 0
        assert all(group["minReplicas"] == 0 for group in cluster["workerGroupSpecs"])


def test_commands_of_the_job_are_ours():
    """Flags of the entrypoint exist."""
    from support.cli_cases import run

    (job,) = documents(DEPLOY / "kuberay-rayjob.yaml")
    told = job["spec"]["entrypoint"]
    for command in ("fit", "resume"):
        helped = run(command, "--help").stdout
        used = re.search(rf"raytpnn {command}.*?(;|$)", told)[0]
        flags = re.findall(r"--[a-z-]+", used)
        assert flags
        assert [flag for flag in flags if flag not in helped] == []


def tool(name):
    """A program that is installed beside Python."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: pip install 'raytpnn[test]'")
    return path


def lint(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_slurm_script_is_clean_and_a_fault_is_found(tmp_path):
    shellcheck = tool("shellcheck")
    done = lint(shellcheck, DEPLOY / "slurm.sh")
    assert done.returncode == 0, done.stdout
    spoiled = tmp_path / "slurm.sh"
    spoiled.write_text((DEPLOY / "slurm.sh").read_text().replace('rm -rf "$secrets"', "rm -rf $secrets"))
    assert "SC2086" in lint(shellcheck, spoiled).stdout


def test_the_dockerfile_is_clean_and_a_fault_is_found(tmp_path):
    hadolint = tool("hadolint")
    done = lint(hadolint, DEPLOY / "Dockerfile")
    assert done.returncode == 0, done.stdout
    spoiled = tmp_path / "Dockerfile"
    spoiled.write_text((DEPLOY / "Dockerfile").read_text().replace(":12.6.3-runtime-ubuntu24.04\n\n", "\n\n"))
    assert "DL3006" in lint(hadolint, spoiled).stdout


def test_the_image_has_no_root_and_a_base_with_a_version():
    text = (DEPLOY / "Dockerfile").read_text()
    users = re.findall(r"^USER (\S+)", text, re.MULTILINE)
    assert users[-1].isdigit()
    assert int(users[-1]) > 0
    assert re.search(r"^FROM \S+:\d+\.\d+\.\d+\S*$", text, re.MULTILINE)
    extras = re.search(r"^ARG EXTRAS=(\S+)", text, re.MULTILINE)[1].split(",")
    assert {"cluster", "report", "h5ad"} <= set(extras)


def test_versions_of_ray_agree():
    """One Ray everywhere: that is what clusters ask for."""
    told = {}
    for path in DEPLOY.iterdir():
        if path.is_file():
            pattern = r"ray(?:\[default\])?==([\d.]+)|rayproject/ray:([\d.]+\d)|rayVersion: \"([\d.]+)\""
            for found in re.findall(pattern, path.read_text()):
                told.setdefault(next(filter(None, found)), set()).add(path.name)
    assert len(told) == 1, told


def test_no_file_holds_a_secret():
    secret = re.compile(
        r"AKIA[0-9A-Z]{16}|BEGIN [A-Z ]*PRIVATE KEY|(password|secret_key|token)\s*[:=]\s*['\"]?\w{16,}"
    )
    for path in DEPLOY.iterdir():
        if path.is_file():
            assert not secret.search(path.read_text()), path.name


def test_the_bucket_is_private_and_workers_may_use_no_other(monkeypatch, capsys):
    moto = pytest.importorskip("moto", reason="a stand-in for AWS: pip install 'moto[server]'")
    import boto3

    monkeypatch.syspath_prepend(str(DEPLOY))
    import aws_bucket

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with moto.mock_aws():
        # Twice: the second time everything is there.
        for _ in range(2):
            aws_bucket.main(["runs-of-ours", "--region", "us-west-2"])
        s3 = boto3.client("s3", region_name="us-west-2")
        closed = s3.get_public_access_block(Bucket="runs-of-ours")["PublicAccessBlockConfiguration"]
        assert len(closed) == 4
        assert all(closed.values())
        assert s3.get_bucket_encryption(Bucket="runs-of-ours")
        (rule,) = s3.get_bucket_lifecycle_configuration(Bucket="runs-of-ours")["Rules"]
        assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
        assert "aws:SecureTransport" in s3.get_bucket_policy(Bucket="runs-of-ours")["Policy"]
        iam = boto3.client("iam", region_name="us-west-2")
        rights = iam.get_role_policy(RoleName="raytpnn-worker", PolicyName="raytpnn")["PolicyDocument"]
        resources = {name for part in rights["Statement"] for name in part["Resource"]}
        assert resources == {"arn:aws:s3:::runs-of-ours", "arn:aws:s3:::runs-of-ours/*"}
        for name in ("raytpnn-worker", "raytpnn-head"):
            profile = iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
            assert [role["RoleName"] for role in profile["Roles"]] == [name]
    assert "s3://runs-of-ours" in capsys.readouterr().out
