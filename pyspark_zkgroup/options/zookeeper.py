"""ZooKeeper: its servers, the member's session, and TLS and SASL to it, these under the names that
Kafka's brokers have for them.
"""

from __future__ import annotations

import json
import re
from typing import Final

from pyspark_zkgroup.connect_string import ConnectString, parse_connect_string
from pyspark_zkgroup.options import tls
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import FLAG, Rule, duration_ms
from pyspark_zkgroup.options.tls import NO_EFFECT, PemFile, TlsOptions
from pyspark_zkgroup.security import placeholders
from pyspark_zkgroup.security.login import DIGEST, zookeeper_login
from pyspark_zkgroup.security.sasl import Kerberos, Password
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity
from pyspark_zkgroup.zk.port import SessionSettings


def _auth(text: str) -> tuple[tuple[str, str], ...]:
    """No reason here repeats any of the text: it is a secret. Secrets are filled in last, since
    they may hold any character.
    """
    entries: object = [text]
    if text.startswith("["):
        try:
            entries = json.loads(text)
        except ValueError:
            raise ValueError("starts with '[' but is not JSON") from None
    if not isinstance(entries, list) or not entries:
        raise ValueError("has no entry")
    found = []
    for entry in entries:
        scheme, colon, credential = entry.partition(":") if isinstance(entry, str) else ("",) * 3
        credential = placeholders.filled(credential)
        if not colon or not credential or not re.fullmatch("[a-zA-Z0-9]+", scheme):
            raise ValueError("has an entry that is not a scheme, a colon and a credential")
        if scheme.lower() in ("sasl", "x509", "ip", "world"):
            raise ValueError("has an entry whose scheme comes with the connection itself")
        if scheme == "digest" and not re.fullmatch("[^:]+:.+", credential, re.DOTALL):
            raise ValueError("has a digest entry without a user, a colon and a password")
        found.append((scheme, credential))
    return tuple(found)


CONNECT_STRING: Rule[ConnectString] = Rule(
    "host:port of each server, separated by commas, then the chroot if there is one, such as "
    "zk1:2181,zk2:2181/kafka (port 2181 if left out, IPv6 as [::1]:2181)",
    parse_connect_string,
)
CREDENTIALS = Rule(
    "scheme:credential such as digest:user:password, or a JSON list of several such texts", _auth
)

SERVERS: Final = Section(__name__, "ZooKeeper and the group")
SESSION: Final = Section(__name__, "ZooKeeper and the group")
ENCRYPTION: Final = Section(__name__, "TLS and SASL to ZooKeeper")
CERTIFICATES: Final = Section(__name__, "TLS and SASL to ZooKeeper")
LOGIN: Final = Section(__name__, "TLS and SASL to ZooKeeper")

