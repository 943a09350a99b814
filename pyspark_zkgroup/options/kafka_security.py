"""TLS and SASL to the brokers, under the names that Kafka's own clients have for them."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import rules, tls
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.options.tls import NO_EFFECT, PemFile, TlsOptions
from pyspark_zkgroup.security import pem
from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.kafka_security import PROTOCOLS, KafkaSecurity
from pyspark_zkgroup.security.login import MODULE_OF, login_of
from pyspark_zkgroup.security.sasl import MECHANISMS, Sasl, TokenFunction
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.tls import Tls

_FUNCTION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


def _function(text: str) -> TokenFunction:
    found = _FUNCTION.fullmatch(text)
    if found is None:
        raise ValueError("does not name a module, a colon and a function")
    return TokenFunction(found[1], found[2])


PEM_CERTIFICATES = Rule(
    "certificates as PEM (-----BEGIN CERTIFICATE----- and so on)", pem.certificates
)
PRIVATE_KEY: Rule[Secret] = Rule(
    "one private key as PEM (-----BEGIN PRIVATE KEY----- and so on)",
    lambda text: Secret(pem.private_key(text)),
)
URL = rules.matching(
    r"https?://[^\s/]+\S*|file:(//)?/\S+",
    "an address such as https://idp.example/token or file:///run/token",
    "is neither an http(s) nor a file address",
)
FUNCTION: Rule[TokenFunction] = Rule("module:function, such as our_tokens:current", _function)

LISTENER: Final = Section(__name__, "TLS and SASL to the brokers")
LOGIN: Final = Section(__name__, "TLS and SASL to the brokers")
CERTIFICATES: Final = Section(__name__, "TLS and SASL to the brokers")

PROTOCOL = LISTENER.option("kafka.security.protocol", rules.one_of(*PROTOCOLS), "PLAINTEXT")
"""Connect to the brokers with TLS (SSL, SASL_SSL) or without, and with a login (SASL_...) or
without. Also selects the listener that brokers register in ZooKeeper.
"""
MECHANISM = LOGIN.option("kafka.sasl.mechanism", rules.one_of(*MECHANISMS), "GSSAPI")
"""The login mechanism. GSSAPI (Kerberos) needs the package gssapi on driver and executors,
AWS_MSK_IAM the package botocore.
"""
JAAS = LOGIN.optional("kafka.sasl.jaas.config", tls.LOGIN_MODULE, secret=True)
"""Credentials of the login, as a line of JAAS: PlainLoginModule and ScramLoginModule with username
and password, OAuthBearerLoginModule, IAMLoginModule, or Krb5LoginModule with useTicketCache. See
[Security](docs/security.md#logins). Never shown in messages; `${env:NAME}` or
`${directory:/path:file}` keeps a password out of Spark's plans.
"""
KERBEROS_SERVICE = LOGIN.optional("kafka.sasl.kerberos.service.name", tls.SERVICE)
"""The name of the brokers' service in Kerberos, usually kafka."""
TOKEN_ENDPOINT = LOGIN.optional("kafka.sasl.oauthbearer.token.endpoint.url", URL)
"""Source of tokens for OAUTHBEARER: an OAuth server, which gets clientId and clientSecret of
kafka.sasl.jaas.config, or a file with a token, which is read for each login, on driver and
executors.
"""
TOKEN_OVER_HTTP = LOGIN.option(
    "kafka.sasl.oauthbearer.token.endpoint.allow.http", rules.FLAG, False
)
"""Allow an OAuth server at an http: address of another machine. The client secret and the tokens
are then sent unencrypted.
"""
TOKEN_FUNCTION = LOGIN.optional("oauth.token.function", FUNCTION)
"""A function that returns a token for OAUTHBEARER. It is called without arguments for each login,
on driver and executors, where its module must be installed.
"""
TRUST_TYPE = CERTIFICATES.option("kafka.ssl.truststore.type", tls.STORE, "JKS")
"""The type of kafka.ssl.truststore.location. Only PEM is supported:
[Security](docs/security.md) shows how to convert other types.
"""
TRUST_LOCATION = CERTIFICATES.optional(
    "kafka.ssl.truststore.location",
    tls.PATH,
    default_text="the system's trusted certificates",
)
"""File with the trusted certificates. It is read once, on the driver; executors get the content."""
TRUST_CERTIFICATES = CERTIFICATES.optional("kafka.ssl.truststore.certificates", PEM_CERTIFICATES)
"""The trusted certificates, in place of a file."""
KEY_TYPE = CERTIFICATES.option("kafka.ssl.keystore.type", tls.STORE, "JKS")
"""The type of kafka.ssl.keystore.location. Only PEM is supported."""
KEY_LOCATION = CERTIFICATES.optional("kafka.ssl.keystore.location", tls.PATH)
"""File with this client's private key and its certificates, its own first. It is read once, on the
driver; executors get the content.
"""
KEY_CHAIN = CERTIFICATES.optional("kafka.ssl.keystore.certificate.chain", PEM_CERTIFICATES)
"""This client's certificates, its own first, in place of a file."""
KEY = CERTIFICATES.optional("kafka.ssl.keystore.key", PRIVATE_KEY, secret=True)
"""This client's private key, in place of a file. Never shown in messages."""
KEY_PASSWORD = CERTIFICATES.optional("kafka.ssl.key.password", tls.PASSWORD, secret=True)
"""The password of an encrypted private key (-----BEGIN ENCRYPTED PRIVATE KEY-----). Never shown in
messages.
"""
HOST_CHECK = CERTIFICATES.option(
    "kafka.ssl.endpoint.identification.algorithm", tls.ENDPOINT_CHECK, True, default_text="https"
)
"""https: a broker's certificate must be for the host of the connection. Empty: any trusted
certificate is accepted, so its owner can impersonate a broker.
"""
TLS_VERSIONS = CERTIFICATES.option(
    "kafka.ssl.enabled.protocols",
    tls.VERSIONS_OF_TLS,
    ("TLSv1.2", "TLSv1.3"),
    default_text="TLSv1.2,TLSv1.3",
)
"""The TLS versions that may be used."""

OPTIONS: Final = (*LISTENER, *LOGIN, *CERTIFICATES)

_TLS: Final = TlsOptions(
    PemFile(TRUST_LOCATION, TRUST_TYPE, is_trust=True),
    PemFile(KEY_LOCATION, KEY_TYPE, is_trust=False),
    KEY_PASSWORD,
    HOST_CHECK,
    TLS_VERSIONS,
)


def kafka_security(given: Given) -> KafkaSecurity:
    protocol = given.value(PROTOCOL)
    for options, part, wanted in (
        (LOGIN, "SASL", "SASL_PLAINTEXT or SASL_SSL"),
        (CERTIFICATES, "SSL", "SSL or SASL_SSL"),
    ):
        given.refuse(
            options if part not in protocol else (),
            f"{given.shown(PROTOCOL)}, {NO_EFFECT}",
            f"Set {PROTOCOL.name!r} to {wanted}, or leave the other out",
        )
    return KafkaSecurity(
        protocol,
        _tls(given) if "SSL" in protocol else None,
        _sasl(given) if "SASL" in protocol else None,
    )


def _sasl(given: Given) -> Sasl:
    mechanism, shown = given.value(MECHANISM), given.shown(MECHANISM)
    function, module = given.value(TOKEN_FUNCTION), given.value(JAAS)
    if mechanism != "OAUTHBEARER":
        bearer_only = (TOKEN_ENDPOINT, TOKEN_OVER_HTTP, TOKEN_FUNCTION)
        given.refuse(bearer_only, shown, "It is for OAUTHBEARER: leave it out")
    if mechanism == "AWS_MSK_IAM":
        if given.value(PROTOCOL) != "SASL_SSL":
            raise given.clash(MECHANISM, PROTOCOL, "Set the latter to SASL_SSL")
        module = module or LoginModule(MODULE_OF[mechanism], {})
    if mechanism != "GSSAPI":
        given.refuse([KERBEROS_SERVICE], shown, "It is for GSSAPI: leave it out")
    if function is not None:
        if TOKEN_ENDPOINT in given:
            raise given.clash(TOKEN_FUNCTION, TOKEN_ENDPOINT, "Tokens come from one: give one")
        # The line of JAAS then says no more than which mechanism it is.
        if module is not None and (module.name != MODULE_OF[mechanism] or module.options):
            raise given.clash(TOKEN_FUNCTION, JAAS, "Leave the latter out")
        return Sasl(mechanism, function)
    _refuse_open_endpoint(given)
    if module is None and (given.value(TOKEN_ENDPOINT) or "").startswith("file:"):
        module = LoginModule(MODULE_OF[mechanism], {})
    if module is None:
        raise OptionError.of(
            "jaas_missing",
            option=JAAS.name,
            protocol=given.shown(PROTOCOL),
            mechanism=shown,
            module=MODULE_OF[mechanism],
        )
    endpoint, service = given.value(TOKEN_ENDPOINT), given.value(KERBEROS_SERVICE)
    try:
        return Sasl(mechanism, login_of(mechanism, module, endpoint=endpoint, service=service))
    except ValueError as error:
        remedy = f"See docs/security.md for what {mechanism} needs"
        raise given.error(JAAS, f", which {error}", remedy) from None


def _refuse_open_endpoint(given: Given) -> None:
    url = urlsplit(given.value(TOKEN_ENDPOINT) or "")
    if url.scheme != "http" or given.value(TOKEN_OVER_HTTP):
        return
    if url.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise given.error(
            TOKEN_ENDPOINT,
            ": the client secret and the tokens would travel unencrypted",
            f"Use an https: address, or set {TOKEN_OVER_HTTP.name!r} to true",
        )


def _tls(given: Given) -> Tls:
    twice: tuple[tuple[Option[Any], Option[Any]], ...] = (
        (TRUST_LOCATION, TRUST_CERTIFICATES),
        (KEY_LOCATION, KEY_CHAIN),
        (KEY_LOCATION, KEY),
    )
    for location, inline in twice:
        if location in given and inline in given:
            raise given.clash(location, inline, "Give one of them")
    for one, other in ((KEY_CHAIN, KEY), (KEY, KEY_CHAIN)):
        if other not in given:
            given.refuse([one], f"{other.name!r} is not given", "Give both")
    inline_values = Tls(
        authorities=given.value(TRUST_CERTIFICATES) or "",
        certificates=given.value(KEY_CHAIN) or "",
        key=given.value(KEY) or NO_SECRET,
    )
    return _TLS.tls(given, inline_values, TRUST_CERTIFICATES, KEY)
