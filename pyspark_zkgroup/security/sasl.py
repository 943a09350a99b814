"""How a client proves who it is by SASL. Plain values, which travel to the tasks."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.security.secret import Secret

MECHANISMS = (
    "PLAIN",
    "SCRAM-SHA-256",
    "SCRAM-SHA-512",
    "OAUTHBEARER",
    "GSSAPI",
    "AWS_MSK_IAM",
)
PASSWORD_MECHANISMS = MECHANISMS[:3]


@dataclass(frozen=True, slots=True)
class Password:
    username: str
    password: Secret


@dataclass(frozen=True, slots=True)
class UnsignedToken:
    """Made by the client itself; only for tests and trusted networks, as in Kafka."""

    claims: tuple[tuple[str, str | float | tuple[str, ...]], ...]
    lifetime_s: int
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Another program writes tokens there and renews them; the file is read for each login."""

    path: str


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Gives tokens for a client's id and secret (OAuth's client credentials)."""

    url: str
    client_id: str
    client_secret: Secret
    scope: str = ""
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TokenFunction:
    """The user's own function without arguments; it returns a token."""

    module: str
    function: str


@dataclass(frozen=True, slots=True)
class Kerberos:
    """With the tickets that the process has anyway."""

    service: str


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """Those that botocore finds where the connection is opened: environment, profile, role."""


Login = (
    Password | UnsignedToken | TokenFile | TokenEndpoint | TokenFunction | Kerberos | AwsCredentials
)


@dataclass(frozen=True, slots=True)
class Sasl:
    mechanism: str
    login: Login

    @property
    def who(self) -> str:
        """For messages."""
        if isinstance(self.login, Password):
            return f"user {self.login.username!r}"
        if isinstance(self.login, TokenEndpoint):
            return f"client {self.login.client_id!r}"
        return f"this client ({self.mechanism})"

    @property
    def principal(self) -> str:
        """What ACLs are written for, as far as a client can know it."""
        return f"User:{self.login.username}" if isinstance(self.login, Password) else "User:NAME"
