"""Fixtures for all tests: real servers (see the module for their names)."""

from __future__ import annotations

import gc
import signal
from typing import Any
from zlib import adler32

import pytest
from hypothesis import Phase, settings

from pyspark_zkgroup.records.choice import slow_because

# A first example pays for imports, and another process may have the core: no drawn test is timed.
settings.register_profile("zkgroup", deadline=None)
# For `make quick`: it draws a quarter of what the daily tests draw.
settings.register_profile("quick", deadline=None, max_examples=25)
# For the mutation run: any example that fails will do, and to find a simpler one takes minutes.
settings.register_profile("mutants", deadline=None, phases=(Phase.explicit, Phase.generate))
settings.load_profile("zkgroup")

# A shell that starts the tests in the background has them ignore SIGINT, which every program that
# they start inherits: none would hear Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a collection makes stays to the end, and Python's garbage collector would go through all of
# it again and again: that was more than half of the time until the first test.
gc.disable()

pytest_plugins = ["zkgroup_sandbox.fixtures"]


# Several workers share the files. Those that keep the cores busy are begun first, by two of the
# workers: more Sparks only take each other's cores. The others mostly wait for servers.
_BUSY = ("spark", "chaos", "interop")


def _worker_of(nodeid: str) -> str:
    path = nodeid.partition("::")[0]
    return f"busy {adler32(path.encode()) % 2}" if path.split("/")[1] in _BUSY else path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not _worker_of(item.nodeid).startswith("busy"))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = _worker_of
    return scheduler


def pytest_report_header() -> str:
    reason = slow_because()
    if reason is None:
        return "record decoder: native; the reference is what it is compared with"
    return f"record decoder: reference, as there is no native one: {reason}"
