"""A job of the folder jobs/ as a module: they are files for spark-submit, and no package."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from zkgroup_sandbox.demo.spark_jobs import JOBS


def job(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, JOBS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
