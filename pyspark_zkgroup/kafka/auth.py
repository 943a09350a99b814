"""Connections with TLS and SASL: the settings of the connection manager, and what a failure means.

What lasts (a certificate, a password, a mechanism) becomes a `Refusal`, which ends all waiting;
whatever may pass stays an error of the connection.
"""

from __future__ import annotations

import logging
from typing import Any

import kafka.errors

from pyspark_zkgroup.kafka import tokens
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.sasl import AwsCredentials, Kerberos, Password, Sasl
from pyspark_zkgroup.security.tls import context
from pyspark_zkgroup.security.tls_failure import failure_of

TLS_ALERT = b"\x15\x03"
"""How a TLS record begins that says no. Read as the length of an answer it is 352 MB and more."""

_SCRAM_ESCAPES = str.maketrans({"=": "=3D", ",": "=2C"})
_LOGGERS = ("kafka.protocol.parser", "kafka.net.connection", "kafka.net.transport")


class Refusal(kafka.errors.KafkaError):  # type: ignore[misc]
    """No other attempt will succeed. `what` follows an address; `remedy` is a sentence."""

    retriable = False

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def settings(security: KafkaSecurity) -> dict[str, Any]:
    """For the connection manager, by its names."""
    found: dict[str, Any] = {"security_protocol": security.protocol}
    if security.tls is not None:
        found["ssl_context"] = context(security.tls)
    if security.sasl is not None:
        _quiet()
        found["sasl_mechanism"] = security.sasl.mechanism
        found |= _login(security.sasl)
    return found


def _login(sasl: Sasl) -> dict[str, Any]:
    login = sasl.login
    if isinstance(login, Password):
        escapes = {} if sasl.mechanism == "PLAIN" else _SCRAM_ESCAPES
        return {
            "sasl_plain_username": login.username.translate(escapes),
            "sasl_plain_password": login.password.text,
        }
    if isinstance(login, Kerberos):
        return {"sasl_kerberos_service_name": login.service}
    if isinstance(login, AwsCredentials):
        return {}
    return {"sasl_oauth_token_provider": tokens.provider(login)}


_OF_TLS = {
    "expired": "Renew the broker's certificate, or set the clock of this machine",
    "other host": "Reach the broker (kafka.bootstrap.servers, advertised.listeners) by a name that "
    "its certificate is for; an empty kafka.ssl.endpoint.identification.algorithm turns the check "
    "off",
    "untrusted": "Give the certificate of the authority that has signed it in "
    "kafka.ssl.truststore.location or kafka.ssl.truststore.certificates",
    "refused": "It may want a certificate of this client, or another one: see "
    "kafka.ssl.keystore.location and kafka.ssl.keystore.certificate.chain; or another version: see "
    "kafka.ssl.enabled.protocols",
    "no TLS": "Name the port of a TLS listener, or set kafka.security.protocol to what this one "
    "speaks",
}
"""The remedies for what lasts of the failures of TLS."""


def tls_refusal(error: BaseException) -> Refusal | None:
    failure = failure_of(error)
    if failure is None or failure.kind not in _OF_TLS:
        return None
    return Refusal(failure.what, _OF_TLS[failure.kind])


def speaks_tls(head: bytes) -> Refusal | None:
    """Where the first bytes of an answer show that the broker waits for TLS."""
    if not head.startswith(TLS_ALERT):
        return None
    return Refusal(
        "speaks TLS on that port",
        "Set kafka.security.protocol to SSL or SASL_SSL, or name the port of a listener without "
        "TLS",
    )


def login_refusal(error: Exception, sasl: Sasl) -> Exception:
    """What to raise for a login that failed."""
    if isinstance(error, kafka.errors.UnsupportedSaslMechanismError):
        return Refusal(
            f"does not take logins by {sasl.mechanism}",
            "Set kafka.sasl.mechanism to one that the listener has enabled",
        )
    if isinstance(error, kafka.errors.IllegalSaslStateError):
        return Refusal(
            "wants no login on that port",
            "Name the port of a listener with SASL, or set kafka.security.protocol to SSL or "
            "PLAINTEXT",
        )
    if isinstance(error, kafka.errors.SaslAuthenticationFailedError):
        said = str(error).rpartition("Error: ")[2] or "no reason is given"
        return Refusal(
            f"does not accept the login of {sasl.who} by {sasl.mechanism} ({said})",
            _look_at(sasl),
        )
    if isinstance(sasl.login, AwsCredentials) and (missing := _lacks_of_aws(error)):
        return Refusal(f"cannot be logged in to by {sasl.mechanism}: {missing[0]}", missing[1])
    if isinstance(error, kafka.errors.KafkaError):
        passing: Exception = error
        return passing
    if isinstance(error, RuntimeError) and "GSSAPI" in str(error):
        return Refusal(
            "cannot be logged in to by GSSAPI: Python's package gssapi is not installed here",
            "Install it on driver and executors, or set kafka.sasl.mechanism to another one",
        )
    # The mechanisms raise whatever they like when the broker's side of the exchange is wrong; what
    # they say may hold parts of it.
    return Refusal(
        f"and this client do not agree in the login of {sasl.who} by {sasl.mechanism} "
        f"({type(error).__name__})",
        f"{_look_at(sasl)}. If they are right, another server may be posing as the broker",
    )


def _lacks_of_aws(error: Exception) -> tuple[str, str] | None:
    """What is missing and the remedy, by what kafka-python's mechanism raises."""
    if isinstance(error, kafka.errors.KafkaConfigurationError) and "region" in str(error):
        return "no AWS region is set", "Set AWS_DEFAULT_REGION on driver and executors"
    if isinstance(error, RuntimeError) and "botocore" in str(error):
        return (
            "Python's package botocore is not installed here",
            "Install pyspark-zkgroup[aws] on driver and executors",
        )
    if isinstance(error, AttributeError):  # of the credentials, which are None
        return (
            "no AWS credentials were found",
            "Give driver and executors a role, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY",
        )
    return None


def _look_at(sasl: Sasl) -> str:
    if isinstance(sasl.login, AwsCredentials):
        return (
            "Check that the policy of these credentials allows kafka-cluster:Connect to the "
            "cluster, and that the clock of this machine is right"
        )
    if isinstance(sasl.login, Password):
        return (
            "Check username and password in kafka.sasl.jaas.config, and that the brokers know this "
            f"user for {sasl.mechanism}"
        )
    if sasl.mechanism == "OAUTHBEARER":
        return "Check where its token comes from, and whether it is for these brokers and not over"
    return "Check the tickets of this machine (klist) and kafka.sasl.kerberos.service.name"


class _Hushed(logging.Filter):
    """At the level DEBUG kafka-python logs each request, and so those that log in."""

    def __init__(self) -> None:
        super().__init__()
        self.logins = 0

    def filter(self, record: logging.LogRecord) -> bool:
        return self.logins == 0 or record.levelno > logging.DEBUG


_hushed = _Hushed()


def _quiet() -> None:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_hushed)  # which adds it once


class LoginUnderWay:
    """While it is open nothing is logged in detail: a login's requests would be among it."""

    def __enter__(self) -> None:
        _hushed.logins += 1

    def __exit__(self, *_: object) -> None:
        _hushed.logins -= 1
