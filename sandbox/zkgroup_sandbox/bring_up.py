"""Brings the servers of one directory up: what is left of a former start first, then in order.

The caller holds the directory's start lock. A process that holds it and reads the phase `starting`
knows that the process which wrote it is dead: a living starter would hold the lock.
"""

from __future__ import annotations

import base64
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox import broker, process, sessions, zookeeper
from zkgroup_sandbox.answers import broker_view
from zkgroup_sandbox.broker import Broker, broker_name, is_kraft, zookeeper_connect
from zkgroup_sandbox.deadline import wait_for
from zkgroup_sandbox.jvm import LOGGING_CONFIG, server_token
from zkgroup_sandbox.kafka_config import CHROOT
from zkgroup_sandbox.layout import Layout
from zkgroup_sandbox.ports import can_listen, free_ports
from zkgroup_sandbox.registry import Registry, registry_names
from zkgroup_sandbox.server import START_DEADLINE_S, PortTakenError, Server
from zkgroup_sandbox.state import Parameters, SandboxState, ServerRecord, StateFile
from zkgroup_sandbox.zookeeper import ZooKeeper, zookeeper_name

PORT_ATTEMPTS_MAX = 5
ADOPTION_S = 1.0

Say = Callable[[str], None]


def servers_of(file: StateFile, parameters: Parameters) -> tuple[list[ZooKeeper], list[Broker]]:
    zookeepers = [
        ZooKeeper(zookeeper_name(n), n, file) for n in range(1, parameters.zookeepers + 1)
    ]
    brokers = [Broker(broker_name(n), n, file) for n in range(1, parameters.brokers + 1)]
    return zookeepers, brokers


def registries_of(file: StateFile, parameters: Parameters) -> list[Registry]:
    return [Registry(name, 1, file) for name in registry_names(parameters)]


def clean_up(file: StateFile, state: SandboxState, say: Say) -> SandboxState:
    """Ends what still runs of a sandbox whose start was cut off; forgets what is dead."""
    layout = Layout(file.directory)
    patience_ends = time.monotonic() + ADOPTION_S
    for record in state.servers:
        identity = record.process
        if identity is None and state.phase == "starting":
            identity = process.adopt(
                layout.pid_file(record.name),
                server_token(state.token, record.name),
                patience_ends - time.monotonic(),
            )
        if identity is not None and process.life_of(identity) != "dead":
            say(f"ending {record.name} (process {identity.pid}), left by a start that was cut off")
            process.kill(identity)
    if not state.settled:
        shutil.rmtree(file.directory / "data", ignore_errors=True)
    servers = tuple(replace(record, process=None) for record in state.servers)
    state = replace(state, phase="stopped", servers=servers)
    file.write(state)
    return state


def new_state(
    parameters: Parameters,
    java: Path,
    kafka_jars: Path | None,
    registry_jars: Path | None,
    former: SandboxState | None,
) -> SandboxState:
    """Return the state to start from; former ports are kept where no other process took them."""
    wanted: dict[str, tuple[str, ...]] = {}
    wanted |= {
        zookeeper_name(n): zookeeper.port_kinds(parameters)
        for n in range(1, parameters.zookeepers + 1)
    }
    wanted |= {
        broker_name(n): broker.port_kinds(parameters) for n in range(1, parameters.brokers + 1)
    }
    wanted |= dict.fromkeys(registry_names(parameters), ("client",))
    fresh = iter(free_ports(sum(map(len, wanted.values()))))
    ports = {name: {kind: next(fresh) for kind in kinds} for name, kinds in wanted.items()}
    for record in former.servers if former is not None else ():
        if record.name in ports and all(can_listen(port) for port in record.ports.values()):
            ports[record.name] = dict(record.ports)
    return SandboxState(
        phase="starting",
        token=uuid.uuid4().hex,
        cluster_id=former.cluster_id if former is not None else _new_cluster_id(),
        java=str(java),
        kafka_jars="" if kafka_jars is None else str(kafka_jars),
        registry_jars="" if registry_jars is None else str(registry_jars),
        settled=former is not None and former.settled,
        parameters=parameters,
        servers=tuple(ServerRecord(name, ports[name]) for name in wanted),
    )


