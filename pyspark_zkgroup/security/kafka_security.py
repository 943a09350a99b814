"""How clients connect to the brokers: the security protocol, TLS and the login."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.security.sasl import Sasl
from pyspark_zkgroup.security.tls import Tls

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    protocol: str = "PLAINTEXT"
    tls: Tls | None = None
    sasl: Sasl | None = None

    @property
    def who(self) -> str:
        """For messages: what the brokers take us for, as far as we know."""
        return "this client" if self.sasl is None else self.sasl.who

    @property
    def needs_named_brokers(self) -> bool:
        """Whether a login would be sent to any host that a client has written into ZooKeeper. A
        broker proves what it is by a certificate of an authority that we name, for its host name;
        the authorities that a system trusts certify any host on earth.
        """
        if self.sasl is None:
            return False
        return self.tls is None or not (self.tls.check_host and self.tls.authorities)

    @property
    def principal(self) -> str:
        return "User:NAME" if self.sasl is None else self.sasl.principal


OPEN = KafkaSecurity()
"""Neither encryption nor authentication."""
