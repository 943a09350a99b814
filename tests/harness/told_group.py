"""Groups whose members a coordinator tells what to read, over whichever channel."""

from __future__ import annotations

from tests.harness.group import Group
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until


class ToldGroup(Group):
    def below(self, path: str) -> list[str]:
        path = f"/consumers/groups/{self.name}/{path}"
        return self.client.get_children(path) if self.client.exists(path) else []


def share(queries: list[Query], partitions: int) -> None:
    """Trigger until all is held, and no thread has two more than another: what a member has not
    been told yet it does not wait for, so that all are settled says less than with members that
    decide for themselves.
    """

    def shared() -> bool:
        for query in queries:
            query.trigger()
        loads = [
            sum(held.thread == number for held in query.membership.holdings.held.values())
            for query in queries
            for number in (0, 1)
        ]
        return sum(loads) == partitions and max(loads) - min(loads) <= 1

    wait_until(shared, 20, f"{partitions} to be shared", interval_s=0.0)


def begin_a_batch(query: Query) -> None:
    """Its plan is logged, and nothing of it has been read."""

    def stop(step: str) -> None:
        if step == "logged":
            raise InterruptedError

    def begun() -> bool:
        try:
            query.trigger(stop)
        except InterruptedError:
            return True
        return False

    wait_until(begun, 10, "a batch to begin", interval_s=0.0)
