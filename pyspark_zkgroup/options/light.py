"""A member without ZooKeeper: where its coordinator is, and how the two authenticate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.tls import NO_EFFECT, PASSWORD, PATH, PemFile
from pyspark_zkgroup.security import pem
from pyspark_zkgroup.security.secret import NO_SECRET
from pyspark_zkgroup.security.stream_access import StreamAccess

SECTION: Final = Section(__name__, "ZooKeeper and the group")

ADDRESSES: Final[Option[tuple[str, ...]]] = SECTION.option(
    "coordinator.addresses", rules.ADDRESSES, ()
)
"""Only with protocol=light, and required there: where `zkgroup coordinator --listen` runs, all of
them. One that is reached says which of them is in office.
"""
TOKEN = SECTION.optional("coordinator.token", PASSWORD, secret=True)
"""Only with protocol=light: what the coordinator lets members in by (its --token-file). Never shown
in messages; `${env:NAME}` or `${directory:/path:file}` keeps it out of Spark's plans.
"""
TLS = SECTION.option("coordinator.ssl.client.enable", rules.FLAG, False)
"""Only with protocol=light. true: the coordinator is spoken to with TLS, and must show a
certificate of its host. Without it the token and all else can be read on the way.
"""
TRUST_LOCATION = SECTION.optional(
    "coordinator.ssl.truststore.location", PATH, default_text="the certificates that gRPC trusts"
)
"""Only with protocol=light: a PEM file with the certificates to trust, read on the driver."""
KEY_LOCATION = SECTION.optional("coordinator.ssl.keystore.location", PATH)
"""Only with protocol=light: a PEM file with this member's private key, unlocked, and its
certificates, its own first, read on the driver. Where the coordinator has --tls-trust it wants one.
"""


@dataclass(frozen=True, slots=True)
class LightOptions:
    """The access shows no secret."""

    addresses: tuple[str, ...] = ()
    access: StreamAccess = field(default_factory=StreamAccess)
    session_timeout_ms: int = 0


def light_options(given: Given, session_timeout_ms: int) -> LightOptions:
    return LightOptions(given.value(ADDRESSES), _access(given), session_timeout_ms)


def _access(given: Given) -> StreamAccess:
    token = given.value(TOKEN) or NO_SECRET
    if not given.value(TLS):
        given.refuse(
            (TRUST_LOCATION, KEY_LOCATION),
            f"{given.shown(TLS)}, {NO_EFFECT}",
            f"Set {TLS.name!r} to true, or leave the other out",
        )
        return StreamAccess(token)
    authorities, chain, key = "", "", NO_SECRET
    if TRUST_LOCATION in given:
        authorities = PemFile(TRUST_LOCATION, None, is_trust=True).certificates(given)
    if KEY_LOCATION in given:
        chain, key = PemFile(KEY_LOCATION, None, is_trust=False).certificates_and_key(given)
        if pem.is_locked(key.text):
            remedy = "Give one that is not: openssl pkey -in LOCKED -out KEY opens it"
            raise given.error(KEY_LOCATION, ", whose key is locked", remedy)
    return StreamAccess(token, True, authorities, chain, key)
