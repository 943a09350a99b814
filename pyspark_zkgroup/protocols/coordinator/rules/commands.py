"""Commands of a coordinator to a member, and the member's answers, as values.

A start names everything that the member must read from now on. So a newer one replaces all older
ones, and a command that was lost or doubled does no harm. `life` names the registration that a
command is for: a member that has come back does not obey commands to its predecessor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation


@dataclass(frozen=True, slots=True)
class Assigned:
    """The thread that reads a partition, and `offset` if the last holder has reported it."""

    thread: int
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Give these partitions up at the next boundary, and report their offsets."""

    generation: Generation
    life: int
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Start:
    """Read exactly these from the next boundary on.

    `topics` has the partitions of all topics that the member subscribes to, whichever member reads
    them.
    """

    generation: Generation
    life: int
    share: Mapping[TopicPartition, Assigned] = field(default_factory=dict)
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ping:
    """Report what you hold."""

    generation: Generation
    life: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """To a stop: none of it is read any more. `offsets` has the next record to read of each."""

    generation: Generation
    life: int
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """To a start: it was taken."""

    generation: Generation
    life: int


@dataclass(frozen=True, slots=True)
class Holding:
    """To a ping: what is held, and the next record to read of each."""

    generation: Generation
    life: int
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


Command: TypeAlias = Stop | Start | Ping
Answer: TypeAlias = Stopped | Started | Holding
