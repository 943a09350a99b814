"""Real ZooKeeper and Kafka servers on the loopback, for tests, the demo and trying things out.

jobs/compare.py asks this package for jars alone, and `zkgroup --help` for its commands: so the
servers are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zkgroup_sandbox.sandbox import Sandbox
    from zkgroup_sandbox.status import SandboxStatus, ServerStatus

__all__ = ["Sandbox", "SandboxStatus", "ServerStatus"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = "sandbox" if name == "Sandbox" else "status"
    return getattr(import_module(f"zkgroup_sandbox.{module}"), name)
