"""How partitions are held once it is decided whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.owned import claims, commits, replays
from pyspark_zkgroup.protocols.owned.member_context import MemberContext


class Tenure(Protocol):
    """`owns`: others wait for what is held, and it is held for as long as the session's lease."""

    owns: bool

    def commit(self, context: MemberContext) -> None:
        """Everything known to be finished and not yet committed, held or not."""

    def prove(self, context: MemberContext) -> bool:
        """The last requests before a plan: everything held is still ours."""

    def replay(
        self, context: MemberContext, plan: Plan, wait: Callable[[float], None]
    ) -> frozenset[TopicPartition]:
        """Which ranges of the unfinished batch are read again."""


class OwnerNodes:
    """By an ephemeral node for each partition, as the JVM consumers do."""

    owns = True

    def commit(self, context: MemberContext) -> None:
        commits.commit_finished(context)

    def prove(self, context: MemberContext) -> bool:
        return claims.prove(context)

    def replay(
        self, context: MemberContext, plan: Plan, wait: Callable[[float], None]
    ) -> frozenset[TopicPartition]:
        return replays.replay_ranges(context, plan, wait)
