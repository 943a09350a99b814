"""How partitions are held once the target is decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.owned import claims, commits, replays
from pyspark_zkgroup.protocols.owned.member_context import MemberContext


class Tenure(Protocol):
    """`owns`: other members wait for what is held, which stays held as long as the lease."""

    owns: bool

    def commit(self, context: MemberContext) -> None:
        """Commit everything finished and not committed yet, held or not."""

    def prove(self, context: MemberContext) -> bool:
        """Prove, as the last requests before a plan, that everything held is still ours."""

    def replay(
        self, context: MemberContext, plan: Plan, wait: Callable[[float], None]
    ) -> frozenset[TopicPartition]:
        """Return the ranges of the unfinished batch that are read again."""


class OwnerNodes:
    """Holds each partition by an ephemeral node, as the JVM consumers do."""

    owns = True

    def commit(self, context: MemberContext) -> None:
        commits.commit_finished(context)

    def prove(self, context: MemberContext) -> bool:
        return claims.prove(context)

    def replay(
        self, context: MemberContext, plan: Plan, wait: Callable[[float], None]
    ) -> frozenset[TopicPartition]:
        return replays.replay_ranges(context, plan, wait)
