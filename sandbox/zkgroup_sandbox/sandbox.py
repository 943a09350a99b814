"""A sandbox: real ZooKeeper and Kafka servers of one directory, on the loopback.

    with Sandbox(directory, kafka="3.9") as sandbox:
        sandbox.create_topic("events", 12)
        ... sandbox.zookeeper_connect, sandbox.bootstrap_servers ...

Servers end with the process that started them, however it ends; with `detached=True` they live on
until `stop`, which any process may call (`Sandbox.attach(directory).stop()`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.lock import is_locked, lock
from zkgroup_sandbox import sessions, topics
from zkgroup_sandbox.bring_up import Say, registries_of, servers_of
from zkgroup_sandbox.broker import KRAFT_LINES, Broker, is_kraft, zookeeper_connect
from zkgroup_sandbox.kafka_config import CHROOT
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS
from zkgroup_sandbox.layout import Layout
from zkgroup_sandbox.lifecycle import Lifecycle, all_servers
from zkgroup_sandbox.registry import Registry
from zkgroup_sandbox.server import Server
from zkgroup_sandbox.state import Parameters, SandboxState, StateFile
from zkgroup_sandbox.status import SandboxStatus, ServerStatus, status_of
from zkgroup_sandbox.zookeeper import ZooKeeper

GUARD_MODULE = "zkgroup_sandbox.guard"
TICK_MS = 500
ZOOKEEPER_HEAP_MB, KAFKA_HEAP_MB = 128, 256


class Sandbox:
    def __init__(
        self,
        directory: Path | str,
        kafka: str = "3.9",
        brokers: int = 1,
        zookeepers: int = 1,
        tick_ms: int = TICK_MS,
        *,
        durable: bool = False,
        detached: bool = False,
        zookeeper_heap_mb: int = ZOOKEEPER_HEAP_MB,
        kafka_heap_mb: int = KAFKA_HEAP_MB,
        secured: bool = False,
        registry: bool = False,
        say: Say | None = None,
    ) -> None:
        """`brokers=0` is ZooKeeper alone. `durable` waits for the disk at each ZooKeeper write.
        `registry` adds a schema registry.
        `secured` brokers have listeners with TLS and SASL too, for tests (see secured.py).
        """
        _check(kafka, brokers, zookeepers, tick_ms)
        self.directory = Path(directory).absolute()
        self.parameters = Parameters(
            kafka=kafka,
            brokers=brokers,
            zookeepers=zookeepers,
            tick_ms=tick_ms,
            durable=durable,
            zookeeper_heap_mb=zookeeper_heap_mb,
            kafka_heap_mb=kafka_heap_mb,
            secured=secured,
            registry=registry,
        )
        self._file = StateFile(self.directory)
        self._detached = detached
        self._say = say if say is not None else _say_on_stderr
        self._lifecycle = Lifecycle(self._file, self.parameters, self._say)
        self._guard: subprocess.Popen[bytes] | None = None
        self._started = False

    @classmethod
    def attach(cls, directory: Path | str, say: Say | None = None) -> Sandbox:
        """The sandbox that some process has started in this directory."""
        p = StateFile(Path(directory).absolute()).require().parameters
        return cls(
            directory,
            p.kafka,
            p.brokers,
            p.zookeepers,
            p.tick_ms,
            durable=p.durable,
            detached=True,
            zookeeper_heap_mb=p.zookeeper_heap_mb,
            kafka_heap_mb=p.kafka_heap_mb,
            secured=p.secured,
            registry=p.registry,
            say=say,
        )

    # --- life ---

    def start(self) -> Sandbox:
        """Starts what does not run yet; returns when every server answers."""
        _make_directory(self.directory)
        with lock(Layout(self.directory).start_lock, busy=self._tell_busy):
            if not self._lifecycle.resume():
                self._lifecycle.start()
                self._started = True
                if not self._detached and self._guard is None:
                    self._guard = _start_guard(self.directory)
        return self

    def stop(self) -> None:
        """End all servers and keep their data; a second start continues with it."""
        self._file.require()
        with lock(Layout(self.directory).start_lock, busy=self._tell_busy):
            self._lifecycle.stop()
        self._dismiss_guard()

    def kill(self) -> None:
        """Ends all servers at once, for directories that are deleted anyway."""
        if self._file.read() is None:
            return
        with lock(Layout(self.directory).start_lock, busy=self._tell_busy):
            self._lifecycle.kill()
        self._dismiss_guard()

    def __enter__(self) -> Sandbox:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._started:  # one that ran already belongs to another process
            self.stop()

    def _dismiss_guard(self) -> None:
        self._started = False
        guard, self._guard = self._guard, None
        if guard is not None:
            assert guard.stdin is not None
            guard.stdin.close()
            guard.wait()

    def _tell_busy(self) -> None:
        self._say(f"another process is at work on {self.directory}; waiting for it")

    # --- addresses and servers ---

    @property
    def zookeeper_connect(self) -> str:
        return zookeeper_connect(self._file.require())

    @property
    def kafka_zookeeper_connect(self) -> str:
        """Where Kafka 3.9 keeps its own nodes, and where the old consumers look for both."""
        if is_kraft(self._file.require()):
            raise SandboxError.of("no_kafka_chroot", version=self.parameters.kafka)
        return self.zookeeper_connect + CHROOT

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(b.address for b in self.brokers)

    @property
    def zookeepers(self) -> list[ZooKeeper]:
        return servers_of(self._file, self.parameters)[0]

    @property
    def brokers(self) -> list[Broker]:
        return servers_of(self._file, self.parameters)[1]

    @property
    def registry(self) -> Registry:
        """The schema registry. SandboxError if it was started without one."""
        for found in registries_of(self._file, self.parameters):
            return found
        raise SandboxError.of("no_registry", directory=self.directory)

    @property
    def servers(self) -> list[Server]:
        return all_servers(self._file)

    def log_path(self, server: Server) -> Path:
        return Layout(self.directory).log(server.name)

    def status(self) -> SandboxStatus:
        state = self._file.require()
        servers = tuple(status_of(server) for server in self.servers)
        in_zookeeper = bool(self.parameters.brokers) and not is_kraft(state)
        return SandboxStatus(
            directory=str(self.directory),
            phase=self._phase(state, servers),
            kafka=state.parameters.kafka if state.parameters.brokers else "",
            zookeeper_connect=self.zookeeper_connect,
            kafka_zookeeper_connect=self.kafka_zookeeper_connect if in_zookeeper else "",
            bootstrap_servers=self.bootstrap_servers,
            schema_registry_url=self.registry.url if self.parameters.registry else "",
            servers=servers,
        )

    def _phase(self, state: SandboxState, servers: tuple[ServerStatus, ...]) -> str:
        if state.phase == "starting":
            return "starting" if is_locked(Layout(self.directory).start_lock) else "cut off"
        if all(s.life == "dead" for s in servers):
            return "stopped"
        return "running" if all(s.answers for s in servers) else "degraded"

    # --- faults and topics ---

    def expire_session(self, session_id: int, password: bytes) -> None:
        sessions.expire_session(self.zookeeper_connect, session_id, password)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        *,
        replication: int = 1,
    ) -> None:
        """Returns when every broker names a leader for every partition."""
        topics.create_topic(self.brokers, name, partitions, config or {}, replication)

    def delete_topic(self, name: str) -> None:
        """Returns when no broker knows the topic any more."""
        topics.delete_topic(self.brokers, name)

    def add_partitions(self, name: str, partitions: int) -> None:
        """`partitions` is the new total; returns when each of them has a leader everywhere."""
        topics.add_partitions(self.brokers, name, partitions)


def _check(kafka: str, brokers: int, zookeepers: int, tick_ms: int) -> None:
    if kafka not in KAFKA_VERSIONS:
        raise SandboxError.of("unknown_kafka", version=kafka, known=", ".join(KAFKA_VERSIONS))
    for name, value, low, high in (
        ("brokers", brokers, 0, 9),
        ("zookeepers", zookeepers, 0 if kafka in KRAFT_LINES and brokers else 1, 9),
        ("tick_ms", tick_ms, 10, 60_000),
    ):
        if not low <= value <= high:
            raise SandboxError.of(
                "parameter_out_of_range",
                name=name,
                value=value,
                low=low,
                high=high,
                versions=" or ".join(sorted(KRAFT_LINES)),
            )


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError.of(
            "directory_not_created", directory=directory, error=error.strerror
        ) from error


def _start_guard(directory: Path) -> subprocess.Popen[bytes]:
    """A process that reads from us until we end, in whatever way, and then ends the servers."""
    package_root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    with Layout(directory).log("guard").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", GUARD_MODULE, str(directory)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path},
        )


def _say_on_stderr(text: str) -> None:
    print(f"sandbox: {text}", file=sys.stderr, flush=True)
