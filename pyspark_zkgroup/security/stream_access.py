"""How light members and their coordinator know each other: by certificates, and by tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.security.secret import NO_SECRET, Secret


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """PEM texts. `authorities`: whom we trust; none: as the system does at a member, and no
    certificate is asked for at a coordinator. Without `tls` nothing is encrypted.

    `group_tokens`, at a coordinator: those that let into one group, which `token` then does not.
    """

    token: Secret = NO_SECRET
    tls: bool = False
    authorities: str = field(default="", repr=False)
    certificates: str = field(default="", repr=False)
    key: Secret = NO_SECRET
    group_tokens: Mapping[str, tuple[Secret, ...]] = field(default_factory=dict)

    @property
    def knows_members(self) -> bool:
        """At a coordinator: whether clients must prove that they are members."""
        return bool(self.token.text or self.group_tokens or self.authorities)

    @property
    def names_authorities(self) -> bool:
        """At a member: its coordinators show certificates that were made for such use. Those that
        the system trusts are given to any host on earth.
        """
        return self.tls and bool(self.authorities)
