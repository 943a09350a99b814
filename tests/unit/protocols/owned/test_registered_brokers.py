"""Which addresses brokers have registered in ZooKeeper."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.protocols.owned.registered_brokers import registered_brokers

NODES = {
    "1": b'{"endpoints":["PLAINTEXT://b1:9092","SSL://b1:9093"]}',
    "2": b'{"host":"b2","port":9092,"endpoints":[]}',
    "3": b"not JSON",
    "4": None,
}


def store_of(nodes: dict[str, bytes | None]) -> Any:
    def read(paths: list[str]) -> list[Any]:
        found = [nodes[path.rpartition("/")[2]] for path in paths]
        return [None if data is None else SimpleNamespace(data=data) for data in found]

    return SimpleNamespace(children=lambda _paths: [SimpleNamespace(names=set(nodes))], nodes=read)


@pytest.mark.parametrize(
    ("protocol", "names", "expected"),
    [
        ("PLAINTEXT", None, ("b1:9092", "b2:9092")),
        ("SSL", None, ("b1:9093",)),
        ("PLAINTEXT", ["2"], ("b2:9092",)),
        ("PLAINTEXT", ["4"], ()),
    ],
)
def test_addresses_with_the_security_protocol_are_found(
    protocol: str,
    names: list[str] | None,
    expected: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert registered_brokers(store_of(NODES), protocol, names) == expected
    assert ("/brokers/ids/3" in caplog.text) is (names is None)


def test_without_any_registration_there_are_no_addresses() -> None:
    store: Any = SimpleNamespace(children=lambda _paths: [None], nodes=lambda _paths: [])
    assert registered_brokers(store, "PLAINTEXT") == ()
