"""What one row of the table of options is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from pyspark_zkgroup.options.values import Rule

T = TypeVar("T")
Section = Literal[
    "ZooKeeper and the group",
    "Topics",
    "Where to read",
    "How much to read at a time",
    "Batch reads (spark.read)",
    "Kafka",
    "Connections to the brokers",
    "TLS and SASL to the brokers",
    "TLS and SASL to ZooKeeper",
]

REQUIRED: Final[Any] = object()
"""The default of an option that must be given."""


@dataclass(frozen=True, eq=False)
class Option(Generic[T]):
    name: str
    section: Section
    rule: Rule[T]
    default: T
    text: str
    default_text: str = ""
    secret: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def default_shown(self) -> str:
        if self.default_text or self.required:
            return self.default_text or "required"
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return "none" if self.default is None else str(self.default)


@dataclass(frozen=True, eq=False)
class OldName(Generic[T]):
    """Another name of an option; with a rule of its own where its values have other names too."""

    name: str
    option: Option[T]
    own_rule: Rule[T] | None = None

    @property
    def rule(self) -> Rule[T]:
        return self.own_rule or self.option.rule
