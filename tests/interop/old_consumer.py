"""A real JVM consumer of Kafka 0.8 - 1.1 as a process: what it read, and how to end it."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.harness.spark_order import Row
from tests.interop.old_kafka import command

END_DEADLINE_S = 20.0


class OldConsumer:
    """`subscription`: ("static", {topic: threads}), or ("white_list" or "black_list", {regex:
    threads}).
    """

    def __init__(
        self,
        version: str,
        subscription: tuple[str, Mapping[str, int]],
        properties: Mapping[str, str],
        log: Path,
    ) -> None:
        self.version = version
        self.rows: list[Row] = []
        self.said: list[str] = []
        pattern, entries = subscription
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [
                *command(version, "OldConsumer"),
                pattern,
                *(f"{name}={threads}" for name, threads in entries.items()),
                "--",
                *(f"{name}={value}" for name, value in properties.items()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._reader = threading.Thread(target=self._read, name="old-consumer", daemon=True)
        self._reader.start()

    @property
    def id(self) -> str:
        """Empty until it has connected."""
        return next((s.split()[1] for s in self.said if s.startswith("#started ")), "")

    @property
    def is_ready(self) -> bool:
        """It has been through its first rebalance; raises if that failed or it has died."""
        failed = [s for s in self.said if s.startswith("#failed")]
        if failed or self._process.poll() is not None:
            raise AssertionError(f"{self}: {failed or 'dead'}, see {self._log.name}")
        return any(s.startswith("#ready") for s in self.said)

    @property
    def log_text(self) -> str:
        return Path(self._log.name).read_text(errors="replace")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def terminate(self) -> None:
        """The clean end: it commits, and its nodes go with its session."""
        self._process.send_signal(signal.SIGTERM)
        self._ended()
        if "#closed" not in self.said:
            raise AssertionError(f"{self} did not close cleanly, see {self._log.name}")

    def kill(self) -> None:
        """kill -9: the server finds out by the session's timeout."""
        self._process.kill()
        self._ended()

    def close(self) -> None:
        if self.is_alive:
            self.kill()

    def __str__(self) -> str:
        return f"JVM consumer {self.version} {self.id or '(not yet connected)'}"

    def _ended(self) -> None:
        self._process.wait(END_DEADLINE_S)
        self._reader.join(END_DEADLINE_S)
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for raw in self._process.stdout:
            line = raw.decode().rstrip("\n")
            if line.startswith("#"):
                self.said.append(line)
            else:
                self.rows.append(row_of(line))


def in_hand(jvms: Iterable[OldConsumer]) -> set[Row]:
    """Records that a rebalance found between an iterator's hasNext() and next(): it commits without
    them, and they are handed out all the same, so they come twice.
    """
    said = [s for jvm in jvms for s in jvm.said if s.startswith("#in_hand ")]
    return {row_of(s.partition(" ")[2]) for s in said}


def row_of(text: str) -> Row:
    topic, partition, offset = text.split(" ")
    return topic, int(partition), int(offset)
