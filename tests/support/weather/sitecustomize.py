"""Bad weather for processes of the chaos test: a file says how storage and clocks behave at the moment.

Python imports this by itself in every process that has this folder in PYTHONPATH, Ray's workers included. The
environment variable RAYTPNN_WEATHER names the file, JSON with any of: `errno` and `share` (name of the error
and how often a write fails), `delay` (seconds that a write takes at most), `hold` (writes wait until it is
gone), `blind` (no file can be read), `clock` (seconds by which the clock on the wall is wrong), `version`
(that is told of raytpnn).
"""

import errno
import importlib.abc
import importlib.util
import json
import os
import random
import sys
import time
from types import SimpleNamespace

FILE = os.environ.get("RAYTPNN_WEATHER")
DICE = random.Random(f"{os.environ.get('RAYTPNN_WEATHER_SEED', '0')}-{os.getpid()}")

HOLD_SECONDS = 120.0


def weather():
    try:
        with open(FILE) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def fail_now_and_then(target):
    end = time.monotonic() + HOLD_SECONDS
    while weather().get("hold") and time.monotonic() < end:
        time.sleep(0.05)
    told = weather()
    if told.get("delay"):
        time.sleep(DICE.random() * told["delay"])
    if told.get("errno") and DICE.random() < told.get("share", 1.0):
        number = getattr(errno, told["errno"])
        raise OSError(number, os.strerror(number), str(target))


def of_beside(module):
    original = module._written

    def written(target, data, durable):
        fail_now_and_then(target)
        beside = original(target, data, durable)
        if DICE.random() < 0.5:
            # The disk is full when most of the file is written.
            try:
                fail_now_and_then(target)
            except OSError:
                module._forget(beside)
                raise
        return beside

    module._written = written


def of_place(module):
    original = module.Place._read

    def read(place, name):
        if weather().get("blind"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.name_of(name))
        return original(place, name)

    module.Place._read = read


def of_lease(module):
    real = time.time
    module.time = SimpleNamespace(
        time=lambda: real() + weather().get("clock", 0.0), monotonic=time.monotonic, sleep=time.sleep
    )


def of_actor(module):
    original = module.whereabouts

    def whereabouts():
        version = weather().get("version")
        return original() | ({"raytpnn": version} if version else {})

    module.whereabouts = whereabouts


PATCHES = {
    "raytpnn.storage.places.atomic_files": of_beside,
    "raytpnn.storage.places.place": of_place,
    "raytpnn.storage.lease": of_lease,
    "raytpnn.chains.executors.ray_actor": of_actor,
}


class AfterImport(importlib.abc.MetaPathFinder):
    """Changes a module once it is imported."""

    def find_spec(self, name, path, target=None):
        if name not in PATCHES:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            PATCHES[name](module)

        spec.loader.exec_module = exec_module
        return spec


if FILE:
    sys.meta_path.insert(0, AfterImport())
