"""Looks at the group several times a second, over a connection that no fault is aimed at, and keeps
who was a member, who owned what, and when.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.values import Membership, Span, Tenure

EVERY_S = 0.2
# A look that comes later than this after the one before says nothing about what was between them.
SILENT_AFTER_S = 1.0


@dataclass(frozen=True)
class Look:
    """`owners`: consumer ids; `lives`: a number of each ownership that no other one has. `names`:
    members by consumer id, where the group itself tells. `stable`: false while the group
    rebalances; owners are then those of the look before. `coordinator`: the broker that coordinates
    the group, or the name of the coordinator in office; "" for none.
    """

    at: float = 0.0
    members: frozenset[str] = frozenset()
    owners: Mapping[TopicPartition, str] = field(default_factory=dict)
    lives: Mapping[TopicPartition, int] = field(default_factory=dict)
    since: Mapping[TopicPartition, float] = field(default_factory=dict)
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    stable: bool = True
    coordinator: str = ""


class Reader(Protocol):
    """Where a group is looked at: ZooKeeper's nodes, or the brokers' group coordinator."""

    def read(self, partitions: int, before: Look) -> Look: ...

    def close(self) -> None: ...


class Watch:
    def __init__(self, reader: Reader, partitions: int) -> None:
        self._reader = reader
        self.partitions = partitions
        self.look = Look(at=time.time())
        self.tenures: dict[tuple[TopicPartition, int], Tenure] = {}
        self.memberships = [Membership(self.look.at, self.look.members)]
        self.silences: list[Span] = []
        self.coordinator_moves: list[Span] = []
        self._coordinated = self.look
        self.went_back: list[str] = []
        self.blind = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        if not self._ending.is_set():
            self._ending.set()
            self._thread.join()
            self._reader.close()

    def _run(self) -> None:
        while not self._ending.wait(EVERY_S):
            try:
                self._keep(self._reader.read(self.partitions, self.look))
            except Exception as error:  # noqa: BLE001 - whatever it is, it was no look
                self.blind = repr(error)

    def _keep(self, look: Look) -> None:
        before, self.look = self.look, look
        if look.at - before.at > SILENT_AFTER_S:
            self.silences.append(Span(before.at, look.at))
        if look.coordinator:
            last, self._coordinated = self._coordinated, look
            if last.coordinator not in ("", look.coordinator):
                self.coordinator_moves.append(Span(last.at, look.at))
        if look.members != before.members:
            self.memberships.append(Membership(look.at, look.members))
        for partition, life in look.lives.items():
            key = (partition, life)
            if key not in self.tenures:
                self.tenures[key] = Tenure(
                    partition, look.owners[partition], life, look.since[partition], look.at
                )
            self.tenures[key] = replace(self.tenures[key], seen=look.at)
        for partition, life in before.lives.items():
            if look.lives.get(partition) != life:
                key = (partition, life)
                self.tenures[key] = replace(self.tenures[key], gone=look.at)
        for partition, offset in before.committed.items():
            now = look.committed.get(partition, offset)
            if now < offset:
                self.went_back.append(f"{partition} from {offset} to {now} at {look.at:.1f}")
