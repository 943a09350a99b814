"""Of a member without ZooKeeper: where its coordinator is, and who the two are to each other."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.connect_string import Address
from pyspark_zkgroup.options import security_values, values
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.security.secret import Secret

SECTION: Final[Section] = "ZooKeeper and the group"

ADDRESSES: Final[Option[tuple[Address, ...]]] = Option(
    "coordinator.addresses",
    SECTION,
    values.ADDRESSES,
    (),
    "Only with protocol=light, and required there: where `zkgroup coordinator --listen` runs, all "
    "of them. One that is reached says which of them is in office.",
    default_text="none",
)
TOKEN: Final[Option[Secret | None]] = Option(
    "coordinator.token",
    SECTION,
    security_values.PASSWORD,
    None,
    "Only with protocol=light: what the coordinator lets members in by (its --token-file). Never "
    "shown in messages; `${env:NAME}` or `${directory:/path:file}` keeps it out of Spark's plans.",
    default_text="none",
    secret=True,
)
TLS = Option(
    "coordinator.ssl.client.enable",
    SECTION,
    values.FLAG,
    False,
    "Only with protocol=light. true: the coordinator is spoken to with TLS, and must show a "
    "certificate of its host. Without it the token and all else can be read on the way.",
)
TRUST_LOCATION: Final[Option[str | None]] = Option(
    "coordinator.ssl.truststore.location",
    SECTION,
    security_values.PATH,
    None,
    "Only with protocol=light: a PEM file with the certificates to trust, read on the driver.",
    default_text="the certificates that gRPC trusts",
)
KEY_LOCATION: Final[Option[str | None]] = Option(
    "coordinator.ssl.keystore.location",
    SECTION,
    security_values.PATH,
    None,
    "Only with protocol=light: a PEM file with this member's private key, unlocked, and its "
    "certificates, its own first, read on the driver. Where the coordinator has --tls-trust it "
    "wants one.",
)

OPTIONS: Final = (ADDRESSES, TOKEN, TLS, TRUST_LOCATION, KEY_LOCATION)
TLS_OPTIONS: Final = (TRUST_LOCATION, KEY_LOCATION)
