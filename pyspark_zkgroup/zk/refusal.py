"""Why a server will not have us, or we will not have it: what no other attempt will mend."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from pyspark_zkgroup.security.sasl import Password
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity

PLAIN_PORT = (
    "ended the connection when TLS began, as a port without TLS does: see zookeeper.connect and "
    "zookeeper.ssl.client.enable"
)
TLS_PORT = (
    "ended the connection before it said a word, as a port for TLS does: see "
    "zookeeper.ssl.client.enable"
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


def of_tls(error: BaseException | None) -> Refusal | None:
    """What lasts of the failures of a handshake, and of the first read after it: a server that
    wants a certificate may say so only then.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return _of_certificate(error)
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    # A server that ends in the middle of a handshake may call that an error of its own.
    if "ALERT" in reason and "INTERNAL_ERROR" not in reason:
        alert = reason.lower().split("alert_", 1)[-1].replace("_", " ")
        return Refusal(
            f"refuses our TLS connection ({alert})",
            "It may want a certificate of this client, or another one: see "
            "zookeeper.ssl.keystore.location",
        )
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return Refusal(
            "does not speak TLS on that port",
            "Name the port for TLS (secureClientPort) in zookeeper.connect, or leave out "
            "zookeeper.ssl.client.enable",
        )
    return None


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


def _of_certificate(error: ssl.SSLCertVerificationError) -> Refusal:
    said = error.verify_message.rstrip(".")
    what = f"shows a TLS certificate that is not accepted: {said}"
    if "expired" in said or "not yet valid" in said:
        return Refusal(what, "Renew the server's certificate, or set the clock of this machine")
    if "mismatch" in said or "not valid for" in said:
        return Refusal(
            what,
            "Name the server in zookeeper.connect as its certificate does; an empty "
            "zookeeper.ssl.endpoint.identification.algorithm turns the check off",
        )
    return Refusal(
        what,
        "Give the certificate of the authority that has signed it in "
        "zookeeper.ssl.truststore.location",
    )
