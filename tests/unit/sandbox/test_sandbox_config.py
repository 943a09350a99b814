"""The servers' configuration: the loopback only, and what the tests rely on."""

from __future__ import annotations

from pathlib import Path

from zkgroup_sandbox.kafka_config import kraft_config, zookeeper_mode_config
from zkgroup_sandbox.zookeeper import zookeeper_config


def settings(text: str) -> dict[str, str]:
    lines = text.splitlines()
    parsed = dict(line.split("=", 1) for line in lines)
    assert len(parsed) == len(lines), "a setting stands twice"
    return parsed


def test_lone_zookeeper() -> None:
    parsed = settings(
        zookeeper_config(data=Path("/d"), client_port=1, tick_ms=300, ensemble=[(2, 3)])
    )
    assert parsed["clientPortAddress"] == "127.0.0.1"
    assert parsed["minSessionTimeout"] == "600"
    assert parsed["admin.enableServer"] == "false"
    assert not any(name.startswith("server.") for name in parsed)


def test_ensemble_knows_all_its_servers() -> None:
    ensemble = [(2, 3), (4, 5), (6, 7)]
    parsed = settings(
        zookeeper_config(data=Path("/d"), client_port=1, tick_ms=300, ensemble=ensemble)
    )
    servers = [parsed[f"server.{n}"] for n in (1, 2, 3)]
    assert servers == ["127.0.0.1:2:3", "127.0.0.1:4:5", "127.0.0.1:6:7"]


def test_broker_with_zookeeper() -> None:
    parsed = settings(
        zookeeper_mode_config(
            number=2, port=9, data=Path("/d"), brokers=2, zookeeper="127.0.0.1:1,127.0.0.1:2"
        )
    )
    assert parsed["zookeeper.connect"] == "127.0.0.1:1,127.0.0.1:2/kafka"
    assert parsed["listeners"] == parsed["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9"
    assert parsed["offsets.topic.replication.factor"] == "2"
    assert parsed["controlled.shutdown.enable"] == "true"
    assert parsed["auto.create.topics.enable"] == "false"


def test_only_the_first_kraft_node_is_a_controller() -> None:
    first, second = (
        settings(
            kraft_config(number=n, port=10 + n, controller_port=20, data=Path("/d"), brokers=2)
        )
        for n in (1, 2)
    )
    assert first["process.roles"] == "broker,controller"
    assert first["listeners"] == "PLAINTEXT://127.0.0.1:11,CONTROLLER://127.0.0.1:20"
    assert second["process.roles"] == "broker"
    assert second["listeners"] == "PLAINTEXT://127.0.0.1:12"
    assert first["controller.quorum.voters"] == second["controller.quorum.voters"]
