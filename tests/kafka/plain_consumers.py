"""Ordinary consumers, in a group with ours."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from pathlib import Path

from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import RebalanceInProgressError

from tests.harness.spark_order import Row
from tests.interop.consumer_program import command


class JavaConsumer:
    """A separate JVM, which reads by itself."""

    def __init__(
        self, servers: str, group: str, topic: str, log: Path, isolation: str = "read_uncommitted"
    ) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command("PlainConsumer", servers, group, topic, isolation),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.rows: list[Row] = []
        self.held = 0
        self._reader = threading.Thread(target=self._read, name="java-consumer", daemon=True)
        self._reader.start()

    def close(self) -> None:
        """Commits nothing more, and leaves the group. May be called again."""
        if self._process.returncode is not None:
            return
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._end()

    def kill(self) -> None:
        self._process.kill()
        self._end()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _end(self) -> None:
        self._process.wait(30)
        self.held = 0
        self._reader.join(30)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, *words = line.split()
            if kind == "record":
                self.rows.append((words[0], int(words[1]), int(words[2])))
            elif kind == "assigned":
                self.held += int(words[0])
            elif kind == "revoked":
                self.held -= int(words[0])


class PythonConsumer:
    """In a separate thread: its reads block while the group rebalances."""

    def __init__(self, servers: str, group: str, topic: str) -> None:
        self._settings = {
            "bootstrap_servers": servers.split(","),
            "group_id": group,
            "client_id": "plain-python",
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 200,
            "partition_assignment_strategy": [CooperativeStickyAssignor],
        }
        self._topic = topic
        self.rows: list[Row] = []
        self.held = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="python-consumer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join(60)

    def _run(self) -> None:
        consumer = KafkaConsumer(**self._settings)
        consumer.partitions_for_topic(self._topic)  # see tests/contract/test_group_offsets.py
        consumer.subscribe([self._topic])
        while not self._ended.is_set():
            for partition, records in consumer.poll(timeout_ms=100).items():
                self.rows += [(partition.topic, partition.partition, r.offset) for r in records]
                # A rebalance may begin between poll and commit. The next poll joins again.
                with suppress(RebalanceInProgressError):
                    consumer.commit()
            self.held = len(consumer.assignment())
        consumer.close(autocommit=False)
        self.held = 0
