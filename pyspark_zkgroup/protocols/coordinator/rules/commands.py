"""What a coordinator tells a member, and what the member answers. Values; their JSON is beside it.

A start names everything that the member shall read from now on, so a newer one replaces all older
ones, and a command that was lost or doubled does no harm. `life` says to which registration of the
consumer id a command is addressed: one that has come back does not obey what its predecessor was
told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation


@dataclass(frozen=True, slots=True)
class Assigned:
    """By which thread to read a partition; `offset`, where the last holder said how far it came."""

    thread: int
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Give these up at the next boundary, and say where they stand."""

    generation: Generation
    life: int
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Start:
    """Read exactly these from the next boundary on. `topics` has the partitions of all topics that
    the member subscribes to, whoever reads them.
    """

    generation: Generation
    life: int
    share: Mapping[TopicPartition, Assigned] = field(default_factory=dict)
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ping:
    """Say what you hold."""

    generation: Generation
    life: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """To a stop: nothing of it is read any more. `offsets`: the next record to read of each."""

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
