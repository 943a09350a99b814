"""Who decides what a member owns: the member itself, a coordinator, or an option."""

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
    UNREGISTERED = "our registration was deleted by somebody else"


@dataclass(frozen=True, slots=True)
class Outlook:
    """`settled` and `expected` as in Standing, as far as the decision goes. `remarks`: what else a
    person should know.
    """

    settled: bool = True
    expected: str = ""
    remarks: tuple[str, ...] = ()


class Decider(Protocol):
    """`target`: who owns what, by the last decision; `snapshot`: what that was made by. `notes`:
    what was said of the last look. `told`: the decision comes from somewhere else, once the member
    has joined.
    """

    told: bool
    snapshot: Snapshot
    notes: tuple[str, ...]

    @property
    def target(self) -> Mapping[TopicPartition, ThreadId]: ...

    def introduce(self, context: MemberContext) -> bool:
        """The first look of all, before anything is written: refuse to join where that must be, and
        set `snapshot` to what there is to read. False where no broker is there to tell.
        """

    def look(self, context: MemberContext) -> Look:
        """Decide again."""

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        """Release and claim; `mine` is our part of the target, with the threads."""

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        """At the end of each boundary that was answered. `waiting`: what is ours and not held."""

    def outlook(self, plan: Plan | None) -> Outlook:
        """Asked once, at the very end of each boundary. `plan`: the one it was started with."""

    def subscribed(self) -> Collection[TopicPartition]:
        """All partitions of the own subscription, whoever reads them."""
