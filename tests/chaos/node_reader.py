"""Reads the group's nodes in ZooKeeper, by a separate session."""

from __future__ import annotations

import contextlib
import logging
import time

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from pyspark_zkgroup.group.paths import COORDINATOR, GroupPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import parse_candidacy
from tests.chaos.watch import Look

ANSWER_S = 2.0


class NodeReader:
    def __init__(self, connect: str, paths: GroupPaths, topic: str) -> None:
        self._paths, self._topic = paths, topic
        quiet = logging.getLogger("tests.chaos.node_reader")
        quiet.setLevel(logging.CRITICAL)
        # Between servers it hurries; a session that has ended is simply followed by another.
        self._client = KazooClient(
            connect,
            timeout=20.0,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=0.5),
            logger=quiet,
        )
        self._client.start(timeout=30.0)

    def close(self) -> None:
        with contextlib.suppress(KazooTimeoutError):
            self._client.stop()
        self._client.close()

    def read(self, partitions: int, before: Look) -> Look:
        del before
        at = time.time()
        parts = [TopicPartition(self._topic, n) for n in range(partitions)]
        ids = self._client.get_children_async(self._paths.ids)
        owners = [self._client.get_async(self._paths.owner(p)) for p in parts]
        offsets = [self._client.get_async(self._paths.offset(p)) for p in parts]
        coordinator = _node(self._client.get_async(COORDINATOR))
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
            coordinator=parse_candidacy(COORDINATOR, coordinator[0]).name if coordinator else "",
        )


def _node(answer: object) -> tuple[bytes, int, float] | None:
    """Data, creating transaction and time of creation."""
    try:
        data, stat = answer.get(timeout=ANSWER_S)  # type: ignore[attr-defined]
    except NoNodeError:
        return None
    return data, int(stat.czxid), stat.ctime / 1000.0
