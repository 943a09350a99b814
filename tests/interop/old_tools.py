"""What Kafka's own tools of 1.1.1 say of a group in ZooKeeper."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark_zkgroup.model import TopicPartition
from tests.interop.old_kafka import command

VERSION = "1.1.1"
ANSWER_DEADLINE_S = 60.0
_NONE = "-"


@dataclass(frozen=True)
class Described:
    """A partition in the table of ConsumerGroupCommand; the consumer is empty where it has none."""

    offset: int | None
    log_end: int
    consumer: str


class OldTools:
    """One JVM for all questions: it would otherwise take longer to start than to answer."""

    def __init__(self, log: Path, version: str = VERSION) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command(version, "OldTools"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="old-tools", daemon=True)
        self._reader.start()

    def verify(self, zookeeper: str, group: str) -> str:
        """VerifyConsumerRebalance: every partition has an owner, one of its topic's threads."""
        return self.run(
            "kafka.tools.VerifyConsumerRebalance",
            *("--zookeeper.connect", zookeeper, "--group", group),
        )

    def describe(self, zookeeper: str, group: str) -> dict[TopicPartition, Described]:
        """ConsumerGroupCommand --describe, its rows of partitions."""
        told = self.run(
            "kafka.admin.ConsumerGroupCommand",
            *("--zookeeper", zookeeper, "--describe", "--group", group),
        )
        return parse_description(told)

    def assert_agree(
        self,
        zookeeper: str,
        group: str,
        owners: Callable[[], Mapping[TopicPartition, str]],
        offsets: Callable[[], Mapping[TopicPartition, int]],
    ) -> dict[TopicPartition, Described]:
        """Of a group at rest they say what its nodes hold. Offsets may move on while we ask."""
        told = self.verify(zookeeper, group)
        assert told == "Rebalance operation successful !", told
        before = offsets()
        described = self.describe(zookeeper, group)
        after, owned = offsets(), owners()
        assert described.keys() == owned.keys(), described
        for partition, row in described.items():
            assert row.consumer == owned[partition].rpartition("-")[0], (partition, row)
            assert row.offset is not None, (partition, row)
            assert before[partition] <= row.offset <= after[partition], (partition, row)
        return described

    def run(self, tool: str, *arguments: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join((tool, *arguments)) + "\n")
        self._process.stdin.flush()
        told: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=ANSWER_DEADLINE_S)
            except queue.Empty:
                raise AssertionError(f"{tool} did not answer; so far it said {told}") from None
            if line == "#done\n":
                return "".join(told).strip()
            told.append(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(ANSWER_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(ANSWER_DEADLINE_S)
        for file in (self._process.stdout, self._log):
            if file is not None:
                file.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)


def parse_description(told: str) -> dict[TopicPartition, Described]:
    rows = [line.split() for line in told.splitlines()]
    found = {}
    for cells in rows:
        if len(cells) == 6 and cells[1].isdecimal():
            topic, partition, offset, log_end, _lag, consumer = cells
            found[TopicPartition(topic, int(partition))] = Described(
                None if offset == _NONE else int(offset),
                int(log_end),
                "" if consumer == _NONE else consumer,
            )
    return found
