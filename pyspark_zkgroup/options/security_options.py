"""TLS and SASL to the brokers, under the names that Kafka's own clients have for them."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import security_values as values
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.values import FLAG
from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.sasl import TokenFunction
from pyspark_zkgroup.security.secret import Secret

SECTION: Final[Section] = "TLS and SASL to the brokers"

PROTOCOL = Option(
    "kafka.security.protocol",
    SECTION,
    values.PROTOCOL,
    "PLAINTEXT",
    "How the brokers are spoken to: with TLS (SSL, SASL_SSL) or without, with a login (SASL_...) "
    "or without. It also says which of the listeners that brokers register in ZooKeeper is taken.",
)
MECHANISM = Option(
    "kafka.sasl.mechanism",
    SECTION,
    values.MECHANISM,
    "GSSAPI",
    "How to log in. GSSAPI (Kerberos) needs the package gssapi on driver and executors.",
)
JAAS: Final[Option[LoginModule | None]] = Option(
    "kafka.sasl.jaas.config",
    SECTION,
    values.LOGIN_MODULE,
    None,
    "What to log in with, as a line of JAAS: PlainLoginModule and ScramLoginModule with username "
    "and password, OAuthBearerLoginModule, or Krb5LoginModule with useTicketCache. See "
    "security.md. Never shown in messages; `${env:NAME}` or `${directory:/path:file}` in it keeps "
    "a password out of Spark's plans.",
    secret=True,
)
KERBEROS_SERVICE: Final[Option[str | None]] = Option(
    "kafka.sasl.kerberos.service.name",
    SECTION,
    values.SERVICE,
    None,
    "The name of the brokers' service in Kerberos, mostly kafka.",
)
TOKEN_ENDPOINT: Final[Option[str | None]] = Option(
    "kafka.sasl.oauthbearer.token.endpoint.url",
    SECTION,
    values.URL,
    None,
    "Where tokens for OAUTHBEARER come from: an OAuth server, which is given clientId and "
    "clientSecret of kafka.sasl.jaas.config, or a file with a token, which is read anew for each "
    "login, on driver and executors.",
)
TOKEN_OVER_HTTP = Option(
    "kafka.sasl.oauthbearer.token.endpoint.allow.http",
    SECTION,
    FLAG,
    False,
    "Allow an OAuth server at an http: address of another machine. The client secret and the "
    "tokens then travel unencrypted.",
)
TOKEN_FUNCTION: Final[Option[TokenFunction | None]] = Option(
    "oauth.token.function",
    SECTION,
    values.FUNCTION,
    None,
    "A function of your own that returns a token for OAUTHBEARER. It is called without arguments "
    "for each login, on driver and executors, where its module must be installed.",
)
TRUST_TYPE = Option(
    "kafka.ssl.truststore.type",
    SECTION,
    values.STORE,
    "JKS",
    "What kind of file kafka.ssl.truststore.location is. Only PEM can be read: security.md says "
    "how the others are made into it.",
)
TRUST_LOCATION: Final[Option[str | None]] = Option(
    "kafka.ssl.truststore.location",
    SECTION,
    values.PATH,
    None,
    "A file with the certificates to trust. It is read once, on the driver; executors get the "
    "content.",
    default_text="the certificates that the system trusts",
)
TRUST_CERTIFICATES: Final[Option[str | None]] = Option(
    "kafka.ssl.truststore.certificates",
    SECTION,
    values.CERTIFICATES,
    None,
    "The certificates to trust themselves.",
)
KEY_TYPE = Option(
    "kafka.ssl.keystore.type",
    SECTION,
    values.STORE,
    "JKS",
    "What kind of file kafka.ssl.keystore.location is. Only PEM can be read.",
)
KEY_LOCATION: Final[Option[str | None]] = Option(
    "kafka.ssl.keystore.location",
    SECTION,
    values.PATH,
    None,
    "A file with this client's private key and its certificates, its own first. It is read once, "
    "on the driver; executors get the content.",
)
KEY_CHAIN: Final[Option[str | None]] = Option(
    "kafka.ssl.keystore.certificate.chain",
    SECTION,
    values.CERTIFICATES,
    None,
    "This client's certificates themselves, its own first.",
)
KEY: Final[Option[Secret | None]] = Option(
    "kafka.ssl.keystore.key",
    SECTION,
    values.KEY,
    None,
    "This client's private key itself. Never shown in messages.",
    secret=True,
)
KEY_PASSWORD: Final[Option[Secret | None]] = Option(
    "kafka.ssl.key.password",
    SECTION,
    values.PASSWORD,
    None,
    "What opens the private key, where it is locked (-----BEGIN ENCRYPTED PRIVATE KEY-----). Never "
    "shown in messages.",
    secret=True,
)
HOST_CHECK = Option(
    "kafka.ssl.endpoint.identification.algorithm",
    SECTION,
    values.ENDPOINT_CHECK,
    True,
    "https: a broker's certificate must be one for the host that was asked for. Empty: any that "
    "is trusted will do, so that whoever has one can pose as a broker.",
    default_text="https",
)
TLS_VERSIONS = Option(
    "kafka.ssl.enabled.protocols",
    SECTION,
    values.VERSIONS_OF_TLS,
    ("TLSv1.2", "TLSv1.3"),
    "Which versions of TLS may be spoken.",
    default_text="TLSv1.2,TLSv1.3",
)

OPTIONS: Final = (
    PROTOCOL,
    MECHANISM,
    JAAS,
    KERBEROS_SERVICE,
    TOKEN_ENDPOINT,
    TOKEN_OVER_HTTP,
    TOKEN_FUNCTION,
    TRUST_TYPE,
    TRUST_LOCATION,
    TRUST_CERTIFICATES,
    KEY_TYPE,
    KEY_LOCATION,
    KEY_CHAIN,
    KEY,
    KEY_PASSWORD,
    HOST_CHECK,
    TLS_VERSIONS,
)
SASL_OPTIONS: Final = (
    MECHANISM,
    JAAS,
    KERBEROS_SERVICE,
    TOKEN_ENDPOINT,
    TOKEN_OVER_HTTP,
    TOKEN_FUNCTION,
)
TLS_OPTIONS: Final = OPTIONS[len(SASL_OPTIONS) + 1 :]
