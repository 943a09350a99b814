"""The settings of connections, from the options that make them up."""

from __future__ import annotations

from pyspark_zkgroup.client_settings import ClientSettings
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import client_options as names
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


def _growing(given: Given, first: Option[int], most: Option[int]) -> tuple[int, int]:
    """Someone who gives the first pause alone means no growth beyond it where it is the longer."""
    first_ms, most_ms = given.value(first), given.value(most)
    if first_ms > most_ms:
        if most in given:
            raise OptionError(
                f"Option {given.shown(first)}, but {given.shown(most)}",
                "The first pause is the shortest: make it no longer than the longest",
            )
        most_ms = first_ms
    return first_ms, most_ms


def _size(given: int) -> int | None:
    return given if given > 0 else None
