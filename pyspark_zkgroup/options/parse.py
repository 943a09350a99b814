"""The options of the reader, from the texts Spark hands over to one frozen, checked `Options`.

In this order: names and values one by one, then what they mean together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import Isolation
from pyspark_zkgroup.options import (
    batch_options,
    batch_read_options,
    client_options,
    group_options,
    kafka_options,
    protocol_options,
    reading_options,
    security_options,
    topic_options,
)
from pyspark_zkgroup.options.batch_limits import limits, splitting
from pyspark_zkgroup.options.client import answer_times_ms, client_settings
from pyspark_zkgroup.options.ending import check_order, ending, ending_option
from pyspark_zkgroup.options.frozen import BatchRead, OffsetsStorage, Options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.kafka_security import kafka_security
from pyspark_zkgroup.options.light import light
from pyspark_zkgroup.options.protocol import (
    kafka_group,
    max_poll_interval_ms,
    protocol,
    rebalance_wait_ms,
)
from pyspark_zkgroup.options.starting import check_topics, starting, starting_option
from pyspark_zkgroup.options.subscription import assigned, subscription
from pyspark_zkgroup.options.use import Use, batch_start, check_use, ignored
from pyspark_zkgroup.options.zookeeper_security import zookeeper_security


def parse(options: Mapping[str, str], use: Use = "stream") -> Options:
    """OptionError unless every name is known, every value is legal and all of them agree."""
    given = Given(options)
    check_use(given, use)
    chosen = protocol(given)
    without_zookeeper = chosen in ("kafka", "light")
    connect = None if without_zookeeper else given.value(group_options.CONNECT)
    has_group = use == "stream" or group_options.GROUP_ID in given
    group_id = given.value(group_options.GROUP_ID) if has_group else ""
    start = starting(given)
    session_timeout_ms = given.value(group_options.SESSION_TIMEOUT)
    connection_timeout_ms = given.value(group_options.CONNECTION_TIMEOUT)
    storage = cast(OffsetsStorage, given.value(group_options.OFFSETS_STORAGE))
    dual_commit = given.value(group_options.DUAL_COMMIT)
    fetch_wait_ms, request_timeout_ms = answer_times_ms(given)
    found = Options(
        zookeeper_hosts=connect.hosts if connect else "",
        zookeeper_chroot=connect.chroot if connect else "",
        zookeeper_session_timeout_ms=session_timeout_ms,
        zookeeper_connection_timeout_ms=(
            session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        ),
        zookeeper_auth=given.value(group_options.AUTH),
        zookeeper_set_acl=given.value(group_options.SET_ACL),
        zookeeper_security=zookeeper_security(given),
        group_id=group_id,
        member_id=given.value(group_options.MEMBER_ID),
        checkpoint_location=given.value(group_options.CHECKPOINT),
        strategy=given.value(group_options.STRATEGY),
        order=given.value(group_options.ORDER),
        protocol=chosen,
        coordinator_candidate=given.value(protocol_options.CANDIDATE),
        kafka_group=kafka_group(given),
        light=light(given),
        offsets_storage=storage,
        dual_commit=storage == "kafka" if dual_commit is None else dual_commit,
        rebalance_wait_ms=rebalance_wait_ms(given, chosen),
        max_poll_interval_ms=max_poll_interval_ms(given, chosen),
        rebalance_callback=given.value(group_options.REBALANCE_CALLBACK),
        subscription=subscription(given),
        assigned=assigned(given),
        exclude_internal_topics=given.value(topic_options.EXCLUDE_INTERNAL),
        starting_offsets=batch_start(given, start) if use == "batch" else start,
        fail_on_data_loss=given.value(reading_options.FAIL_ON_DATA_LOSS),
        max_offsets_per_trigger=given.value(batch_options.MAX_OFFSETS),
        ends_by_itself=given.value(batch_options.ENDS_BY_ITSELF),
        limits=limits(given),
        splitting=splitting(given),
        batch=BatchRead(
            ending=ending(given),
            push_filters=given.value(batch_read_options.PUSH_FILTERS),
            ignored=ignored(given) if use == "batch" else (),
        ),
        bootstrap_servers=tuple(str(address) for address in given.value(kafka_options.BOOTSTRAP)),
        client_id=given.value(kafka_options.CLIENT_ID) or group_id or "zkgroup",
        metadata_refresh_ms=given.value(kafka_options.METADATA_REFRESH),
        fetch_bytes_max=given.value(kafka_options.FETCH_BYTES),
        fetch_response_bytes_max=given.value(kafka_options.FETCH_RESPONSE_BYTES),
        fetch_wait_max_ms=fetch_wait_ms,
        request_timeout_ms=request_timeout_ms,
        isolation_level=cast(Isolation, given.value(kafka_options.ISOLATION)),
        include_headers=given.value(kafka_options.INCLUDE_HEADERS),
        poll_timeout_ms=given.value(client_options.POLL_TIMEOUT),
        client=client_settings(given),
        security=kafka_security(given),
    )
    _check_together(found, given)
    return found


def _check_together(found: Options, given: Given) -> None:
    is_known = found.zookeeper_auth or found.zookeeper_security.names_us
    if found.rebalance_callback is not None and found.assigned:
        raise OptionError(
            f"Option {given.shown(group_options.REBALANCE_CALLBACK)}, but "
            f"{given.shown(topic_options.ASSIGN)}: assigned partitions never move",
            "Leave 'rebalance.callback' out",
        )
    if found.zookeeper_set_acl and not is_known:
        raise OptionError(
            f"Option {given.shown(group_options.SET_ACL)}, but 'zookeeper.auth' is not given",
            "Give 'zookeeper.auth' too, or 'zookeeper.sasl.jaas.config', or a client certificate: "
            "nodes can be kept for those alone who authenticate",
        )
    if found.dual_commit and found.offsets_storage == "zookeeper":
        raise OptionError(
            f"Option {given.shown(group_options.DUAL_COMMIT)}, but "
            f"{given.shown(group_options.OFFSETS_STORAGE)}, so there is no second place",
            "Set 'offsets.storage' to kafka to have offsets in both",
        )
    if found.security.needs_named_brokers and not found.bootstrap_servers:
        raise OptionError(
            f"Option {given.shown(security_options.PROTOCOL)}, but 'kafka.bootstrap.servers' is "
            "not given: the login would go to any host that somebody writes into ZooKeeper",
            "Name some brokers there; or use SASL_SSL with a trust store of your own "
            "(kafka.ssl.truststore.location) and the check of the host",
        )
    start, end, read = found.starting_offsets, found.batch.ending, found.subscription
    check_topics(starting_option(given), start.partitions, read, given)
    check_topics(ending_option(given), end.partitions, read, given)
    check_order(start, end, given)
