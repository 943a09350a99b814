"""Reads one group directly, without zkgroup: a plain kazoo client and a plain Kafka client.

It reads continuously, so that the output of a command can be compared with all reads that overlap
its call. Each value has the intervals in which it may have been true: from the sending of the last
read that saw something else to the answer of the first read that saw something else again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as PlainPartition
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from pyspark_zkgroup.model import TopicPartition

FOREVER = float("inf")
Interval = tuple[float, float]
Test = Callable[["Node | None"], bool]


@dataclass(frozen=True)
class Node:
    data: bytes
    life: int
    version: int
    session: int
    made_ms: int


@dataclass
class Run:
    """One state of a node, as reads in a row have found it."""

    node: Node | None
    first: Interval
    last: Interval


@dataclass
class Track:
    """What became of one node."""

    runs: list[Run] = field(default_factory=list)

    def see(self, node: Node | None, sent: float, got: float) -> None:
        if self.runs and self.runs[-1].node == node:
            self.runs[-1].last = sent, got
        else:
            self.runs.append(Run(node, (sent, got), (sent, got)))

    def when(self, is_so: Test) -> list[Interval]:
        """In which intervals it may have been so."""
        found = []
        for before, run, after in zip(
            [None, *self.runs[:-1]], self.runs, [*self.runs[1:], None], strict=True
        ):
            begins = run.first[0] if before is None else before.last[0]
            ends = FOREVER if after is None else after.first[1]
            if is_so(run.node):
                found.append((begins, ends))
            if after is not None:
                gap = run.last[0], after.first[1]
                found += [gap for node in _between(run.node, after.node) if is_so(node)]
        return found

    def surely(self, began: float, ended: float) -> Node | None:
        """The node that was there in all of this time."""
        for run in self.runs:
            if run.first[1] <= began and run.last[0] >= ended:
                return run.node
        return None


def _between(one: Node | None, other: Node | None) -> Iterable[Node | None]:
    """What no read has seen, but must have existed: a recreated node was gone before. An offset
    that was written twice held something in between, which only grows.
    """
    if one is None or other is None:
        return
    if one.life != other.life:
        yield None
    elif other.version > one.version + 1 and one.data.isdigit() and other.data.isdigit():
        for offset in range(int(one.data) + 1, int(other.data)):
            yield Node(b"%d" % offset, one.life, 0, one.session, one.made_ms)


def meet(these: Sequence[Interval], those: Sequence[Interval]) -> list[Interval]:
    """Where both hold."""
    both = [(max(a, c), min(b, d)) for a, b in these for c, d in those]
    return [(begins, ends) for begins, ends in both if begins <= ends]


class Witness:
    def __init__(self, connect: str, bootstrap: str, group: str, topics: Mapping[str, int]) -> None:
        self.group = group
        self.partitions = [
            TopicPartition(t, n) for t, count in topics.items() for n in range(count)
        ]
        self.owners = {p: Track() for p in self.partitions}
        self.offsets = {p: Track() for p in self.partitions}
        self.ids: dict[str, Track] = {}
        self.ends: list[tuple[float, float, dict[TopicPartition, int]]] = []
        self.reads = 0
        self._began = self._looked = time.monotonic()
        self._client = KazooClient(connect, timeout=20.0)
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap.split(","), enable_auto_commit=False
        )
        self._told = threading.Event()
        self._failed: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._over_and_over, args=(one,), daemon=True)
            for one in (self._look, self._ask_ends)
        ]

    def start(self) -> None:
        self._client.start()
        self._look()
        self._ask_ends()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """After one more look at everything, so that each call lies between two."""
        self._told.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(30.0)
        if not self._failed:
            self._look()
            self._ask_ends()
        self._client.stop()
        self._client.close()
        self._consumer.close()
        if self._failed:
            raise AssertionError("the direct reader failed") from self._failed[0]

    def _over_and_over(self, look: Callable[[], None]) -> None:
        try:
            while not self._told.is_set():
                look()
                # As often as the machine lets it, and yet not for its own sake alone.
                self._told.wait(0.005)
        except BaseException as error:  # noqa: BLE001 - told by stop()
            self._failed.append(error)

    def _look(self) -> None:
        root = f"/consumers/{self.group}"
        sent = time.monotonic()
        listed = self._client.get_children_async(f"{root}/ids")
        asked = [
            (tracks[p], self._client.get_async(f"{root}/{kind}/{p.topic}/{p.partition}"))
            for kind, tracks in (("owners", self.owners), ("offsets", self.offsets))
            for p in self.partitions
        ]
        asked += [(t, self._client.get_async(f"{root}/ids/{c}")) for c, t in self.ids.items()]
        try:
            names = set(listed.get(timeout=20.0))
        except NoNodeError:
            names = set()
        found = [(track, _node_of(answer)) for track, answer in asked]
        got = time.monotonic()
        for track, node in found:
            track.see(node, sent, got)
        for consumer in sorted(names - self.ids.keys()):
            # It came since the last look: each before would have listed it.
            self.ids[consumer] = track = Track()
            track.see(None, self._began, self._began)
            track.see(None, self._looked, self._looked)
            node = _node_of(self._client.get_async(f"{root}/ids/{consumer}"))
            track.see(node, sent, time.monotonic())
        self._looked = sent
        self.reads += 1

    def _ask_ends(self) -> None:
        plain = [PlainPartition(p.topic, p.partition) for p in self.partitions]
        sent = time.monotonic()
        ends = self._consumer.end_offsets(plain)
        got = time.monotonic()
        told = {TopicPartition(p.topic, p.partition): end for p, end in ends.items()}
        if len(self.ends) > 1 and self.ends[-1][2] == self.ends[-2][2] == told:
            # The same in a row: only the first and the last of them matter.
            self.ends.pop()
        self.ends.append((sent, got, told))

    # -- what may have been so

    def end_may_be(self, p: TopicPartition, end: int, began: float, ended: float) -> bool:
        """Logs only grow: what lies between the last answer before and the first one after was
        true at some time in between, if it was an end at all; both of them are as well.
        """
        least = max(told[p] for sent, got, told in self.ends if got <= began)
        most = min(told[p] for sent, got, told in self.ends if sent >= ended)
        return least <= end <= most


def _node_of(answer: Any) -> Node | None:
    try:
        data, stat = answer.get(timeout=20.0)
    except NoNodeError:
        return None
    return Node(data, stat.czxid, stat.version, stat.ephemeralOwner, stat.ctime)
