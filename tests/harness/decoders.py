"""Compares the native decoder with the reference: both decode the same bytes.

Compared are rows with all their columns, the sizes of the batches they come in, and where an error
says the damage is. Only the wording of the reasons may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Decoder, Limits
from pyspark_zkgroup.records.native import NativeDecoder
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import WITH_HEADERS, Column, arrow_schema

Columns = tuple[Column, ...]
TP = TopicPartition("orders", 3)
LIMITS = Limits(rows_max=7, bytes_max=200, unpacked_bytes_max=100_000)
ALL = OffsetRange(0, 2**62)


class Fed(NamedTuple):
    partition: TopicPartition
    wanted: OffsetRange
    data: bytes
    aborted: tuple[AbortedTransaction, ...] = ()


@dataclass(frozen=True)
class Outcome:
    batches: tuple[pa.RecordBatch, ...]
    """Before the error, if there was one."""
    error: FetchError | None


def outcome(decoder: Decoder, fed: Sequence[Fed]) -> Outcome:
    found: list[pa.RecordBatch] = []
    try:
        for one in fed:
            found += decoder.feed(one.partition, one.wanted, memoryview(one.data), one.aborted)
        found += decoder.finish()
    except FetchError as error:
        return Outcome(tuple(found), error)
    return Outcome(tuple(found), None)


def disagreement(
    fed: Sequence[Fed], *, limits: Limits = LIMITS, columns: Columns = WITH_HEADERS
) -> str | None:
    """None if both decoders make the same of it."""
    native = NativeDecoder(limits, columns)
    reference = ReferenceDecoder(limits, columns)
    ours, expected = outcome(native, fed), outcome(reference, fed)
    for batch in ours.batches:
        # Text keeps bytes that are not UTF-8, so only what lies around them can be validated.
        batch.validate(full=all(one.type != "string" for one in columns if one.name != "topic"))
        if batch.schema != arrow_schema(columns):
            return f"the schema {batch.schema}"
    if ours.error is None and expected.error is None:
        return _different_rows(ours, expected, columns, may_be_cut_otherwise=native.referred > 0)
    if ours.error is None or expected.error is None:
        return f"native: {ours.error or 'rows'}; reference: {expected.error or 'rows'}"
    places = [(e.topic, e.partition, e.offset) for e in (ours.error, expected.error)]
    return None if places[0] == places[1] else f"damage at {places[0]}, not {places[1]}"


def _different_rows(
    ours: Outcome, expected: Outcome, columns: Columns, *, may_be_cut_otherwise: bool
) -> str | None:
    schema = arrow_schema(columns)
    tables = [pa.Table.from_batches(o.batches, schema) for o in (ours, expected)]
    if not tables[0].equals(tables[1]):
        return f"native: {tables[0].to_pydict()}; reference: {tables[1].to_pydict()}"
    sizes = [[batch.num_rows for batch in o.batches] for o in (ours, expected)]
    if sizes[0] != sizes[1] and not may_be_cut_otherwise:
        return f"native: batches of {sizes[0]} rows; reference: {sizes[1]}"
    return None
