"""What the suites of memberships make queries do, and what they look at afterwards."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.memberships import KINDS, ON_SERVERS, Members
from tests.harness.group import all_rows
from tests.harness.spark_order import CrashError, Query, Row
from tests.harness.waiting import wait_until

EACH = 5
EACH_KIND = [(protocol, kind) for protocol in sorted(ON_SERVERS) for kind in sorted(KINDS)]


def missing(members: Members, *queries: Query) -> list[Row]:
    expected = {row for produced in members.made.produced.values() for row in produced.offsets()}
    return sorted(expected - set(all_rows(*queries)))


def at(step: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Act once, when a trigger reaches that step."""
    done: list[str] = []

    def reached(name: str) -> None:
        if name == step and not done:
            done.append(name)
            act()

    return reached


def a_batch(query: Query, at: Callable[[str], None]) -> None:
    wait_until(lambda: query.trigger(at), 10, "a batch", interval_s=0.0, clock=query.clock)


def die() -> None:
    raise CrashError


def crash(members: Members, query: Query, step: str) -> None:
    """Crash at that step of the next batch."""

    def crashed() -> bool:
        try:
            query.trigger(at(step, die))
        except CrashError:
            return True
        return False

    wait_until(crashed, 20, "a batch to crash in", interval_s=0.0, clock=query.clock)
    members.crash(query)


def filled(members: Members, partitions: int) -> str:
    topic = members.made.topic(partitions)
    members.made.produce(topic, EACH)
    return topic
