"""What a format is: it makes columns of a type out of a column of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pyspark_zkgroup.schema import Type


@dataclass(frozen=True, slots=True)
class Parsed:
    """Rows in their order; `reasons` says why a row is bad, and is null where it is not."""

    values: pa.Array
    reasons: pa.StringArray
    bad: int


class Parser(Protocol):
    def parse(self, column: pa.BinaryArray) -> Iterator[Parsed]:
        """All rows of the column, in pieces of bounded size."""


class Format(Protocol):
    """What an option says of a column. It travels to the tasks."""

    @property
    def name(self) -> str:
        """As the option has it."""

    def parser(self, kind: Type) -> Parser:
        """ImportError where the native decoder is missing."""
