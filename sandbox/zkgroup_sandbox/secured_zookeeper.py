"""The configuration of a ZooKeeper server with a port for TLS next to its plain one, and logins by
SASL on both. Pure: ports and paths come in, lines go out.

As ZooKeeper does by itself, the port for TLS asks each client for a certificate. Who comes with one
is known by its name (scheme x509), who logs in by that of the login (scheme sasl).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from zkgroup_sandbox.ports import LOOPBACK

if TYPE_CHECKING:  # it imports a package that only the development has
    from zkgroup_sandbox.certificates import Certificates

PORT = "secure"
PORTS = (PORT,)
USERS: Mapping[str, str] = {"zoe": "zoe-secret-31d9"}
"""Those of DIGEST-MD5."""

_AUTH = "org.apache.zookeeper.server.auth"


def config(certificates: Certificates, port: int) -> list[str]:
    return [
        f"secureClientPort={port}",
        f"secureClientPortAddress={LOOPBACK}",
        "ssl.keyStore.type=PEM",
        f"ssl.keyStore.location={certificates.server.both}",
        "ssl.trustStore.type=PEM",
        f"ssl.trustStore.location={certificates.ca}",
        # Clients are programs, not hosts: their certificates name none.
        "ssl.clientHostnameVerification=false",
        f"authProvider.x509={_AUTH}.X509AuthenticationProvider",
        f"authProvider.sasl={_AUTH}.SASLAuthenticationProvider",
    ]


def flags(logins_file: Path) -> tuple[str, ...]:
    return (
        "-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        f"-Djava.security.auth.login.config={logins_file}",
    )


def logins() -> str:
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    return f"Server {{ {_AUTH}.DigestLoginModule required {users}; }};\n"
