"""Every state in which a topic's owner and offset nodes were seen, with their creators and times in
ZooKeeper: a node that was recreated, or written, shows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition

EVERY_S = 0.02
ANSWER_S = 10.0


@dataclass(frozen=True)
class Node:
    """`made`, `written`: the transactions that did it; `session`: that of an ephemeral node."""

    text: str
    made: int
    written: int
    session: int


@dataclass(frozen=True)
class State:
    at: float
    owner: Node | None
    offset: Node | None


class Trail:
    """`states`: by partition, each as it was first seen, in their order."""

    def __init__(self, connect: str, group: str, topic: str, partitions: int) -> None:
        self._paths = GroupPaths(group)
        self.states: dict[TopicPartition, list[State]] = {
            TopicPartition(topic, n): [] for n in range(partitions)
        }
        self._ending = threading.Event()
        self._client = KazooClient(connect, timeout=20.0)
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def followed(self) -> Iterator[Trail]:
        self._client.start()
        self._thread.start()
        try:
            yield self
        finally:
            self._ending.set()
            self._thread.join()
            self._client.stop()
            self._client.close()

    def since(self, at: float) -> dict[TopicPartition, list[State]]:
        """Beginning with the state in which each partition was at that time."""
        found = {}
        for partition, states in self.states.items():
            before = [state for state in states if state.at <= at]
            found[partition] = before[-1:] + [state for state in states if state.at > at]
        return found

    def _run(self) -> None:
        while not self._ending.wait(EVERY_S):
            at = time.time()
            asked = [
                (
                    states,
                    self._client.get_async(self._paths.owner(partition)),
                    self._client.get_async(self._paths.offset(partition)),
                )
                for partition, states in self.states.items()
            ]
            for states, owner, offset in asked:
                state = State(at, _node(owner), _node(offset))
                last = states[-1] if states else None
                if last is None or (last.owner, last.offset) != (state.owner, state.offset):
                    states.append(state)


def _node(answer: object) -> Node | None:
    try:
        data, stat = answer.get(timeout=ANSWER_S)  # type: ignore[attr-defined]
    except NoNodeError:
        return None
    return Node(data.decode(), int(stat.czxid), int(stat.mzxid), int(stat.ephemeralOwner))
