"""What a query makes of a checkpoint that another source, group or protocol wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.plan import Plan, encode
from pyspark_zkgroup.planning.checkpoint import checkpoint_plan, is_of_kafka_source
from tests.harness.given_options import LEAST

OF_KAFKA = {"orders": {"0": 1200, "1": 980}}
OURS = encode(Plan("zookeeper", "billing", "a-1"))
BROKERS = {"kafka.bootstrap.servers": "k1:9092,k2:9092"}
PLACE = '{"orders":{"0":1200,"1":980}}'
WHAT = (
    '[ZKG-006] The checkpoint was written by Spark\'s Kafka source, format("kafka"), and zkgroup '
    "cannot continue from it. "
)


def refusal(options: dict[str, str], offset: Any, finished: dict[str, Any] | None = None) -> str:
    parsed = parse(options)
    with pytest.raises(PlanError) as caught:
        checkpoint_plan(offset, finished or offset, parsed, parsed.protocol.name)
    return f"{caught.value}"


@pytest.mark.parametrize(
    ("given", "more"), [({}, ""), (BROKERS, " --bootstrap-servers k1:9092,k2:9092")]
)
def test_a_checkpoint_of_the_kafka_source_is_refused_with_the_import(
    given: dict[str, str], more: str
) -> None:
    options = {**LEAST, **given, "zookeeper.connect": "zk1:2181/kafka"}
    assert refusal(options, OF_KAFKA) == (
        f"{WHAT}Import its offsets into the group, then start the query with a new "
        f"checkpointLocation: echo '{PLACE}' | zkgroup offsets import billing - "
        f"--zookeeper zk1:2181/kafka{more} --execute"
    )


def test_only_finished_batches_of_the_kafka_source_are_imported() -> None:
    unfinished = {"orders": {"0": 1300, "1": 990}}
    assert PLACE in refusal(LEAST, unfinished, OF_KAFKA)
    assert refusal(LEAST, unfinished, OURS) == (
        f"{WHAT}Start the query with a new checkpointLocation: the old one has no finished batch"
    )


def test_without_zookeeper_the_import_names_the_brokers() -> None:
    options = {**BROKERS, "group.id": "billing", "subscribe": "orders"}
    assert refusal(options, OF_KAFKA).endswith(
        f"echo '{PLACE}' | zkgroup offsets import billing - "
        "--bootstrap-servers k1:9092,k2:9092 --execute"
    )


def test_a_light_member_imports_into_the_zookeeper_of_its_coordinator() -> None:
    options = {**BROKERS, "group.id": "billing", "subscribe": "orders", "protocol": "light"}
    text = refusal({**options, "coordinator.addresses": "c:2183"}, OF_KAFKA)
    assert "import billing - --zookeeper ZOOKEEPER_OF_THE_COORDINATOR " in text


def test_a_checkpoint_of_another_protocol_is_refused() -> None:
    assert "with protocol 'kafka'" in refusal(LEAST, encode(Plan("kafka", "billing", "a-1")))


@pytest.mark.parametrize("offset", [{}, OURS, {"orders": 5}, {"orders": {"x": 5}}, {"version": 1}])
def test_other_offsets_are_not_taken_for_the_kafka_source(offset: dict[str, Any]) -> None:
    assert not is_of_kafka_source(offset)


@pytest.mark.parametrize("offset", [0, -1, None, "10", [4], {}, {"logOffset": 0}, {"orders": 5}])
def test_a_checkpoint_of_any_other_source_is_refused_as_such(offset: Any) -> None:
    """Those of rate, sockets and files among them."""
    told = refusal(LEAST, offset)
    assert "[ZKG-006] The checkpoint was written by a query with another source" in told
    assert json.dumps(offset) in told
    assert "new checkpointLocation" in told


def test_a_plan_of_this_query_is_read() -> None:
    parsed = parse(LEAST)
    assert checkpoint_plan(OURS, OURS, parsed, "zookeeper").member == "a-1"
