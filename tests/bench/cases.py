"""What is measured, by name, and how a reader of the bench chooses from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

CODECS = ("none", "lz4", "zstd", "snappy")
SINKS = ("noop", "parquet")
DELTA, JSON_DELTA, AVRO_DELTA = "delta", "json-delta", "avro-delta"
TYPED, VALUE = "typed", "value"
TRIGGER, DECODE, MEMORY = "trigger-latency", "decode", "memory"
# A producer that is kept busy fills batches of some ten kilobytes; the client's default is 16.
BATCH_BYTES = 64 * 1024
PARTITIONS = 4


class BenchError(Exception):
    """One line for the person at the terminal."""


@dataclass(frozen=True, order=True)
class Size:
    record_bytes: int
    """Of key and value together."""
    name: str
    rows: int
    """So many that a run takes seconds, and a gigabyte at most."""

    @property
    def batch_records(self) -> int:
        return max(1, BATCH_BYTES // self.record_bytes)


SIZES = (
    Size(100, "100B", 4_000_000),
    Size(1_000, "1kB", 800_000),
    Size(10_000, "10kB", 80_000),
)


@dataclass(frozen=True)
class Case:
    size: Size
    codec: str
    sink: str

    @property
    def name(self) -> str:
        if self.sink in (JSON_DELTA, AVRO_DELTA):
            return self.sink
        if self.sink == TYPED:
            return self.size.name
        if self.is_delta:
            return f"{self.size.name}-{self.sink}"
        return f"{self.size.name}-{self.codec}-{self.sink}"

    @property
    def is_delta(self) -> bool:
        return self.sink in (DELTA, JSON_DELTA, AVRO_DELTA)


SINK_CASES = tuple(Case(s, c, k) for s in SIZES for c in CODECS for k in SINKS)
# Key and value; see typed.py.
AVRO_SIZE = Size(60, "avro-registry", 4_000_000)
TYPED_SIZES = (
    Size(100, "json-flat", 2_000_000),
    Size(300, "json-nested", 2_000_000),
    AVRO_SIZE,
    Size(60, "protobuf", 4_000_000),
)
DELTA_CASES = (
    Case(SIZES[0], "lz4", DELTA),
    Case(SIZES[1], "lz4", DELTA),
    Case(SIZES[0], "lz4", JSON_DELTA),
    Case(AVRO_SIZE, "lz4", AVRO_DELTA),
)
TYPED_CASES = tuple(Case(size, "lz4", TYPED) for size in TYPED_SIZES)
# Of the records of 100B-lz4-noop, so that both can be compared.
VALUE_CASE = Case(SIZES[0], "lz4", VALUE)
CASES = {c.name: c for c in (*SINK_CASES, VALUE_CASE, *DELTA_CASES, *TYPED_CASES)}
SHORT = (*(f"100B-{codec}-noop" for codec in CODECS), "1kB-none-noop", "100B-delta")
EVERYTHING = (*CASES, TRIGGER, DECODE, MEMORY)


def chosen(text: str, short: bool = False) -> tuple[str, ...]:
    """Names, with * for any part of them, between commas or blanks; nothing means everything."""
    wanted = [word for word in re.split(r"[,\s]+", text) if word]
    if not wanted:
        return SHORT if short else EVERYTHING
    for word in wanted:
        if not any(fnmatchcase(name, word) for name in EVERYTHING):
            raise BenchError(
                f"CASES names {word!r}, and no case is called so. Give names like 100B-none-noop, "
                f"1kB-*-parquet, {TRIGGER}, {DECODE} or {MEMORY}, with commas or blanks between"
            )
    return tuple(n for n in EVERYTHING if any(fnmatchcase(n, word) for word in wanted))


def by_topic(names: Iterable[str]) -> dict[tuple[Size, str], list[Case]]:
    """The cases that read the same records: each topic is filled once and then goes away."""
    grouped: dict[tuple[Size, str], list[Case]] = {}
    for name in names:
        if case := CASES.get(name):
            grouped.setdefault((case.size, case.codec), []).append(case)
    return grouped
