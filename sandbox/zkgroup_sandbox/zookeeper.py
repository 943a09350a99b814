"""ZooKeeper servers: their configuration, and when they count as up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zkgroup_sandbox import secured_zookeeper
from zkgroup_sandbox.answers import zookeeper_mode
from zkgroup_sandbox.jvm import java_command
from zkgroup_sandbox.ports import LOOPBACK
from zkgroup_sandbox.pyspark_jars import zookeeper_jars
from zkgroup_sandbox.server import Server
from zkgroup_sandbox.state import Parameters

_PORTS = ("client", "quorum", "election")
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def zookeeper_name(number: int) -> str:
    return f"zookeeper-{number}"


def port_kinds(parameters: Parameters) -> tuple[str, ...]:
    return (*_PORTS, *secured_zookeeper.PORTS) if parameters.secured else _PORTS


class ZooKeeper(Server):
    @property
    def secure_address(self) -> str:
        """host:port for TLS, of a secured one (see secured_zookeeper.py)."""
        return f"{LOOPBACK}:{self.record().ports[secured_zookeeper.PORT]}"

    def write_config(self) -> None:
        state = self.state()
        ensemble = [
            state.server(zookeeper_name(n)) for n in range(1, state.parameters.zookeepers + 1)
        ]
        text = zookeeper_config(
            data=self.layout.data(self.name),
            client_port=self.port,
            tick_ms=state.parameters.tick_ms,
            ensemble=[(s.ports["quorum"], s.ports["election"]) for s in ensemble],
            more=self._more(),
        )
        self.layout.config(self.name).write_text(text, encoding="utf-8")
        self.layout.data(self.name).mkdir(parents=True, exist_ok=True)
        (self.layout.data(self.name) / "myid").write_text(f"{self.number}\n")

    def _more(self) -> Sequence[str]:
        if not self.state().parameters.secured:
            return ()
        from zkgroup_sandbox.certificates import Certificates

        self.layout.logins(self.name).write_text(secured_zookeeper.logins(), encoding="utf-8")
        port = self.record().ports[secured_zookeeper.PORT]
        return secured_zookeeper.config(Certificates(self.layout.certificates), port)

    def command(self) -> list[str]:
        state = self.state()
        more: Sequence[str] = ()
        if state.parameters.secured:
            more = secured_zookeeper.flags(self.layout.logins(self.name))
        force_sync = "yes" if state.parameters.durable else "no"
        return java_command(
            self.layout,
            Path(state.java),
            name=self.name,
            token=state.token,
            heap_mb=state.parameters.zookeeper_heap_mb,
            jars=zookeeper_jars(),
            flags=[
                f"-Dzookeeper.forceSync={force_sync}",
                "-Dzookeeper.jmx.log4j.disable=true",
                *more,
            ],
            main=[MAIN_CLASS, str(self.layout.config(self.name))],
        )

    def answers(self) -> bool:
        return zookeeper_mode(self.port) is not None


def zookeeper_config(
    *,
    data: Path,
    client_port: int,
    tick_ms: int,
    ensemble: list[tuple[int, int]],
    more: Sequence[str] = (),
) -> str:
    lines = [
        f"tickTime={tick_ms}",
        "initLimit=20",
        "syncLimit=10",
        f"minSessionTimeout={2 * tick_ms}",
        f"maxSessionTimeout={max(60_000, 20 * tick_ms)}",
        f"dataDir={data}",
        f"clientPort={client_port}",
        f"clientPortAddress={LOOPBACK}",
        "maxClientCnxns=0",
        "admin.enableServer=false",
        "4lw.commands.whitelist=*",
        # The default makes every transaction log a file of 64 MB from its first byte on.
        "preAllocSize=1024",
        *more,
    ]
    if len(ensemble) > 1:
        lines += [
            f"server.{number}={LOOPBACK}:{quorum}:{election}"
            for number, (quorum, election) in enumerate(ensemble, start=1)
        ]
    return "\n".join(lines) + "\n"
