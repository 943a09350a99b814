"""How light members and their coordinator know each other: certificates, and a token they share."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_zkgroup.security.secret import NO_SECRET, Secret


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """PEM texts. `authorities`: whom we trust; none: as the system does at a member, and no
    certificate is asked for at a coordinator. Without `tls` nothing is encrypted.
    """

    token: Secret = NO_SECRET
    tls: bool = False
    authorities: str = field(default="", repr=False)
    certificates: str = field(default="", repr=False)
    key: Secret = NO_SECRET

    @property
    def names_authorities(self) -> bool:
        """At a member: its coordinators show certificates that were made for such use. Those that
        the system trusts are given to any host on earth.
        """
        return self.tls and bool(self.authorities)
