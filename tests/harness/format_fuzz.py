"""Any bytes into the native parsers of formats, compared with a reference in plain Python.

    python -m tests.harness.format_fuzz json|avro|protobuf --seconds 600 [--seed N]

draws a schema, and values that are well-formed, damaged or random. Both read the same, or one of
them refuses a value for a reason that the reference knows; `make fuzz-formats` runs all three.
Prints what it has done, the longest time of a batch and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pyspark_zkgroup.formats.avro.native import AvroParser
from pyspark_zkgroup.formats.avro.types import spark_type as avro_type
from pyspark_zkgroup.formats.avro.writers import OneWriter
from pyspark_zkgroup.formats.json.native import JsonParser
from pyspark_zkgroup.formats.port import Parser
from pyspark_zkgroup.formats.protobuf.format import ProtobufFormat
from pyspark_zkgroup.formats.protobuf.native import ProtobufParser
from pyspark_zkgroup.formats.protobuf.program import steps
from pyspark_zkgroup.formats.protobuf.sources import described, messages_of
from pyspark_zkgroup.formats.protobuf.types import spark_type as protobuf_type
from pyspark_zkgroup.registry.access import RegisteredSchema
from tests.harness import drawn_avro, drawn_json, drawn_protobuf, json_rows, protobuf_rows
from tests.harness.avro_rows import AvroReference
from tests.harness.plain_rows import plain

BROKEN = 0.7
SECONDS_MAX = 10.0
"""Of the processor, for a batch."""
MEMORY_MAX = 2 * 1024 * 1024
"""Of the process, in KiB."""
Chance = random.Random


@dataclass(frozen=True)
class Drawn:
    """A schema: how it is shown, its parser, a value of it, and what the reference says."""

    shown: object
    parser: Parser
    value: Callable[[], bytes]
    disagreement: Callable[[bytes, Any, str | None], str | None]


@dataclass
class Tally:
    values: int = 0
    bad: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return (
            f"{self.values} values, {self.bad} of them bad, {len(self.findings)} findings; "
            f"longest batch {self.seconds:.2f} s, largest memory {memory // 1024} MiB"
        )


def drawn_of_json(chance: Chance) -> Drawn:
    kind = drawn_json.schema(chance)
    return Drawn(
        kind,
        JsonParser(kind, "UTC"),
        lambda: drawn_json.value(chance, kind, BROKEN),
        lambda value, our, reason: json_rows.disagreement(kind, value, our, reason),
    )


def drawn_of_avro(chance: Chance) -> Drawn:
    found = drawn_avro.schema(chance)
    schema = drawn_avro.parsed(found)
    writer = OneWriter(RegisteredSchema(json.dumps(found)), "plain")
    return Drawn(
        found,
        AvroParser(avro_type(schema), "value", "plain", writer),
        lambda: drawn_avro.value(chance, found, schema, BROKEN),
        AvroReference(found, schema).disagreement,
    )


def drawn_of_protobuf(chance: Chance) -> Drawn:
    data = drawn_protobuf.descriptor(chance)
    kind = protobuf_rows.message_class(data, drawn_protobuf.ROOT)
    message = messages_of(described(data)).named(drawn_protobuf.ROOT)
    column = protobuf_type(message)
    form = ProtobufFormat("value", None, tuple(steps(message, column, "value")))
    return Drawn(
        data.hex(),
        ProtobufParser(column, form),
        lambda: drawn_protobuf.value(chance, kind, BROKEN),
        lambda value, our, reason: protobuf_rows.disagreement(kind, value, our, reason),
    )


FORMATS = {"json": drawn_of_json, "avro": drawn_of_avro, "protobuf": drawn_of_protobuf}


def fuzz(name: str, seed: int, seconds: float) -> Tally:
    """Until a finding, or for that time."""
    chance, tally = random.Random(seed), Tally()
    deadline = time.monotonic() + seconds
    while not tally.findings and time.monotonic() < deadline:
        _batch(FORMATS[name](chance), chance, tally)
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MEMORY_MAX:
        tally.findings.append("it takes too much memory")
    return tally


def _batch(drawn: Drawn, chance: Chance, tally: Tally) -> None:
    values = [drawn.value() for _ in range(50)]
    values += [chance.randbytes(chance.randrange(60)) for _ in range(20)]
    rows: list[Any] = []
    reasons: list[str | None] = []
    begun = time.process_time()
    pieces = list(drawn.parser.parse(pa.array(values, pa.binary())))
    spent = time.process_time() - begun
    tally.seconds = max(tally.seconds, spent)
    if spent > SECONDS_MAX:
        tally.findings.append(f"{drawn.shown}: {spent:.1f} s for {values}")
    for piece in pieces:
        piece.values.validate()
        rows += plain(piece.values)
        reasons += piece.reasons.to_pylist()
    for value, our, reason in zip(values, rows, reasons, strict=True):
        tally.values += 1
        tally.bad += reason is not None
        found = drawn.disagreement(value, our, reason)
        if found is not None:
            tally.findings.append(f"{drawn.shown}: {value!r}\n{our} ({reason})\n{found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    asked = parser.parse_args()
    print(f"{asked.format}: seed {asked.seed}", flush=True)
    tally = fuzz(asked.format, asked.seed, asked.seconds)
    print(f"{asked.format}: {tally}", flush=True)
    if tally.findings:
        sys.exit(tally.findings[0][:5000])


if __name__ == "__main__":
    main()
