"""What lasts of the failures of TLS, and what may pass."""

from __future__ import annotations

import ssl

import pytest

from pyspark_zkgroup.zk import refusal


def failed(reason: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, "as OpenSSL has it")
    error.reason = reason  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "(certificate required)"),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "(bad certificate)"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "(protocol version)"),
        ("WRONG_VERSION_NUMBER", "does not speak TLS on that port"),
    ],
)
def test_a_server_that_says_no_is_not_asked_again(reason: str, what: str) -> None:
    found = refusal.of_tls(failed(reason))
    assert found is not None
    assert what in found.what
    assert "zookeeper." in found.remedy


@pytest.mark.parametrize("reason", ["TLSV1_ALERT_INTERNAL_ERROR", "UNEXPECTED_EOF", None])
def test_a_server_that_ends_meanwhile_is(reason: str | None) -> None:
    assert refusal.of_tls(failed(reason)) is None
    assert refusal.of_tls(ConnectionResetError()) is None
    assert refusal.of_tls(None) is None
