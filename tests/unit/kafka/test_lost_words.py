"""Why a broker gave no answer, in words: no class names, numbers or symbols of errors."""

from __future__ import annotations

import errno
import re

import kafka.errors
import pytest

from pyspark_zkgroup.kafka.lost_words import words

_CONNECTION = kafka.errors.KafkaConnectionError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (_CONNECTION("111 ECONNREFUSED"), "connection refused: nothing listens on this port"),
        (
            _CONNECTION(f"{errno.EHOSTUNREACH} EHOSTUNREACH"),
            "there is no route to this host",
        ),
        (
            _CONNECTION("unable to connect: [Errno 101] Network is unreachable"),
            "the network of this host cannot be reached",
        ),
        (_CONNECTION(OSError(errno.ECONNRESET, "x")), "the server closed the connection"),
        (_CONNECTION("socket disconnected"), "the server closed the connection"),
        (_CONNECTION("Connection timed out"), "the host does not answer"),
        (_CONNECTION("DNS Resolution failure"), "the host name cannot be resolved (DNS)"),
        (_CONNECTION("Handshake failed: no"), "Handshake failed: no"),
        (_CONNECTION(), "the connection closed"),
        (kafka.errors.KafkaTimeoutError("Timeout during ApiVersions check"), "no answer in time"),
        (kafka.errors.KafkaTimeoutError(), "no answer in time"),
        (kafka.errors.RequestTimedOutError("Request timed out after 9 ms"), "no answer in time"),
        (
            kafka.errors.IncompatibleBrokerVersion("too old"),
            "IncompatibleBrokerVersion: too old",
        ),
        (
            kafka.errors.InvalidReceiveError("Invalid frame length: 9"),
            "its answer is larger than the 77 bytes that are taken; "
            "a larger fetch.message.max.bytes raises that",
        ),
    ],
)
def test_a_failure_is_described(error: BaseException, said: str) -> None:
    assert words(error, answer_bytes_max=77) == said


@pytest.mark.parametrize("number", sorted(errno.errorcode))
@pytest.mark.parametrize(
    "form", ["{0} {1}", "[Errno {0}] whatever", "unable to connect: [Errno {0}] whatever"]
)
def test_no_number_or_symbol_of_an_error_is_shown(number: int, form: str) -> None:
    said = words(_CONNECTION(form.format(number, errno.errorcode[number])), answer_bytes_max=77)
    assert said == words(_CONNECTION(OSError(number, "whatever")), answer_bytes_max=77)
    assert not re.search(rf"\b{number}\b|\bE[A-Z]{{3,}}|Errno|Error", said), said
    assert said


def test_an_unknown_number_is_kept() -> None:
    said = words(_CONNECTION("99999 UNKNOWN"), answer_bytes_max=77)
    assert said == "the connection failed (error 99999)"
