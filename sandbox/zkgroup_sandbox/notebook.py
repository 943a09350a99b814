"""The servers of a notebook: a sandbox of this machine, or on Databricks the user's own.

    servers = Servers(globals().get("dbutils"))
    topic = servers.new_topic("orders", 12)
    ... servers.zookeeper_connect, servers.produce(topic, 6_000), servers.directory ...
    ... servers.schema_registry() ...

Where there is a `dbutils`, widgets ask for addresses and for a directory that driver and executors
can write. Else a sandbox is used: that of the environment's ZKGROUP_SANDBOX, or a new one.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Mapping
from typing import Any, Final

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.produce import Paced, Produced, produce
from zkgroup_sandbox.sandbox import Sandbox

RUNNING: Final = "ZKGROUP_SANDBOX"
# The name of each widget, its first value and its label.
WIDGETS: Final = {
    "zookeeper.connect": ("", "ZooKeeper: host:port,.../chroot"),
    "kafka.bootstrap.servers": ("", "Kafka: host:port,..."),
    "directory": ("", "Directory for tables and checkpoints"),
}


REGISTRY_WIDGET: Final = {"schema.registry.url": ("", "Schema registry: its URL")}


class Servers:
    def __init__(self, dbutils: Any = None, environment: Mapping[str, str] = os.environ) -> None:
        self._dbutils = dbutils
        self._sandbox: Sandbox | None = None
        self._registry: Sandbox | None = None
        self._mine = False
        if dbutils is None:
            running = environment.get(RUNNING)
            self._mine = running is None
            self._sandbox = (
                Sandbox.attach(running) if running else Sandbox(tempfile.mkdtemp()).start()
            )
            self.zookeeper_connect = self._sandbox.kafka_zookeeper_connect
            self.bootstrap_servers = self._sandbox.bootstrap_servers
            self.directory = tempfile.mkdtemp()
            return
        given = _asked(dbutils, WIDGETS)
        self.zookeeper_connect = given["zookeeper.connect"]
        self.bootstrap_servers = given["kafka.bootstrap.servers"]
        # Tables and checkpoints of an earlier run belong to topics of that run.
        self.directory = f"{given['directory'].rstrip('/')}/zkgroup-{uuid.uuid4().hex[:8]}"

    def new_topic(self, name: str, partitions: int) -> str:
        """Its name is that with something behind it, so that a notebook can be run again."""
        topic = self.new_name(name)
        if self._sandbox is not None:
            self._sandbox.create_topic(topic, partitions)
            return topic
        try:
            client = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers.split(","))
            try:
                client.create_topics({topic: {"num_partitions": partitions}})
            finally:
                client.close()
        except KafkaError as error:
            raise SandboxError.of(
                "notebook_topic", topic=topic, servers=self.bootstrap_servers, error=error
            ) from error
        return topic

    def new_name(self, name: str) -> str:
        return f"{name}-{uuid.uuid4().hex[:8]}"

    def produce(self, topic: str, count: int, first: int = 0) -> Produced:
        return produce(self.bootstrap_servers, topic, count, first=first)

    def paced(self, topic: str, per_second: float, first: int = 0) -> Paced:
        """A steady stream of events, from `start()` to `stop()`."""
        return Paced(self.bootstrap_servers, topic, per_second, first=first)

    def schema_registry(self) -> str:
        """Return the URL of a schema registry, which is started if the sandbox has none."""
        if self._sandbox is None:
            return _asked(self._dbutils, REGISTRY_WIDGET)["schema.registry.url"]
        if self._sandbox.parameters.registry:
            return self._sandbox.registry.url
        if self._registry is None:
            self._registry = Sandbox(tempfile.mkdtemp(), brokers=0, registry=True).start()
        return self._registry.registry.url

    def close(self) -> None:
        """Stop what was started here; servers of others continue."""
        if self._registry is not None:
            self._registry.stop()
        if self._sandbox is not None and self._mine:
            self._sandbox.stop()


def _asked(dbutils: Any, widgets: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    for name, (value, label) in widgets.items():
        dbutils.widgets.text(name, value, label)
    given = {name: str(dbutils.widgets.get(name)).strip() for name in widgets}
    if empty := [widgets[name][1] for name in widgets if not given[name]]:
        raise SandboxError.of("notebook_fields", fields="; ".join(empty))
    return given
