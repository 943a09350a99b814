"""What befalls a process at its steps, one by one."""

from __future__ import annotations

from typing import Any

from tests.sim.process import Process
from tests.sim.world import World


def test_a_step_of_another_thread_while_a_fault_takes_time_pulls_each_fault_once() -> None:
    server: Any = None
    process = Process(World(0), server, "p")
    acted = []

    def takes_time() -> None:
        acted.append("first")
        process.pull("nodes")

    process.at("nodes", takes_time)
    process.at("nodes", lambda: acted.append("second"))
    process.pull("nodes")
    assert acted == ["first", "second"]
    assert process.triggers == []
