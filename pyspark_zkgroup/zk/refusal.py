"""Why a server refuses this client, or this client the server: every other attempt would fail."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.security.sasl import Password
from pyspark_zkgroup.security.tls_failure import failure_of
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity

PLAIN_PORT = (
    "closes the connection when TLS begins, as a port without TLS does: see zookeeper.connect and "
    "zookeeper.ssl.client.enable"
)
TLS_PORT = (
    "closes the connection at once, as a TLS port does (see zookeeper.ssl.client.enable), or a "
    "server that is not ZooKeeper, such as a Kafka broker"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """`what` follows an address; `remedy` is a sentence."""

    what: str
    remedy: str


AUTH_REFUSED = Refusal(
    "refuses the credentials of zookeeper.auth",
    "Check scheme and credential, and that the servers know the scheme",
)


_OF_TLS = {
    "expired": "Renew the server's certificate, or set the clock of this machine",
    "other host": "Name the server in zookeeper.connect as its certificate does; an empty "
    "zookeeper.ssl.endpoint.identification.algorithm turns the check off",
    "untrusted": "Give the certificate of the authority that has signed it in "
    "zookeeper.ssl.truststore.location",
    "refused": "It may want a certificate of this client, or another one: see "
    "zookeeper.ssl.keystore.location",
    "no TLS": "Name the port for TLS (secureClientPort) in zookeeper.connect, or leave out "
    "zookeeper.ssl.client.enable",
}
"""The remedies for what lasts of the failures of TLS."""


def of_tls(error: BaseException | None) -> Refusal | None:
    failure = failure_of(error)
    if failure is None or failure.kind not in _OF_TLS:
        return None
    return Refusal(failure.what, _OF_TLS[failure.kind])


def of_login(security: ZooKeeperSecurity) -> Refusal:
    if isinstance(security.login, Password):
        return Refusal(
            f"does not accept the login of user {security.login.username!r} by "
            f"{security.mechanism}",
            "Check username and password in zookeeper.sasl.jaas.config, and that the servers have "
            "this user and SASL (a section Server in their JAAS file)",
        )
    return Refusal(
        f"does not accept the login of this client by {security.mechanism}",
        "Check the tickets of this machine (klist), zookeeper.sasl.client.username, and that the "
        "servers have SASL",
    )
