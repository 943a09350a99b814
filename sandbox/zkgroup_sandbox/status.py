"""What runs of a sandbox, and where it is reached."""

from __future__ import annotations

from dataclasses import dataclass

from zkgroup_sandbox.server import Server


@dataclass(frozen=True)
class ServerStatus:
    name: str
    address: str
    pid: int | None
    life: str  # running, paused, dead
    answers: bool


@dataclass(frozen=True)
class SandboxStatus:
    directory: str
    phase: str  # starting, running, degraded, stopped, cut off (its starter was killed)
    kafka: str
    zookeeper_connect: str
    kafka_zookeeper_connect: str  # empty unless Kafka keeps its nodes in ZooKeeper
    bootstrap_servers: str
    schema_registry_url: str  # empty without one
    servers: tuple[ServerStatus, ...]


def status_of(server: Server) -> ServerStatus:
    life = server.life
    return ServerStatus(
        name=server.name,
        address=server.address,
        pid=server.pid if life != "dead" else None,
        life=life,
        answers=life == "running" and server.answers(),
    )
