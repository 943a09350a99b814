"""The servers of a notebook: the user's own by widgets, or a sandbox that runs already."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.notebook import WIDGETS, Servers


class Widgets:
    """As Databricks shows them: a value that was given stays, whatever the cell says at first."""

    def __init__(self, **given: str) -> None:
        self.values = given

    def text(self, name: str, value: str, label: str) -> None:
        assert label
        self.values.setdefault(name, value)

    def get(self, name: str) -> str:
        return self.values[name]


def dbutils(**given: str) -> SimpleNamespace:
    return SimpleNamespace(widgets=Widgets(**given))


def test_empty_fields_are_named_and_no_sandbox_is_started(tmp_path: Path) -> None:
    asked = dbutils(directory="/Volumes/trying")
    with pytest.raises(SandboxError, match="Fill in the fields") as raised:
        Servers(asked, {"ZKGROUP_SANDBOX": str(tmp_path)})
    assert list(asked.widgets.values) == [
        "directory",
        "zookeeper.connect",
        "kafka.bootstrap.servers",
    ]
    assert "ZooKeeper: " in f"{raised.value}"
    assert WIDGETS["directory"][1] not in f"{raised.value}"


def test_topics_are_made_on_the_users_own_servers(sandbox: Sandbox) -> None:
    given = {
        "zookeeper.connect": f" {sandbox.kafka_zookeeper_connect} ",
        "kafka.bootstrap.servers": sandbox.bootstrap_servers,
        "directory": "/Volumes/trying/",
    }
    servers = Servers(dbutils(**given), {})
    assert servers.zookeeper_connect == sandbox.kafka_zookeeper_connect
    assert servers.directory.startswith("/Volumes/trying/zkgroup-")
    topic = servers.new_topic("orders", 3)
    assert topic.startswith("orders-")
    assert servers.produce(topic, 30).end_offsets == {0: 10, 1: 10, 2: 10}
    servers.close()
    assert sandbox.status().phase == "running"


# They are tried for half a minute.
@pytest.mark.long
def test_brokers_that_are_not_there_are_named() -> None:
    given = {
        "zookeeper.connect": "127.0.0.1:1",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "directory": "d",
    }
    with pytest.raises(SandboxError, match=r"on 127\.0\.0\.1:1"):
        Servers(dbutils(**given), {}).new_topic("orders", 3)


def test_a_sandbox_that_runs_is_used_and_left_running(sandbox: Sandbox) -> None:
    servers = Servers(None, {"ZKGROUP_SANDBOX": str(sandbox.directory)})
    assert servers.bootstrap_servers == sandbox.bootstrap_servers
    topic = servers.new_topic("orders", 2)
    with servers.paced(topic, per_second=1000) as events:
        assert events.stop().topic == topic
    servers.close()
    assert sandbox.status().phase == "running"


def test_the_users_own_registry_is_asked_for_when_it_is_needed(sandbox: Sandbox) -> None:
    given = {
        "zookeeper.connect": sandbox.kafka_zookeeper_connect,
        "kafka.bootstrap.servers": sandbox.bootstrap_servers,
        "directory": "/Volumes/trying",
    }
    asked = dbutils(**given)
    servers = Servers(asked, {})
    with pytest.raises(SandboxError, match="Schema registry: its URL"):
        servers.schema_registry()
    asked.widgets.values["schema.registry.url"] = "https://registry1:8081"
    assert servers.schema_registry() == "https://registry1:8081"
    servers.close()
