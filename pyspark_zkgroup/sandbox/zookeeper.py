"""ZooKeeper servers: their configuration, and when they count as up."""

from __future__ import annotations

from pathlib import Path

from pyspark_zkgroup.sandbox.answers import zookeeper_mode
from pyspark_zkgroup.sandbox.jvm import java_command
from pyspark_zkgroup.sandbox.ports import LOOPBACK
from pyspark_zkgroup.sandbox.pyspark_jars import zookeeper_jars
from pyspark_zkgroup.sandbox.server import Server

PORTS = ("client", "quorum", "election")
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def zookeeper_name(number: int) -> str:
    return f"zookeeper-{number}"


class ZooKeeper(Server):
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
        )
        self.layout.config(self.name).write_text(text, encoding="utf-8")
        self.layout.data(self.name).mkdir(parents=True, exist_ok=True)
        (self.layout.data(self.name) / "myid").write_text(f"{self.number}\n")

    def command(self) -> list[str]:
        state = self.state()
        force_sync = "yes" if state.parameters.durable else "no"
        return java_command(
            self.layout,
            Path(state.java),
            name=self.name,
            token=state.token,
            heap_mb=state.parameters.zookeeper_heap_mb,
            jars=zookeeper_jars(),
            flags=[f"-Dzookeeper.forceSync={force_sync}", "-Dzookeeper.jmx.log4j.disable=true"],
            main=[MAIN_CLASS, str(self.layout.config(self.name))],
        )

    def answers(self) -> bool:
        return zookeeper_mode(self.port) is not None


def zookeeper_config(
    *, data: Path, client_port: int, tick_ms: int, ensemble: list[tuple[int, int]]
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
    ]
    if len(ensemble) > 1:
        lines += [
            f"server.{number}={LOOPBACK}:{quorum}:{election}"
            for number, (quorum, election) in enumerate(ensemble, start=1)
        ]
    return "\n".join(lines) + "\n"
