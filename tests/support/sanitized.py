"""What `test_kernels_mutants` and other tests share: run_sanitized."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.cuda_host.build import sanitizer_environment

import raytpnn


def run_sanitized(script, *arguments):
    tests = Path(__file__).parents[1]
    package = Path(raytpnn.__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(package)])
    environment = os.environ | sanitizer_environment() | {"PYTHONPATH": paths}
    command = [sys.executable, "-P", str(script), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
