"""What a failed handshake says, whichever OpenSSL says it."""

from __future__ import annotations

import ssl

import pytest

from pyspark_zkgroup.security.tls_failure import Kind, failure_of


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (None, "ended"),
        ("", "ended"),
        ("UNEXPECTED_EOF_WHILE_READING", "ended"),
        ("TLSV1_ALERT_INTERNAL_ERROR", "ended"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "refused"),
        ("WRONG_VERSION_NUMBER", "no TLS"),
        ("UNSUPPORTED_PROTOCOL", "other"),
    ],
)
def test_a_failed_handshake_is_classified(reason: str | None, kind: Kind) -> None:
    error = ssl.SSLError(1, "as OpenSSL has it")
    error.reason = reason  # type: ignore[assignment]
    failure = failure_of(error)
    assert failure is not None
    assert failure.kind == kind


def test_other_errors_are_none_of_tls() -> None:
    assert failure_of(ConnectionResetError()) is None
    assert failure_of(None) is None
