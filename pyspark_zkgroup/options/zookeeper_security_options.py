"""TLS and SASL to ZooKeeper, under the names that Kafka's brokers have for them."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import security_values, values
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.secret import Secret

SECTION: Final[Section] = "TLS and SASL to ZooKeeper"

TLS = Option(
    "zookeeper.ssl.client.enable",
    SECTION,
    values.FLAG,
    False,
    "true: ZooKeeper is spoken to with TLS. Name the servers' secureClientPort in "
    "zookeeper.connect; there is no clientCnxnSocket to be chosen.",
)
TRUST_LOCATION: Final[Option[str | None]] = Option(
    "zookeeper.ssl.truststore.location",
    SECTION,
    security_values.PATH,
    None,
    "A PEM file with the certificates to trust, read on the driver.",
    default_text="the certificates that the system trusts",
)
TRUST_TYPE: Final[Option[str | None]] = Option(
    "zookeeper.ssl.truststore.type",
    SECTION,
    security_values.STORE,
    None,
    "What kind of file zookeeper.ssl.truststore.location is. Only PEM can be read.",
    default_text="what the file is",
)
KEY_LOCATION: Final[Option[str | None]] = Option(
    "zookeeper.ssl.keystore.location",
    SECTION,
    security_values.PATH,
    None,
    "A PEM file with this client's private key and its certificates, its own first, read on the "
    "driver. Servers want one unless their ssl.clientAuth says otherwise.",
)
KEY_TYPE: Final[Option[str | None]] = Option(
    "zookeeper.ssl.keystore.type",
    SECTION,
    security_values.STORE,
    None,
    "What kind of file zookeeper.ssl.keystore.location is. Only PEM can be read.",
    default_text="what the file is",
)
KEY_PASSWORD: Final[Option[Secret | None]] = Option(
    "zookeeper.ssl.keystore.password",
    SECTION,
    security_values.PASSWORD,
    None,
    "What opens the private key, where it is locked (-----BEGIN ENCRYPTED PRIVATE KEY-----). Never "
    "shown in messages.",
    secret=True,
)
HOST_CHECK = Option(
    "zookeeper.ssl.endpoint.identification.algorithm",
    SECTION,
    security_values.ENDPOINT_CHECK,
    True,
    "https: a server's certificate must be one for the host that zookeeper.connect names. Empty: "
    "any that is trusted will do, so that whoever has one can pose as a server.",
    default_text="https",
)
TLS_VERSIONS = Option(
    "zookeeper.ssl.enabled.protocols",
    SECTION,
    security_values.VERSIONS_OF_TLS,
    ("TLSv1.2", "TLSv1.3"),
    "Which versions of TLS may be spoken.",
    default_text="TLSv1.2,TLSv1.3",
)
JAAS: Final[Option[LoginModule | None]] = Option(
    "zookeeper.sasl.jaas.config",
    SECTION,
    security_values.LOGIN_MODULE,
    None,
    "What to log in with, as a line of JAAS such as stands in the section Client of a JVM's file: "
    "DigestLoginModule with username and password (DIGEST-MD5), or Krb5LoginModule with "
    "useTicketCache (GSSAPI). Needs the package pure-sasl on the driver. Never shown in messages.",
    secret=True,
)
SERVICE: Final[Option[str]] = Option(
    "zookeeper.sasl.client.username",
    SECTION,
    security_values.SERVICE,
    "zookeeper",
    "The name of the servers' service in Kerberos. Only for Krb5LoginModule.",
)

OPTIONS: Final = (
    TLS,
    TRUST_LOCATION,
    TRUST_TYPE,
    KEY_LOCATION,
    KEY_TYPE,
    KEY_PASSWORD,
    HOST_CHECK,
    TLS_VERSIONS,
    JAAS,
    SERVICE,
)
TLS_OPTIONS: Final = OPTIONS[1:-2]
