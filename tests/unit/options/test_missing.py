"""Which options must be given, and which protocol follows from those that are."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.missing import Use
from tests.harness.given_options import LEAST, refusal

BROKERS = {"kafka.bootstrap.servers": "k1:9092"}
SERVERS = "'kafka.bootstrap.servers' (or 'zookeeper.connect')"
TOPICS = "'subscribe' (or 'subscribePattern', 'excludePattern' or 'assign')"
ALL_THREE = (
    f"Options {SERVERS}, 'group.id' and {TOPICS} are missing. "
    "For example: kafka.bootstrap.servers=kafka1:9092, group.id=billing, subscribe=orders"
)


def without(*names: str) -> dict[str, str]:
    return {name: text for name, text in LEAST.items() if name not in names}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, ALL_THREE),
        (
            without("zookeeper.connect"),
            f"Option {SERVERS} is missing. For example: kafka.bootstrap.servers=kafka1:9092",
        ),
        (without("group.id"), "Option 'group.id' is missing. For example: group.id=billing"),
        (without("subscribe"), f"Option {TOPICS} is missing. For example: subscribe=orders"),
        (
            {**without("zookeeper.connect"), **BROKERS, "protocol": "coordinator"},
            "Option 'zookeeper.connect' (as 'protocol' is 'coordinator') is missing. "
            "For example: zookeeper.connect=zk1:2181/kafka",
        ),
        (
            {"protocol": "light", "subscribe": "orders"},
            "Options 'coordinator.addresses' (as 'protocol' is 'light') and 'group.id' are "
            "missing. For example: coordinator.addresses=coordinator1:2183, group.id=billing",
        ),
    ],
)
def test_all_missing_options_are_in_one_error(options: dict[str, str], message: str) -> None:
    assert refusal(options) == message


def test_load_reports_a_missing_group_only_with_other_missing_options() -> None:
    parse(without("group.id"), "either")
    parse(without("group.id"), "batch")
    with pytest.raises(OptionError) as at_load:
        parse({}, "either")
    assert f"{at_load.value}" == f"[ZKG-001] {ALL_THREE}"


@pytest.mark.parametrize("use", ["stream", "batch", "either"])
def test_brokers_without_zookeeper_mean_protocol_kafka(use: Use) -> None:
    found = parse({**BROKERS, "group.id": "billing", "subscribe": "orders"}, use)
    assert found.protocol.name == "kafka"
    assert found.protocol.by_default == (
        "'protocol' is kafka by default ('zookeeper.connect' is not given)"
    )


@pytest.mark.parametrize("more", [{}, BROKERS])
def test_zookeeper_means_protocol_zookeeper(more: dict[str, str]) -> None:
    assert parse({**LEAST, **more}).protocol.name == "zookeeper"


def test_an_option_of_zookeeper_without_its_servers_names_the_default() -> None:
    given = {**BROKERS, "group.id": "billing", "subscribe": "orders", "offsets.storage": "kafka"}
    assert refusal(given) == (
        "Option 'offsets.storage' is 'kafka', but 'protocol' is kafka by default "
        "('zookeeper.connect' is not given), which uses no ZooKeeper. Leave it out; or, for a "
        "group in ZooKeeper, give 'zookeeper.connect' and leave out 'protocol'"
    )


def test_addresses_of_a_coordinator_alone_ask_for_protocol_light() -> None:
    given = {"coordinator.addresses": "c:2183", "group.id": "billing", "subscribe": "orders"}
    assert refusal(given).endswith("Leave it out, or set 'protocol' to light")
