"""How a registry is reached, as plain values: a task receives them pickled."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.tls import Tls


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """No repr shows a secret."""

    urls: tuple[str, ...]
    """Of servers of one registry, without a slash at the end."""
    user_info: Secret = NO_SECRET
    """user:password of a basic login."""
    token: Secret = NO_SECRET
    """Of a bearer login."""
    tls: Tls = field(default_factory=Tls)
    deadline_s: float = 120.0
    """How long a registry that does not answer is asked again."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema's text, after those of the schemas it refers to."""

    text: str
    references: tuple[str, ...] = ()
    kind: str = "AVRO"


@dataclass(frozen=True, slots=True)
class Version:
    """A schema as a version of its subject."""

    subject: str
    number: int
    schema: RegisteredSchema
