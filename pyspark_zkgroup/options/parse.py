"""The options of the reader, from the texts Spark hands over to one frozen, checked `Options`.

In this order: names and values one by one, then what they mean together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import Isolation
from pyspark_zkgroup.options import group_options, kafka_options, reading_options, topic_options
from pyspark_zkgroup.options.frozen import Options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.starting import check_starting_topics
from pyspark_zkgroup.options.subscription import subscription

# The patience beyond a session's end: the JVM consumers' defaults come to the same 8 seconds.
_REBALANCE_WAIT_BEYOND_SESSION_MS = 2000


def parse(options: Mapping[str, str]) -> Options:
    """OptionError unless every name is known, every value is legal and all of them agree."""
    given = Given(options)
    connect = given.value(group_options.CONNECT)
    group_id = given.value(group_options.GROUP_ID)
    session_timeout_ms = given.value(group_options.SESSION_TIMEOUT)
    connection_timeout_ms = given.value(group_options.CONNECTION_TIMEOUT)
    rebalance_wait_ms = given.value(group_options.REBALANCE_WAIT)
    found = Options(
        zookeeper_hosts=connect.hosts,
        zookeeper_chroot=connect.chroot,
        zookeeper_session_timeout_ms=session_timeout_ms,
        zookeeper_connection_timeout_ms=(
            session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        ),
        zookeeper_auth=given.value(group_options.AUTH),
        zookeeper_set_acl=given.value(group_options.SET_ACL),
        group_id=group_id,
        member_id=given.value(group_options.MEMBER_ID),
        checkpoint_location=given.value(group_options.CHECKPOINT),
        strategy=given.value(group_options.STRATEGY),
        order=given.value(group_options.ORDER),
        rebalance_wait_ms=(
            session_timeout_ms + _REBALANCE_WAIT_BEYOND_SESSION_MS
            if rebalance_wait_ms is None
            else rebalance_wait_ms
        ),
        max_poll_interval_ms=given.value(group_options.MAX_POLL_INTERVAL),
        subscription=subscription(given),
        exclude_internal_topics=given.value(topic_options.EXCLUDE_INTERNAL),
        starting_offsets=given.value(reading_options.STARTING_OFFSETS),
        fail_on_data_loss=given.value(reading_options.FAIL_ON_DATA_LOSS),
        max_offsets_per_trigger=given.value(reading_options.MAX_OFFSETS),
        bootstrap_servers=tuple(str(address) for address in given.value(kafka_options.BOOTSTRAP)),
        client_id=given.value(kafka_options.CLIENT_ID) or group_id,
        metadata_refresh_ms=given.value(kafka_options.METADATA_REFRESH),
        fetch_bytes_max=given.value(kafka_options.FETCH_BYTES),
        fetch_response_bytes_max=given.value(kafka_options.FETCH_RESPONSE_BYTES),
        fetch_wait_max_ms=given.value(kafka_options.FETCH_WAIT),
        request_timeout_ms=given.value(kafka_options.REQUEST_TIMEOUT),
        isolation_level=cast(Isolation, given.value(kafka_options.ISOLATION)),
        include_headers=given.value(kafka_options.INCLUDE_HEADERS),
    )
    _check_together(found, given)
    return found


def _check_together(found: Options, given: Given) -> None:
    if found.zookeeper_set_acl and not found.zookeeper_auth:
        raise OptionError(
            f"Option {given.shown(group_options.SET_ACL)}, but 'zookeeper.auth' is not given",
            "Give 'zookeeper.auth' too: nodes can be kept for those alone who authenticate",
        )
    if found.fetch_wait_max_ms >= found.request_timeout_ms:
        raise OptionError(
            f"Option {given.shown(kafka_options.FETCH_WAIT)}, but "
            f"{given.shown(kafka_options.REQUEST_TIMEOUT)}",
            "A broker must answer before it is given up: make the first less than the second",
        )
    check_starting_topics(found, given)
