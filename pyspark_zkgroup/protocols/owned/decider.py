"""The interface of what decides a member's target: the member, a coordinator, or an option."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.member_context import MemberContext


class Look(enum.Enum):
    DECIDED = "the target is what each member owns now"
    UNDECIDED = "there is nothing to decide by: what is held stays held"
    UNREGISTERED = "our registration was deleted by another client"


@dataclass(frozen=True, slots=True)
class Outlook:
    """`settled` and `expected` as in Standing, as far as the decision knows. `remarks` are further
    notes for a person.
    """

    settled: bool = True
    expected: str = ""
    remarks: tuple[str, ...] = ()


class Decider(Protocol):
    """`target` is the thread of each partition by the last decision, `snapshot` what that was based
    on, and `notes` the remarks of the last look. `told`: the decision comes from another process,
    after the member has joined.
    """

    told: bool
    snapshot: Snapshot
    notes: tuple[str, ...]

    @property
    def target(self) -> Mapping[TopicPartition, ThreadId]: ...

    def introduce(self, context: MemberContext) -> bool:
        """Look for the first time, before anything is written, and set `snapshot`.

        Raises an error if the member must not join. False if no broker is available.
        """

    def look(self, context: MemberContext) -> Look:
        """Decide again."""

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        """Release and claim; `mine` is our part of the target, with the threads."""

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        """End each boundary whose requests were answered. `waiting` is ours and not held."""

    def outlook(self, plan: Plan | None) -> Outlook:
        """Called once, at the very end of each boundary. `plan` is the one that it started with."""

    def subscribed(self) -> Collection[TopicPartition]:
        """Return all partitions of the own subscription, whichever member reads them."""