def bring_up(
    file: StateFile, parameters: Parameters, say: Say, *, port_attempts: int = PORT_ATTEMPTS_MAX
) -> None:
    """Starts every server that does not run, and returns when all of them answer.

    More than one port attempt is for when none runs yet: the others would not learn new ports.
    """
    layout = Layout(file.directory)
    layout.make()
    layout.logging_config.write_text(LOGGING_CONFIG, encoding="utf-8")
    if parameters.secured:
        # Needs a package that only the development has.
        from zkgroup_sandbox.certificates import Certificates

        Certificates.make(layout.certificates)
    zookeepers, brokers = servers_of(file, parameters)
    absent = [s for s in brokers if not s.alive]
    # Formatting needs no other server: its JVMs run while ZooKeeper starts.
    with ThreadPoolExecutor(max_workers=max(1, len(absent))) as pool:
        formatted = [pool.submit(b.format_storage) for b in absent]
        _start_together(file, [s for s in zookeepers if not s.alive], say, port_attempts)
        if zookeepers:
            _await_session(file.require())
        for done in formatted:
            done.result()
    for server in absent:
        server.before_start()
    _start_together(file, absent, say, port_attempts)
    _await_brokers(file, brokers)
    registries = registries_of(file, parameters)
    _start_together(file, [s for s in registries if not s.alive], say, port_attempts)


def _start_together(
    file: StateFile, servers: Sequence[Server], say: Say, port_attempts: int
) -> None:
    """Launch all, then wait for all; with other ports when a process took one in between.

    A port is chosen because no process listens on it, another program takes it, our server cannot
    bind it and ends. Servers know each other's ports, so that all of them start again.
    """
    for attempt in range(1, port_attempts + 1):
        for server in servers:
            server.launch()
        try:
            for server in servers:
                server.wait_up()
            return
        except PortTakenError as error:
            if attempt == port_attempts:
                raise
            say(f"a port was taken by another program ({error.what.splitlines()[0]}); new ports")
        for server in servers:
            server.kill()
        _give_new_ports(file, servers)


def _give_new_ports(file: StateFile, servers: Sequence[Server]) -> None:
    names = {server.name for server in servers}

    def change(state: SandboxState) -> SandboxState:
        used = frozenset(p for record in state.servers for p in record.ports.values())
        for record in state.servers:
            if record.name in names:
                fresh = free_ports(len(record.ports), avoid=used)
                used |= frozenset(fresh)
                state = state.with_server(
                    ServerRecord(record.name, dict(zip(record.ports, fresh, strict=True)))
                )
        return state

    file.update(change)


def _await_session(state: SandboxState) -> None:
    with sessions.session(zookeeper_connect(state)) as client:
        client.exists("/")


def _await_brokers(file: StateFile, brokers: Sequence[Broker]) -> None:
    """Every broker itself must see all of them and a controller."""
    if not brokers:
        return
    expected = frozenset(b.number for b in brokers)
    views: dict[str, str] = {}

    def complete() -> bool:
        for b in brokers:
            view = broker_view(b.port)
            views[b.name] = "no answer" if view is None else f"sees brokers {sorted(view.brokers)}"
            if view is None or view.brokers.keys() != expected or view.controller < 0:
                return False
        return True

    if not wait_for(complete, START_DEADLINE_S):
        raise SandboxError.of(
            "brokers_apart",
            brokers=sorted(expected),
            waited_s=START_DEADLINE_S,
            views=views,
            log=Layout(file.directory).log(brokers[0].name).parent,
        )
    state = file.require()
    if not is_kraft(state):
        ids = sessions.children(zookeeper_connect(state), f"{CHROOT}/brokers/ids")
        if ids != {str(n) for n in expected}:
            raise SandboxError.of(
                "brokers_not_registered",
                path=f"{CHROOT}/brokers/ids",
                found=sorted(ids),
                expected=sorted(expected),
                log=Layout(file.directory).log(brokers[0].name).parent,
            )


def _new_cluster_id() -> str:
    """As Kafka makes them; one that begins with a dash would be read as an option."""
    while True:
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not name.startswith("-"):
            return name
