"""The configuration of a broker with listeners for TLS and SASL next to its plaintext one, and with
ACLs for every reader. Pure: ports and paths come in, lines go out.

    ssl              TLS
    mutual           TLS, and the client must show a certificate
    sasl_plaintext   a password or token, unencrypted
    sasl_ssl         the same within TLS
    expired          TLS with a certificate that is no longer good
    wrong_host       TLS with the certificate of another host

The plaintext listener is the sandbox's own: its clients are ANONYMOUS and may do everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zkgroup_sandbox.ports import LOOPBACK

if TYPE_CHECKING:  # it imports a package that only the development has
    from zkgroup_sandbox.certificates import Certificates

PROTOCOLS: Mapping[str, str] = {
    "ssl": "SSL",
    "mutual": "SSL",
    "sasl_plaintext": "SASL_PLAINTEXT",
    "sasl_ssl": "SASL_SSL",
    "expired": "SSL",
    "wrong_host": "SSL",
}
PORTS = tuple(PROTOCOLS)
PLAIN_USERS: Mapping[str, str] = {"alice": "alice-secret", "bob": "bob-secret"}
"""Those of the mechanism PLAIN. Users of SCRAM are made by access.py."""

_KAFKA_LOGIN = "org.apache.kafka.common.security"
_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
_KRAFT_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def listeners(ports: Mapping[str, int]) -> list[str]:
    return [f"{name.upper()}://{LOOPBACK}:{ports[name]}" for name in PROTOCOLS]


def protocols() -> list[str]:
    return [f"{name.upper()}:{protocol}" for name, protocol in PROTOCOLS.items()]


def security_config(certificates: Certificates, *, kraft: bool) -> list[str]:
    lines = [
        "security.inter.broker.protocol=PLAINTEXT",
        f"authorizer.class.name={_KRAFT_AUTHORIZER if kraft else _AUTHORIZER}",
        "super.users=User:ANONYMOUS",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={certificates.ca}",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={certificates.server.both}",
        "listener.name.mutual.ssl.client.auth=required",
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    ]
    for name, identity in (
        ("expired", certificates.expired),
        ("wrong_host", certificates.wrong_host),
    ):
        lines += [
            f"listener.name.{name}.ssl.keystore.type=PEM",
            f"listener.name.{name}.ssl.keystore.location={identity.both}",
        ]
    for name in ("sasl_plaintext", "sasl_ssl"):
        lines += _logins(f"listener.name.{name}")
    return lines


def _logins(listener: str) -> list[str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in PLAIN_USERS.items())
    plain = f"{_KAFKA_LOGIN}.plain.PlainLoginModule required {users};"
    scram = f"{_KAFKA_LOGIN}.scram.ScramLoginModule required;"
    # Tokens are taken without a signature, as long as they are not expired.
    token = f"{_KAFKA_LOGIN}.oauthbearer.OAuthBearerLoginModule required"
    return [
        f"{listener}.plain.sasl.jaas.config={plain}",
        f"{listener}.scram-sha-256.sasl.jaas.config={scram}",
        f"{listener}.scram-sha-512.sasl.jaas.config={scram}",
        f'{listener}.oauthbearer.sasl.jaas.config={token} unsecuredLoginStringClaim_sub="broker";',
        # A login by token ends with the token, and after so long at the latest.
        f"{listener}.oauthbearer.connections.max.reauth.ms=3600000",
    ]
