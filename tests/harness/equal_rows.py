"""Compares the rows of a native parser with those of Spark's own function, and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from pyspark_zkgroup.formats.port import Parser
from tests.harness.plain_rows import plain, simple


@dataclass
class Tally:
    counted: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def take(
        self, shown: object, value: bytes, our: Any, their: Any, reason: str | None, refusal: object
    ) -> None:
        """`refusal` is what the page of the format says of this difference, if it is one."""
        self.counted["values"] += 1
        self.counted["bad"] += reason is not None
        if our == their:
            self.counted["equal"] += 1
        elif refusal:
            self.counted[str(refusal)] += 1
        else:
            self.different.append(f"{shown}: {value!r}\n{our} ({reason})\n{their}")

    def tell(self, number: int) -> None:
        print(number, dict(self.counted), f"{len(self.different)} differences", flush=True)

    def check(self) -> None:
        assert self.counted["bad"] >= 0.3 * self.counted["values"]
        assert self.counted["equal"] >= 0.95 * self.counted["values"]
        assert self.different == [], "\n".join(self.different[:10])


def frame_of(spark: SparkSession, drawn: Sequence[bytes]) -> DataFrame:
    """The values, numbered."""
    numbers = pa.array(range(len(drawn)), pa.int32())
    return spark.createDataFrame(pa.table({"n": numbers, "value": pa.array(drawn, pa.binary())}))


def of_spark(frame: DataFrame, read: Column) -> list[Any]:
    rows = frame.select("n", read.alias("found")).toArrow().sort_by("n")
    return plain(pa.concat_arrays(rows["found"].chunks))


def of_native(parser: Parser, drawn: Sequence[bytes]) -> tuple[list[Any], list[str | None]]:
    rows: list[Any] = []
    reasons: list[str | None] = []
    for piece in parser.parse(pa.array(drawn, pa.binary())):
        # Texts have the bytes of the record, as in Spark, also those that are no UTF-8.
        piece.values.cast(simple(piece.values.type)).validate(full=True)
        rows += plain(piece.values)
        reasons += piece.reasons.to_pylist()
    return rows, reasons
