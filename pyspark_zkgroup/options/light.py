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
"""The addresses of all `zkgroup coordinator --listen` processes. Required with protocol=light, and
only valid there. Each of them names the elected one.
"""
TOKEN = SECTION.optional("coordinator.token", PASSWORD, secret=True)
"""Shared secret that members present to the coordinator (its --token-file). Requires
protocol=light. Never shown in messages; `${env:NAME}` or `${directory:/path:file}` keeps it out
of Spark's plans.
"""
TLS = SECTION.option("coordinator.ssl.client.enable", rules.FLAG, False)
"""true: connect to the coordinator using TLS; it must present a certificate for its host. Requires
protocol=light. Without TLS the token and all messages can be read on the network.
"""
TRUST_LOCATION = SECTION.optional(
    "coordinator.ssl.truststore.location", PATH, default_text="gRPC's trusted certificates"
)
"""PEM file with the trusted certificates, read on the driver. Requires protocol=light."""
KEY_LOCATION = SECTION.optional("coordinator.ssl.keystore.location", PATH)
"""PEM file with this member's unencrypted private key and its certificates, its own first, read on
the driver. Requires protocol=light. A coordinator with --tls-trust requires it.
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