CONNECT: Final[Option[ConnectString | None]] = SERVERS.optional(
    "zookeeper.connect",
    CONNECT_STRING,
    default_text="required, unless kafka.bootstrap.servers is given, or protocol=light",
)
"""The ZooKeeper servers (some may be down), and the chroot below which brokers and consumers keep
their nodes. The chroot must exist. Leave it out for a Kafka without ZooKeeper.
"""
SESSION_TIMEOUT = SESSION.option("zookeeper.session.timeout.ms", duration_ms(), 6000)
"""How long a member that ZooKeeper no longer hears from keeps its partitions. The servers may
grant less or more (2 to 20 of their ticks by default).
"""
CONNECTION_TIMEOUT = SESSION.optional(
    "zookeeper.connection.timeout.ms",
    duration_ms(),
    default_text="the value of zookeeper.session.timeout.ms",
)
"""How long a query that starts tries to reach ZooKeeper before it fails."""
AUTH = SESSION.option("zookeeper.auth", CREDENTIALS, (), secret=True)
"""Credentials for ZooKeeper. Never shown in messages; `${env:NAME}` or `${directory:/path:file}`
keeps a password out of Spark's plans.
"""
SET_ACL = SESSION.option("zookeeper.set.acl", FLAG, False, in_batch="refused")
"""true: all clients can read owners and offsets that this member creates, but only members with the
same identity can change them. The identity is zookeeper.auth, a SASL login or a client
certificate; one of them is required.
"""
TLS = ENCRYPTION.option("zookeeper.ssl.client.enable", FLAG, False)
"""true: connect to ZooKeeper using TLS. Name the servers' secureClientPort in zookeeper.connect;
clientCnxnSocket is not needed.
"""
TRUST_LOCATION = CERTIFICATES.optional(
    "zookeeper.ssl.truststore.location",
    tls.PATH,
    default_text="the system's trusted certificates",
)
"""PEM file with the trusted certificates, read on the driver."""
TRUST_TYPE = CERTIFICATES.optional(
    "zookeeper.ssl.truststore.type", tls.STORE, default_text="detected from the file"
)
"""The type of zookeeper.ssl.truststore.location. Only PEM is supported."""
KEY_LOCATION = CERTIFICATES.optional("zookeeper.ssl.keystore.location", tls.PATH)
"""PEM file with this client's private key and its certificates, its own first, read on the driver.
Servers require one unless their ssl.clientAuth says otherwise.
"""
KEY_TYPE = CERTIFICATES.optional(
    "zookeeper.ssl.keystore.type", tls.STORE, default_text="detected from the file"
)
"""The type of zookeeper.ssl.keystore.location. Only PEM is supported."""
KEY_PASSWORD = CERTIFICATES.optional("zookeeper.ssl.keystore.password", tls.PASSWORD, secret=True)
"""The password of an encrypted private key (-----BEGIN ENCRYPTED PRIVATE KEY-----). Never shown in
messages.
"""
HOST_CHECK = CERTIFICATES.option(
    "zookeeper.ssl.endpoint.identification.algorithm",
    tls.ENDPOINT_CHECK,
    True,
    default_text="https",
)
"""https: a server's certificate must be for the host in zookeeper.connect. Empty: any trusted
certificate is accepted, so its owner can impersonate a server.
"""
TLS_VERSIONS = CERTIFICATES.option(
    "zookeeper.ssl.enabled.protocols",
    tls.VERSIONS_OF_TLS,
    ("TLSv1.2", "TLSv1.3"),
    default_text="TLSv1.2,TLSv1.3",
)
"""The TLS versions that may be used."""
JAAS = LOGIN.optional(
    "zookeeper.sasl.jaas.config",
    Rule(
        f'one login module, such as {DIGEST} required username="..." password="...";',
        tls.LOGIN_MODULE.read,
    ),
    secret=True,
)
"""Credentials of the login, as a line of JAAS as in the section Client of a JVM's file:
DigestLoginModule with username and password (DIGEST-MD5), or Krb5LoginModule with useTicketCache
(GSSAPI). Needs the package pure-sasl on the driver. Never shown in messages.
"""
SERVICE: Final[Option[str]] = LOGIN.option(
    "zookeeper.sasl.client.username", tls.SERVICE, "zookeeper"
)
"""The name of the servers' service in Kerberos. Only for Krb5LoginModule."""

SECURITY: Final = (*ENCRYPTION, *CERTIFICATES, *LOGIN)
OPTIONS: Final = (*SERVERS, *SESSION, *SECURITY)

_TLS: Final = TlsOptions(
    PemFile(TRUST_LOCATION, TRUST_TYPE, is_trust=True),
    PemFile(KEY_LOCATION, KEY_TYPE, is_trust=False),
    KEY_PASSWORD,
    HOST_CHECK,
    TLS_VERSIONS,
)


def session_settings(given: Given, *, has_zookeeper: bool) -> SessionSettings:
    """Without ZooKeeper it names no server."""
    connect = given.value(CONNECT) if has_zookeeper else None
    timeout_ms = given.value(SESSION_TIMEOUT)
    auth, security = given.value(AUTH), zookeeper_security(given)
    if given.value(SET_ACL) and not (auth or security.names_us):
        raise given.clash(
            SET_ACL,
            "'zookeeper.auth' is not given",
            "Give 'zookeeper.auth' too, or 'zookeeper.sasl.jaas.config', or a client certificate: "
            "nodes can be kept for those alone who authenticate",
        )
    return SessionSettings(
        hosts=connect.hosts if connect else "",
        chroot=connect.chroot if connect else "",
        timeout_ms=timeout_ms,
        connection_timeout_ms=given.value(CONNECTION_TIMEOUT) or timeout_ms,
        auth=auth,
        set_acl=given.value(SET_ACL),
        security=security,
    )


def zookeeper_security(given: Given) -> ZooKeeperSecurity:
    if given.value(TLS):
        return ZooKeeperSecurity(_TLS.tls(given), _login(given))
    given.refuse(
        CERTIFICATES,
        f"{given.shown(TLS)}, {NO_EFFECT}",
        f"Set {TLS.name!r} to true, or leave the other out",
    )
    return ZooKeeperSecurity(None, _login(given))


def _login(given: Given) -> Password | Kerberos | None:
    module = given.value(JAAS)
    if module is None:
        given.refuse(
            [SERVICE],
            f"{JAAS.name!r} is not given",
            "Give it too, with Krb5LoginModule, or leave the other out",
        )
        return None
    try:
        return zookeeper_login(module, service=given.value(SERVICE) if SERVICE in given else None)
    except ValueError as error:
        remedy = "See docs/security.md for what ZooKeeper takes"
        raise given.error(JAAS, f", which {error}", remedy) from None
