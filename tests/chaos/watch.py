"""Looks at the group's nodes in ZooKeeper several times a second, by a session of its own that no
fault is aimed at, and keeps who was registered and who owned what, and when.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from tests.chaos.values import Membership, Span, Tenure

EVERY_S = 0.2
ANSWER_S = 2.0
# A look that comes later than this after the one before says nothing about what was between them.
SILENT_AFTER_S = 1.0


@dataclass(frozen=True)
class Look:
    """`owners`: consumer ids; `lives`: the transaction that made each owner node."""

    at: float = 0.0
    members: frozenset[str] = frozenset()
    owners: Mapping[TopicPartition, str] = field(default_factory=dict)
    lives: Mapping[TopicPartition, int] = field(default_factory=dict)
    since: Mapping[TopicPartition, float] = field(default_factory=dict)
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)


class Watch:
    def __init__(self, connect: str, group: str, topic: str, partitions: int) -> None:
        self._paths, self._topic = GroupPaths(group), topic
        self.partitions = partitions
        self.look = Look(at=time.time())
        self.tenures: dict[tuple[TopicPartition, int], Tenure] = {}
        self.memberships = [Membership(self.look.at, self.look.members)]
        self.silences: list[Span] = []
        self.went_back: list[str] = []
        self.blind = ""
        self._ending = threading.Event()
        quiet = logging.getLogger("tests.chaos.watch")
        quiet.setLevel(logging.CRITICAL)
        # Between servers it hurries; a session that has ended is simply followed by another.
        self._client = KazooClient(
            connect,
            timeout=20.0,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=0.5),
            logger=quiet,
        )
        self._client.start(timeout=30.0)
        self._thread = threading.Thread(target=self._run, name="chaos-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        with contextlib.suppress(KazooTimeoutError):
            self._client.stop()
        self._client.close()

    def _run(self) -> None:
        while not self._ending.wait(EVERY_S):
            try:
                self._keep(self._read())
            except Exception as error:  # noqa: BLE001 - whatever it is, it was no look
                self.blind = repr(error)

    def _read(self) -> Look:
        at = time.time()
        parts = [TopicPartition(self._topic, n) for n in range(self.partitions)]
        ids = self._client.get_children_async(self._paths.ids)
        owners = [self._client.get_async(self._paths.owner(p)) for p in parts]
        offsets = [self._client.get_async(self._paths.offset(p)) for p in parts]
        try:
            members = frozenset(ids.get(timeout=ANSWER_S))
        except NoNodeError:
            members = frozenset()
        owned = {p: node for p, one in zip(parts, owners, strict=True) if (node := _node(one))}
        kept = {p: node for p, one in zip(parts, offsets, strict=True) if (node := _node(one))}
        return Look(
            at=at,
            members=members,
            owners={p: data.decode().rpartition("-")[0] for p, (data, _, _) in owned.items()},
            lives={p: life for p, (_, life, _) in owned.items()},
            since={p: since for p, (_, _, since) in owned.items()},
            committed={p: int(data) for p, (data, _, _) in kept.items()},
        )

    def _keep(self, look: Look) -> None:
        before, self.look = self.look, look
        if look.at - before.at > SILENT_AFTER_S:
            self.silences.append(Span(before.at, look.at))
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


def _node(answer: object) -> tuple[bytes, int, float] | None:
    """Data, creating transaction and time of creation."""
    try:
        data, stat = answer.get(timeout=ANSWER_S)  # type: ignore[attr-defined]
    except NoNodeError:
        return None
    return data, int(stat.czxid), stat.ctime / 1000.0
