"""Files of `deploy/`, and a check of manifests that lets no typo pass."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
KINDS = {"RayCluster": "ray.io_rayclusters.yaml", "RayJob": "ray.io_rayjobs.yaml"}


def documents(path):
    """All documents of a YAML file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def crd_schema(kind, version="v1"):
    """Strict schema of a KubeRay resource, from the folder that RAYTPNN_SCHEMAS names."""
    folder = os.environ.get("RAYTPNN_SCHEMAS")
    if not folder or not Path(folder).is_dir():
        pytest.skip("KubeRay's schemas not found: set RAYTPNN_SCHEMAS to their folder")
    return schema_in(Path(folder) / KINDS[kind], version)


@cache
def schema_in(path, version):
    """Schema of a definition; reading one takes seconds."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    definition = yaml.load(path.read_text(), loader)
    schema = next(
        known["schema"]["openAPIV3Schema"]
        for known in definition["spec"]["versions"]
        if known["name"] == version
    )
    return strict(schema)


def strict(schema):
    """Copy of a schema in which fields that are not named are errors.

    A Kubernetes API server drops unknown fields unless it is told otherwise, and the schemas allow them: a
    typo would pass.
    """
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items() if key not in ("properties", "format")}
    if "properties" in schema:
        made["properties"] = {name: strict(part) for name, part in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
            made["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        # "anyOf" says it already; a type beside it would contradict.
        made.pop("type", None)
    return made


def problems_of(manifest):
    """What is wrong with a KubeRay manifest, with its place in it."""
    import jsonschema

    schema = crd_schema(manifest["kind"], manifest["apiVersion"].removeprefix("ray.io/"))
    # The schema says no more of metadata than that it is an object.
    metadata = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "labels": {"type": "object"},
            "annotations": {"type": "object"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    schema = schema | {"properties": schema["properties"] | {"metadata": metadata}}
    found = jsonschema.Draft202012Validator(schema).iter_errors(manifest)
    return [f"{error.json_path}: {error.message}" for error in found]
