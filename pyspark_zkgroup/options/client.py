"""The settings of connections, from the options that make them up."""

from __future__ import annotations

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.client_settings import ClientSettings
from pyspark_zkgroup.options import client_options as names
from pyspark_zkgroup.options import kafka_options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option


def client_settings(given: Given) -> ClientSettings:
    retry = _growing(given, names.RETRY_BACKOFF, names.RETRY_BACKOFF_MAX)
    reconnect = _growing(given, names.RECONNECT_BACKOFF, names.RECONNECT_BACKOFF_MAX)
    return ClientSettings(
        rack=given.value(names.RACK) or "",
        dns_lookup=given.value(names.DNS_LOOKUP),
        idle_max_ms=given.value(names.IDLE_MAX),
        reconnect_backoff_ms=reconnect[0],
        reconnect_backoff_max_ms=reconnect[1],
        retry_backoff_ms=retry[0],
        retry_backoff_max_ms=retry[1],
        connect_timeout_ms=given.value(names.CONNECT_TIMEOUT),
        send_buffer_bytes=_size(given.value(names.SEND_BUFFER)),
        receive_buffer_bytes=_size(given.value(names.RECEIVE_BUFFER)),
        look_up_retries=given.value(names.LOOK_UP_RETRIES),
        look_up_pause_ms=given.value(names.LOOK_UP_PAUSE),
    )


def answer_times_ms(given: Given) -> tuple[int, int]:
    """How long a broker may hold back an answer, and how long that is waited for. The one that is
    given alone counts, and the default of the other gives way to it.
    """
    wait_ms = given.value(kafka_options.FETCH_WAIT)
    timeout_ms = given.value(kafka_options.REQUEST_TIMEOUT)
    if wait_ms < timeout_ms:
        return wait_ms, timeout_ms
    if kafka_options.FETCH_WAIT not in given:
        return timeout_ms // 2, timeout_ms
    if kafka_options.REQUEST_TIMEOUT not in given:
        return wait_ms, wait_ms + timeout_ms
    raise OptionError(
        f"Option {given.shown(kafka_options.FETCH_WAIT)}, but "
        f"{given.shown(kafka_options.REQUEST_TIMEOUT)}",
        "A broker must answer before it is given up: make the first less than the second",
    )


def _growing(given: Given, first: Option[int], most: Option[int]) -> tuple[int, int]:
    """The one that is given alone counts, and the default of the other gives way to it."""
    first_ms, most_ms = given.value(first), given.value(most)
    if first_ms <= most_ms:
        return first_ms, most_ms
    if first in given and most in given:
        raise OptionError(
            f"Option {given.shown(first)}, but {given.shown(most)}",
            "The first pause is the shortest: make it no longer than the longest",
        )
    alone_ms = first_ms if first in given else most_ms
    return alone_ms, alone_ms


def _size(given: int) -> int | None:
    return given if given > 0 else None
