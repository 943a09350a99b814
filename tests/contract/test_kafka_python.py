"""What kafka/connection.py, kafka/wire.py and records/reference.py use of kafka-python's inside.

None of it is a promised interface. When a new version of kafka-python changes one of these, this
fails with its name, before a fetch fails in a way that has to be explained.
"""

from __future__ import annotations

import inspect
from typing import Any

import kafka.errors
import pytest
from kafka.cluster import ClusterMetadata
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatch


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (NetworkSelector.__init__, {"configs"}),
        (NetworkSelector.poll, {"timeout_ms"}),
        (NetworkSelector.sleep, {"delay"}),
        (NetworkSelector.wakeup, set()),
        (NetworkSelector.close, set()),
        (KafkaConnectionManager.__init__, {"net", "configs"}),
        (
            KafkaConnectionManager.get_connection,
            {"node_id", "timeout_ms", "refresh_metadata_on_err"},
        ),
        (KafkaConnectionManager.wait_for, {"future", "timeout_ms"}),
        (KafkaConnectionManager.call_soon, {"coro", "args"}),
        (KafkaConnectionManager.close, {"node_id"}),
        (KafkaConnection.send_request, {"request", "request_timeout_ms"}),
        (ClusterMetadata.update_metadata, {"metadata"}),
        (ClusterMetadata.brokers, set()),
        (ClusterMetadata.bootstrap_brokers, set()),
        (ClusterMetadata.broker_metadata, {"broker_id"}),
        (kafka.errors.for_code, {"error_code"}),
        (DefaultRecordBatch.__init__, {"buffer"}),
        (LegacyRecordBatch.__init__, {"buffer", "magic"}),
        (LegacyRecordBatch.validate_crc, set()),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_functions_take_what_we_give_them(function: Any, parameters: set[str]) -> None:
    assert parameters <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap_servers",
        "client_id",
        "request_timeout_ms",
        "receive_message_max_bytes",
        "reconnect_backoff_max_ms",
        "socket_connection_setup_timeout_ms",
        "api_version",
    ],
)
def test_the_manager_knows_our_settings(name: str) -> None:
    assert name in KafkaConnectionManager.DEFAULT_CONFIG


def test_the_manager_says_whether_it_is_closed() -> None:
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, bootstrap_servers=["127.0.0.1:1"])
    before = manager.closed
    manager.close()
    assert (before, manager.closed) == (False, True)
    net.close()


def test_the_selector_knows_our_settings() -> None:
    assert {"client_id", "slow_task_threshold_secs"} <= set(NetworkSelector.DEFAULT_CONFIG)


@pytest.mark.parametrize(
    ("name", "retryable"),
    [
        ("IncompatibleBrokerVersion", False),
        ("InvalidReceiveError", None),
        ("KafkaTimeoutError", None),
        ("NodeNotReadyError", None),
        ("NotLeaderForPartitionError", True),
        ("OffsetOutOfRangeError", False),
        ("RequestTimedOutError", None),
        ("SaslAuthenticationFailedError", False),
        ("UnknownTopicOrPartitionError", True),
        ("UnsupportedSaslMechanismError", False),
    ],
)
def test_errors(name: str, retryable: bool | None) -> None:
    kind = getattr(kafka.errors, name)
    assert issubclass(kind, kafka.errors.KafkaError)
    if retryable is not None:
        assert issubclass(kind, kafka.errors.RetriableError) == retryable


def test_errors_of_the_protocol_have_their_codes() -> None:
    assert kafka.errors.for_code(1) is kafka.errors.OffsetOutOfRangeError
    assert kafka.errors.for_code(3) is kafka.errors.UnknownTopicOrPartitionError
    assert kafka.errors.for_code(6) is kafka.errors.NotLeaderForPartitionError


@pytest.mark.parametrize(
    ("struct", "fields"),
    [
        (
            MetadataRequest,
            {
                "topics",
                "allow_auto_topic_creation",
                "include_cluster_authorized_operations",
                "include_topic_authorized_operations",
            },
        ),
        (MetadataRequest.MetadataRequestTopic, {"name"}),
        (MetadataResponse, {"brokers", "cluster_id", "topics"}),
        (MetadataResponse.MetadataResponseBroker, {"node_id", "host", "port"}),
        (
            MetadataResponse.MetadataResponseTopic,
            {"error_code", "name", "is_internal", "partitions"},
        ),
        (
            MetadataResponse.MetadataResponseTopic.MetadataResponsePartition,
            {"partition_index", "leader_id"},
        ),
        (ListOffsetsRequest, {"replica_id", "isolation_level", "topics"}),
        (ListOffsetsRequest.ListOffsetsTopic, {"name", "partitions"}),
        (
            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition,
            {"partition_index", "current_leader_epoch", "timestamp"},
        ),
        (ListOffsetsResponse, {"topics"}),
        (
            ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse,
            {"partition_index", "error_code", "offset"},
        ),
        (
            FetchRequest,
            {
                "replica_id",
                "max_wait_ms",
                "min_bytes",
                "max_bytes",
                "isolation_level",
                "session_id",
                "session_epoch",
                "topics",
                "forgotten_topics_data",
                "rack_id",
            },
        ),
        (FetchRequest.FetchTopic, {"topic", "partitions"}),
        (
            FetchRequest.FetchTopic.FetchPartition,
            {
                "partition",
                "current_leader_epoch",
                "fetch_offset",
                "last_fetched_epoch",
                "log_start_offset",
                "partition_max_bytes",
            },
        ),
        (FetchResponse, {"error_code", "responses"}),
        (FetchResponse.FetchableTopicResponse, {"topic", "partitions"}),
        (
            FetchResponse.FetchableTopicResponse.PartitionData,
            {"partition_index", "error_code", "high_watermark", "records"},
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_requests_and_answers_have_our_fields(struct: Any, fields: set[str]) -> None:
    assert fields <= set(struct.fields)
