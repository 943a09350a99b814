"""How clients connect to ZooKeeper, and prove who they are: TLS, and a login by SASL."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.security.sasl import Kerberos, Password
from pyspark_zkgroup.security.tls import Tls


@dataclass(frozen=True, slots=True)
class ZooKeeperSecurity:
    tls: Tls | None = None
    login: Password | Kerberos | None = None

    @property
    def names_us(self) -> bool:
        """Whether the servers know who we are by the connection alone."""
        return self.login is not None or (self.tls is not None and bool(self.tls.certificates))

    @property
    def mechanism(self) -> str:
        return "DIGEST-MD5" if isinstance(self.login, Password) else "GSSAPI"


OPEN = ZooKeeperSecurity()
"""Neither encryption nor a login."""
