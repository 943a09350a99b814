"""A member's context on a store whose answers a test gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pyspark_zkgroup.group.ops import Outcome
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.member_context import Member, MemberContext
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from tests.fakes.still_clock import StillClock

SESSION = 7


class AnsweringStore:
    """Answers the first commit with these outcomes."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.session = SimpleNamespace(id=SESSION, negotiated_timeout_s=1.0)
        self.outcomes = list(outcomes)
        self.sent: list[Any] = []

    def commit(self, transactions: list[Any]) -> list[Outcome]:
        self.sent += transactions
        found, self.outcomes = self.outcomes[: len(transactions)], []
        return found


def member_of(*, static: bool = False) -> Member:
    clock = cast(Any, StillClock())
    return Member(GroupPaths("g"), "me", static, Holdings(), clock, RebalanceCallback())


def context_of(store: object, *, static: bool = False) -> MemberContext:
    return member_of(static=static).on(cast(Any, store))
