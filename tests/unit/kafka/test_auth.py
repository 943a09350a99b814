"""What a failure of TLS or of a login means; what brokers answer is in tests/broker."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

import kafka.errors
import pytest
from kafka.net.sasl import get_sasl_mechanism

from pyspark_zkgroup.kafka import auth
from pyspark_zkgroup.kafka.auth import LoginUnderWay, Refusal
from pyspark_zkgroup.kafka.receiving import Frame
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.sasl import AwsCredentials, Kerberos, Password, Sasl, TokenFunction
from pyspark_zkgroup.security.secret import Secret
from tests.harness.planted_secrets import PASSWORD, leaks_of

ALICE = Sasl("SCRAM-SHA-256", Password("alice", Secret(PASSWORD)))


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "x")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (
            tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
            "refuses our TLS connection (certificate required)",
        ),
        (
            tls_error("SSLV3_ALERT_CERTIFICATE_EXPIRED"),
            "refuses our TLS connection (certificate expired)",
        ),
        (tls_error("WRONG_VERSION_NUMBER"), "does not speak TLS on that port"),
        (tls_error("UNEXPECTED_EOF_WHILE_READING"), None),
        (ConnectionResetError(), None),
    ],
)
def test_what_lasts_of_tls(error: Exception, what: str | None) -> None:
    found = auth.tls_refusal(error)
    assert (None if found is None else found.what) == what


def test_an_alert_of_tls_is_not_taken_for_a_large_answer() -> None:
    frame = Frame(1 << 30)
    frame.missing[:] = b"\x15\x03\x03\x00"
    with pytest.raises(Refusal, match="speaks TLS on that port"):
        frame.received(4)
    later = Frame(1 << 30)
    for head in (b"\x00\x00\x00\x04", b"abcd"):
        later.missing[:] = head
        later.received(4)
    later.missing[:] = b"\x15\x03\x03\x00"
    assert later.received(4) is None, "a later answer may be as large as that"


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (
            kafka.errors.SaslAuthenticationFailedError("SaslAuthenticationFailedError: no user"),
            "does not accept the login of user 'alice' by SCRAM-SHA-256 (no user)",
        ),
        (
            kafka.errors.UnsupportedSaslMechanismError(),
            "does not take logins by SCRAM-SHA-256",
        ),
        (kafka.errors.IllegalSaslStateError(), "wants no login on that port"),
        (
            ValueError(f"Server sent {PASSWORD}"),
            "and this client do not agree in the login of user 'alice' by SCRAM-SHA-256 "
            "(ValueError)",
        ),
        (
            RuntimeError("GSSAPI lib not found!"),
            "cannot be logged in to by GSSAPI: Python's package gssapi is not installed here",
        ),
    ],
)
def test_what_lasts_of_a_login(error: Exception, what: str) -> None:
    refusal = auth.login_refusal(error, ALICE)
    assert isinstance(refusal, Refusal)
    assert refusal.what == what
    assert refusal.remedy
    assert leaks_of(str(refusal), refusal.remedy) == []


@pytest.mark.parametrize(
    ("environment", "what"),
    [
        ({}, "no AWS credentials were found"),
        (
            {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "hidden"},
            "no AWS region is set",
        ),
    ],
)
def test_what_a_login_by_aws_lacks(
    environment: dict[str, str], what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    mechanism = get_sasl_mechanism("AWS_MSK_IAM")(host="b-1.example", security_protocol="SASL_SSL")
    with pytest.raises((AttributeError, kafka.errors.KafkaConfigurationError)) as caught:
        mechanism.auth_bytes()
    refusal = auth.login_refusal(caught.value, Sasl("AWS_MSK_IAM", AwsCredentials()))
    assert isinstance(refusal, Refusal)
    assert refusal.what == f"cannot be logged in to by AWS_MSK_IAM: {what}"


@pytest.mark.parametrize(
    "error", [kafka.errors.KafkaTimeoutError("late"), kafka.errors.KafkaConnectionError("cut")]
)
def test_what_may_pass_stays_what_it_is(error: Exception) -> None:
    assert auth.login_refusal(error, ALICE) is error


def test_the_settings_of_connections() -> None:
    login = Password("a=b,c", Secret("p"))
    scram = auth.settings(KafkaSecurity("SASL_PLAINTEXT", None, Sasl("SCRAM-SHA-512", login)))
    assert scram == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "a=3Db=2Cc",
        "sasl_plain_password": "p",
    }
    plain = auth.settings(KafkaSecurity("SASL_PLAINTEXT", None, Sasl("PLAIN", login)))
    assert plain["sasl_plain_username"] == "a=b,c"
    tickets = Sasl("GSSAPI", Kerberos("kafka"))
    told = auth.settings(KafkaSecurity("SASL_PLAINTEXT", None, tickets))
    assert told["sasl_kerberos_service_name"] == "kafka"


def test_a_function_that_raises_tells_only_of_what_kind() -> None:
    for name, said in (("raising", "has raised RuntimeError"), ("empty", "has returned no text")):
        function = TokenFunction(__name__, name)
        told = auth.settings(KafkaSecurity("SASL_SSL", None, Sasl("OAUTHBEARER", function)))
        with pytest.raises(kafka.errors.SaslAuthenticationFailedError, match=said) as caught:
            told["sasl_oauth_token_provider"].token()
        assert leaks_of(f"{caught.value}") == []


def raising() -> str:
    raise RuntimeError(PASSWORD)


def empty() -> str:
    return ""


def test_requests_are_logged_again_when_the_login_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    auth.settings(KafkaSecurity("SASL_PLAINTEXT", None, ALICE))
    logger = logging.getLogger("kafka.protocol.parser")
    caplog.set_level(logging.DEBUG)
    with LoginUnderWay():
        logger.debug("Send: %r", PASSWORD)
        logger.warning("a warning")
    logger.debug("a request")
    assert caplog.messages == ["a warning", "a request"]
