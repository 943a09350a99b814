"""A case of a group in ZooKeeper."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.exercise.cast import SESSION_MS, Cast
from tests.exercise.draw import Drawn
from tests.exercise.load import Load
from zkgroup_sandbox import Sandbox

COORDINATOR = "/consumers/coordinator"


class Scene(Cast):
    def __init__(self, drawn: Drawn, sandbox: Sandbox, load: Load, logs: Path, state: Path) -> None:
        self.connect = sandbox.kafka_zookeeper_connect
        place = {
            "zookeeper.connect": self.connect,
            "zookeeper.session.timeout.ms": str(SESSION_MS),
        }
        super().__init__(drawn, sandbox, load, logs, state, place)
        self.client = self.session()
        self._sessions = [self.client]

    def session(self) -> KazooClient:
        client = KazooClient(self.connect, timeout=20.0)
        client.start()
        return client

    def other_session(self) -> KazooClient:
        """That lives as long as the case."""
        self._sessions.append(self.session())
        return self._sessions[-1]

    # -- what is in ZooKeeper

    def children(self, path: str) -> list[str]:
        try:
            found: list[str] = sorted(self.client.get_children(path))
        except NoNodeError:
            return []
        return found

    def text(self, path: str) -> str:
        try:
            return str(self.client.get(path)[0].decode())
        except NoNodeError:
            return ""

    def owner_path(self, topic: str, partition: int) -> str:
        return f"/consumers/{self.group}/owners/{topic}/{partition}"

    def offset_path(self, topic: str, partition: int) -> str:
        return f"/consumers/{self.group}/offsets/{topic}/{partition}"

    def owners(self) -> dict[tuple[str, int], str]:
        """By thread id, of all partitions that have an owner."""
        every = [(topic, n) for topic, count in self.partitions.items() for n in range(count)]
        found = {one: self.text(self.owner_path(*one)) for one in every}
        return {one: text for one, text in found.items() if text}

    def offset(self, topic: str, partition: int) -> int:
        return int(self.text(self.offset_path(topic, partition)) or -1)

    def registered(self) -> list[str]:
        told = self.children(f"/consumers/groups/{self.group}/ids")
        return self.children(f"/consumers/{self.group}/ids") + told

    def wait_owned(self, owning: int) -> None:
        """All partitions have an owner, so many members own some, and all is committed to once."""

        def owned() -> bool:
            owners = self.owners()
            counts = Counter(text.rpartition("-")[0] for text in owners.values())
            return len(owners) == sum(self.partitions.values()) and len(counts) == owning

        self.wait(f"{owning} members to own all", owned)
        self.wait(
            "offsets to be committed",
            lambda: all(
                self.offset(topic, n) > 0
                for topic, count in self.partitions.items()
                for n in range(count)
            ),
        )

    def close(self) -> None:
        super().close()
        for client in self._sessions:
            client.stop()
            client.close()
