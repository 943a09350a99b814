"""What a sandbox directory knows about its servers: one JSON file, replaced as a whole.

Phases: `starting` (a starter is at work, or was killed at it), `running`, `stopped`. A phase is
only what was last written; whether a process lives is always asked of the system.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.lock import lock
from zkgroup_sandbox.process import Identity

Phase = Literal["starting", "running", "stopped"]
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Parameters:
    kafka: str
    brokers: int
    zookeepers: int
    tick_ms: int
    durable: bool
    zookeeper_heap_mb: int
    kafka_heap_mb: int
    secured: bool = False
    registry: bool = False

    def same_data(self, other: Parameters) -> bool:
        """Whether servers of these parameters can continue with data written under the others."""
        return (self.kafka, self.brokers, self.zookeepers, self.secured) == (
            other.kafka,
            other.brokers,
            other.zookeepers,
            other.secured,
        )

    def __str__(self) -> str:
        return ", ".join(f"{f.name} {getattr(self, f.name)}" for f in fields(self))


@dataclass(frozen=True)
class ServerRecord:
    name: str
    ports: Mapping[str, int]
    process: Identity | None = None


@dataclass(frozen=True)
class SandboxState:
    phase: Phase
    token: str
    cluster_id: str
    java: str
    kafka_jars: str  # the directory; empty without brokers
    registry_jars: str  # empty without a registry
    settled: bool  # whether the data belongs to a sandbox that was once complete
    parameters: Parameters
    servers: tuple[ServerRecord, ...]

    def server(self, name: str) -> ServerRecord:
        return next(s for s in self.servers if s.name == name)

    def with_server(self, record: ServerRecord) -> SandboxState:
        servers = tuple(record if s.name == record.name else s for s in self.servers)
        return replace(self, servers=servers)


class StateFile:
    """The state file of one directory; every change is read, changed and replaced under a lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "sandbox.json"

    def read(self) -> SandboxState | None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            return _decode(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise SandboxError.of("bad_state", file=self.path, error=error) from error

    def require(self) -> SandboxState:
        state = self.read()
        if state is None:
            raise SandboxError.of("no_sandbox", directory=self.directory)
        return state

    def write(self, state: SandboxState) -> None:
        with lock(self.directory / "state.lock"):
            self._replace(state)

    def update(self, change: Callable[[SandboxState], SandboxState]) -> SandboxState:
        with lock(self.directory / "state.lock"):
            state = change(self.require())
            self._replace(state)
            return state

    def _replace(self, state: SandboxState) -> None:
        text = json.dumps(_encode(state), indent=2) + "\n"
        fresh = self.path.with_suffix(".json.new")
        with fresh.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self.path)


def _encode(state: SandboxState) -> dict[str, Any]:
    return {"version": FORMAT_VERSION, **asdict(state)}


def _decode(value: dict[str, Any]) -> SandboxState:
    if value["version"] != FORMAT_VERSION:
        raise ValueError(f"version is {value['version']!r}, this zkgroup reads {FORMAT_VERSION}")
    servers = tuple(
        ServerRecord(
            name=str(s["name"]),
            ports={str(k): int(v) for k, v in s["ports"].items()},
            process=None if s["process"] is None else Identity(**s["process"]),
        )
        for s in value["servers"]
    )
    return SandboxState(
        phase=value["phase"],
        token=str(value["token"]),
        cluster_id=str(value["cluster_id"]),
        java=str(value["java"]),
        kafka_jars=str(value["kafka_jars"]),
        registry_jars=str(value.get("registry_jars", "")),
        settled=bool(value["settled"]),
        parameters=Parameters(**value["parameters"]),
        servers=servers,
    )
