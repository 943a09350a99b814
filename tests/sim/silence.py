"""The planner's thread that gives up for a driver which does not call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark_zkgroup.planning.silence import Silence
from tests.sim.threads import ProcessThreads

if TYPE_CHECKING:
    from tests.sim.query import Driver

# While one batch takes hours, every other member calls seldom, and is not silent for that.
_LAZY_LOOK_S = 60.0
# A clock that is slow by a rounding asks again and again for no time at all.
_LOOK_S = 0.01


def watch(driver: Driver) -> None:
    """What pyspark_zkgroup.planning.silence.watch does, in the world's time."""
    world, process = driver.world, driver.process
    threads = ProcessThreads(world, process)
    limit_s = driver.options.group.max_poll_interval_ms / 1000.0

    def give_up() -> int:
        world.tell(f"{driver.name} has not called for {limit_s:g} s, and its planner gives up")
        driver.judge.gave_up(driver)
        return int(driver.membership.give_up())

    silence = Silence(limit_s, give_up, process.clock, threads.gate())
    driver.planner.silence = silence

    def over() -> bool:
        return silence.ended.is_set() or process.planner_dead or driver.gone

    def run() -> None:
        wait_s = limit_s / 2
        while not over():
            wait_s = max(wait_s, _LAZY_LOOK_S if world.lazy else _LOOK_S)
            world.wait(wait_s / process.clock.rate, over)
            if not over() and (driver.in_slow_batch or not world.lazy):
                wait_s = silence.look()

    threads.start(run, "silence")
