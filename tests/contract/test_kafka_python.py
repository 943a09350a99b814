"""The internals of kafka-python that kafka/ (connection.py, receiving.py, wire.py, group_wire.py)
and records/reference.py use.

None of it is a public interface. If a new version of kafka-python changes one of these, this test
fails with its name, before a fetch fails in a way that is hard to explain.
"""

from __future__ import annotations

import inspect
from typing import Any

import kafka.errors
import pytest
from kafka.cluster import ClusterMetadata
from kafka.net.connection import KafkaConnection
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.admin import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka.protocol.consumer import (
    FetchRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka.protocol.consumer.group import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.metadata import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.parser import KafkaProtocol
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatch

from pyspark_zkgroup.kafka import receiving
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import read_ranges
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.fakes.fetch_broker import NODE, FetchBroker
from tests.harness.record_batches import Record, batch


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (NetworkSelector.__init__, {"configs"}),
        (NetworkSelector.poll, {"timeout_ms"}),
        (NetworkSelector.sleep, {"delay"}),
        (NetworkSelector.wakeup, set()),
        (NetworkSelector.close, set()),
        (KafkaConnectionManager.__init__, {"net", "configs"}),
        (KafkaConnectionManager.get_connection, {"node_id", "timeout_ms"}),
        (KafkaConnectionManager.maybe_raise_auth_failure, {"node_id"}),
        (KafkaConnectionManager.connection_delay, {"node_id"}),
        (KafkaConnectionManager._connect, {"node", "conn", "timeout_at"}),
        (KafkaConnectionManager._build_transport, {"node", "timeout_at"}),
        (KafkaConnectionManager.wait_for, {"future", "timeout_ms"}),
        (KafkaConnectionManager.call_soon, {"coro", "args"}),
        (KafkaConnectionManager.close, {"node_id"}),
        (KafkaConnection.__init__, {"net", "node_id", "broker_version_data", "configs"}),
        (KafkaConnection.send_request, {"request", "request_timeout_ms"}),
        (KafkaConnection.connection_made, {"transport"}),
        (KafkaConnection.data_received, {"data"}),
        (KafkaConnection.close, {"error"}),
        (create_connection, {"net", "host", "port", "socket_options", "proxy_url", "timeout_at"}),
        (KafkaTCPTransport.__init__, {"net", "sock", "host"}),
        (KafkaSSLTransport.__init__, {"net", "sock", "host", "configs"}),
        (KafkaConnection._sasl_authenticate, {"timeout_at"}),
        (AbstractTokenProvider.token, set()),
        (AbstractTokenProvider.extensions, set()),
        (NetworkSelector.wait_read, {"fileobj", "timeout_at"}),
        (NetworkSelector.wait_write, {"fileobj", "timeout_at"}),
        (KafkaTCPTransport._read_from_sock, set()),
        (KafkaTCPTransport.write, {"data"}),
        (KafkaTCPTransport.abort, {"error"}),
        (KafkaProtocol.__init__, {"config"}),
        (KafkaProtocol.receive_bytes, {"data"}),
        (KafkaProtocol._process_response, {"read_buffer"}),
        (KafkaBytes.write, {"data"}),
        (KafkaBytes.seek, {"idx"}),
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
        "socket_options",
        "proxy_url",
        "security_protocol",
        "ssl_context",
        "sasl_mechanism",
        "sasl_plain_username",
        "sasl_plain_password",
        "sasl_kerberos_service_name",
        "sasl_oauth_token_provider",
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


def test_what_receiving_reads_and_writes_in_its_base_classes() -> None:
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, bootstrap_servers=["127.0.0.1:1"])
    assert (manager._net, manager._conns) == (net, {})
    assert manager.broker_version_data is None
    assert vars(KafkaConnection(net, node_id=1)).keys() >= {"parser", "config", "node_id"}
    transport = vars(KafkaTCPTransport(net, None))
    assert transport.keys() >= {"_net", "_sock", "_protocol", "_writing", "last_read"}
    assert (transport["_read"], transport["_closed"], transport["_writing"]) == (False,) * 3
    manager.close()
    net.close()


def test_a_request_on_its_way_is_known_by_its_header() -> None:
    parser = KafkaProtocol(client_id="c")
    request = FetchRequest(topics=[], forgotten_topics_data=[])
    request.API_VERSION = 11
    correlation_id = parser.send_request(request)
    (header,) = parser.in_flight_requests
    found = (header.request_api_key, header.request_api_version, header.correlation_id)
    assert found == (1, 11, correlation_id)


def test_answers_really_come_whole(fetch_broker: FetchBroker) -> None:
    """If connections are made in another way one day, this transport would no longer be used."""
    cluster = Cluster(FetchSettings((fetch_broker.bootstrap_servers,)))
    fetch_broker.create_topic("t", 1)
    tp = TopicPartition("t", 0)
    fetch_broker.append(tp, batch([Record(0)]))
    (raw,) = read_ranges(cluster, {tp: OffsetRange(0, 1)})
    connection = cluster._manager.get_connection(NODE, timeout_ms=1000)
    try:
        assert type(connection.transport).__module__ == receiving.__name__
        assert type(connection.parser).__module__ == receiving.__name__
        # The records are in the received bytes, with the rest of the answer around them.
        assert isinstance(raw.data.obj, bytes)
        assert len(raw.data.obj) > len(raw.data)
    finally:
        cluster.close()


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
        ("CoordinatorLoadInProgressError", True),
        ("CoordinatorNotAvailableError", True),
        ("NotCoordinatorError", True),
        ("GroupAuthorizationFailedError", False),
        ("IllegalGenerationError", False),
        ("UnknownMemberIdError", False),
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
        (FindCoordinatorRequest, {"key", "key_type"}),
        (FindCoordinatorResponse, {"error_code", "node_id"}),
        (
            OffsetCommitRequest,
            {
                "group_id",
                "generation_id_or_member_epoch",
                "member_id",
                "group_instance_id",
                "retention_time_ms",
                "topics",
            },
        ),
        (OffsetCommitRequest.OffsetCommitRequestTopic, {"name", "partitions"}),
        (
            OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition,
            {
                "partition_index",
                "committed_offset",
                "committed_leader_epoch",
                "committed_metadata",
            },
        ),
        (
            OffsetCommitResponse.OffsetCommitResponseTopic.OffsetCommitResponsePartition,
            {"partition_index", "error_code"},
        ),
        (OffsetFetchRequest, {"group_id", "topics", "require_stable"}),
        (OffsetFetchRequest.OffsetFetchRequestTopic, {"name", "partition_indexes"}),
        (OffsetFetchResponse, {"error_code", "topics"}),
        (
            OffsetFetchResponse.OffsetFetchResponseTopic.OffsetFetchResponsePartition,
            {"partition_index", "committed_offset", "metadata", "error_code"},
        ),
        (DescribeGroupsRequest, {"groups", "include_authorized_operations"}),
        (DescribeGroupsResponse.DescribedGroup, {"error_code", "error_message", "members"}),
        (
            DescribeGroupsResponse.DescribedGroup.DescribedGroupMember,
            {"member_id", "client_id", "client_host"},
        ),
        (ListGroupsRequest, {"states_filter", "types_filter"}),
        (ListGroupsResponse.ListedGroup, {"group_id"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_requests_and_answers_have_our_fields(struct: Any, fields: set[str]) -> None:
    assert fields <= set(struct.fields)
