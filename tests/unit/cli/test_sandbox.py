"""What `sandbox` says of its addresses: the one that queries and commands take comes first."""

from __future__ import annotations

import json

import pytest

from zkgroup_sandbox import SandboxStatus
from zkgroup_sandbox.command import _show

ROOT, CHROOT, BROKER = "127.0.0.1:2181", "127.0.0.1:2181/kafka", "127.0.0.1:9092"


def status(of_kafka: str, phase: str = "running") -> SandboxStatus:
    return SandboxStatus("/box", phase, "3.9", ROOT, of_kafka, BROKER, "", ())


def lines(seen: SandboxStatus, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    _show(seen, as_json=False)
    return [line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:]]


def test_where_kafka_has_a_chroot_queries_take_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(status(CHROOT), capsys) == [
        ["  zookeeper.connect", CHROOT],
        ["  (ZooKeeper's own root)", ROOT],
        ["  kafka.bootstrap.servers", BROKER],
    ]


def test_without_one_there_is_one_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(status(""), capsys) == [
        ["  zookeeper.connect", ROOT],
        ["  kafka.bootstrap.servers", BROKER],
    ]
    assert lines(status(CHROOT, "stopped"), capsys) == []


@pytest.mark.parametrize(("of_kafka", "wanted"), [(CHROOT, CHROOT), ("", ROOT)])
def test_json_output_has_the_same_addresses(
    of_kafka: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _show(status(of_kafka), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["zookeeper_connect"], told["kafka_zookeeper_connect"]) == (ROOT, of_kafka)
    assert told["queries_zookeeper_connect"] == wanted
