"""Kafka brokers, with ZooKeeper (3.9) or without (KRaft, 4.x), and when they count as up."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox import secured
from zkgroup_sandbox.answers import broker_view
from zkgroup_sandbox.deadline import wait_for
from zkgroup_sandbox.jvm import java_command
from zkgroup_sandbox.kafka_config import (
    BROKER_SESSION_MS,
    CHROOT,
    CONTROLLER_NUMBER,
    NOTHING_MORE,
    More,
    kraft_config,
    zookeeper_mode_config,
)
from zkgroup_sandbox.ports import LOOPBACK
from zkgroup_sandbox.pyspark_jars import logging_jars
from zkgroup_sandbox.server import Server
from zkgroup_sandbox.sessions import node_exists
from zkgroup_sandbox.state import Parameters, SandboxState
from zkgroup_sandbox.zookeeper import zookeeper_name

_PORTS = ("client", "controller")
MAIN_CLASS = "kafka.Kafka"
STORAGE_CLASS = "kafka.tools.StorageTool"
KRAFT_LINES = frozenset({"4.1", "4.4"})
FORMAT_DEADLINE_S = 60.0


def broker_name(number: int) -> str:
    return f"kafka-{number}"


def port_kinds(parameters: Parameters) -> tuple[str, ...]:
    return (*_PORTS, *secured.PORTS) if parameters.secured else _PORTS


def zookeeper_connect(state: SandboxState) -> str:
    numbers = range(1, state.parameters.zookeepers + 1)
    servers = (state.server(zookeeper_name(n)) for n in numbers)
    return ",".join(f"{LOOPBACK}:{s.ports['client']}" for s in servers)


def is_kraft(state: SandboxState) -> bool:
    return state.parameters.kafka in KRAFT_LINES


class Broker(Server):
    def write_config(self) -> None:
        state = self.state()
        data = self.layout.data(self.name)
        brokers = state.parameters.brokers
        if is_kraft(state):
            text = kraft_config(
                number=self.number,
                port=self.port,
                controller_port=state.server(broker_name(CONTROLLER_NUMBER)).ports["controller"],
                data=data,
                brokers=brokers,
                more=self._more(state),
            )
        else:
            text = zookeeper_mode_config(
                number=self.number,
                port=self.port,
                data=data,
                brokers=brokers,
                zookeeper=zookeeper_connect(state),
                more=self._more(state),
            )
        self.layout.config(self.name).write_text(text, encoding="utf-8")

    def listener(self, name: str) -> str:
        """host:port of one of a secured broker's other listeners (see secured.py)."""
        return f"{LOOPBACK}:{self.record().ports[name]}"

    def _more(self, state: SandboxState) -> More:
        if not state.parameters.secured:
            return NOTHING_MORE
        from zkgroup_sandbox.certificates import Certificates

        certificates = Certificates(self.layout.certificates)
        return More(
            secured.listeners(self.record().ports),
            secured.protocols(),
            secured.security_config(certificates, kraft=is_kraft(state)),
        )

    def command(self) -> list[str]:
        return self._java([MAIN_CLASS, str(self.layout.config(self.name))])

    def format_storage(self) -> None:
        """KRaft keeps the cluster's id in each data directory before the first start."""
        state = self.state()
        if not is_kraft(state) or (self.layout.data(self.name) / "meta.properties").exists():
            return
        self.write_config()
        config = str(self.layout.config(self.name))
        options = ["--cluster-id", state.cluster_id, "--config", config, "--ignore-formatted"]
        done = subprocess.run(
            self._java([STORAGE_CLASS, "format", *options]),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FORMAT_DEADLINE_S,
            check=False,
        )
        if done.returncode != 0:
            raise SandboxError.of(
                "not_formatted",
                server=self.name,
                output=(done.stderr + done.stdout).strip(),
                directory=self.layout.data(self.name),
            )

    def before_start(self) -> None:
        """A broker that finds its former life's registration in ZooKeeper gives up at once.

        The broker is killed, its session lives on until its timeout with /brokers/ids/N in it,
        the broker starts again, cannot create that node, and ends.
        """
        state = self.state()
        if is_kraft(state):
            return
        path = f"{CHROOT}/brokers/ids/{self.number}"
        connect = zookeeper_connect(state)
        deadline_s = BROKER_SESSION_MS / 1000 + 30.0
        if not wait_for(lambda: not node_exists(connect, path), deadline_s, interval_s=0.2):
            raise SandboxError.of(
                "registration_remains", path=path, waited_s=deadline_s, server=self.name
            )

    def answers(self) -> bool:
        view = broker_view(self.port)
        return view is not None and self.number in view.brokers and view.controller >= 0

    def _java(self, main: list[str]) -> list[str]:
        state = self.state()
        # pyspark's logging jars come first: Kafka 3.9 brings a logging front end but no back end.
        jars = logging_jars() + sorted(Path(state.kafka_jars).glob("*.jar"))
        return java_command(
            self.layout,
            Path(state.java),
            name=self.name,
            token=state.token,
            heap_mb=state.parameters.kafka_heap_mb,
            jars=jars,
            flags=[],
            main=main,
        )
