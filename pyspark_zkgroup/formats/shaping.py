"""Raw columns become those of the reader: keys and values of a format are parsed, and bad records
become what the reader chose.

pyarrow.compute is imported where a record is bad: it makes a function of each kernel, which takes
longer than all else that a query imports at its start.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import BadRecordError, OptionError
from pyspark_zkgroup.formats.port import Format, Parser
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.schema import COLUMNS, CORRUPT, Column, arrow_schema, arrow_type

_log = logging.getLogger("pyspark_zkgroup.formats")
_PLACE = tuple(column for column in COLUMNS if column.name in ("topic", "partition", "offset"))


@dataclass(frozen=True, slots=True)
class RowShape:
    """The columns of rows. It travels to the tasks."""

    columns: tuple[Column, ...] = COLUMNS
    formats: tuple[tuple[str, Format], ...] = ()
    """Of those of them that are parsed."""
    permissive: bool = False
    """Whether bad records pass where there is no column for them."""


class Shaper:
    """Of one task."""

    def __init__(self, shape: RowShape) -> None:
        self._shape = shape
        self._schema = arrow_schema(shape.columns)
        self._parsers = {
            column.name: _parser(column, form)
            for column in shape.columns
            for name, form in shape.formats
            if column.name == name
        }
        self._has_corrupt = CORRUPT in shape.columns
        self._bad = 0
        self._first_bad = ""
        self.raw = self._raw() if self._parsers else shape.columns
        """What records are decoded to."""

    def shaped(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if not self._parsers:
            yield batch
            return
        (first, parser), *others = self._parsers.items()
        begin = 0
        for piece in parser.parse(batch.column(first)):
            part = batch.slice(begin, len(piece.values))
            begin += len(piece.values)
            values, reasons = {first: piece.values}, {first: piece.reasons}
            for name, other in others:
                found = list(other.parse(part.column(name)))
                values[name] = pa.concat_arrays([one.values for one in found])
                reasons[name] = pa.concat_arrays([one.reasons for one in found])
            yield self._row_batch(part, values, reasons)

    def finish(self) -> None:
        if self._bad:
            _log.warning(catalogue.warning("ZKG-197", count=self._bad, first=self._first_bad))

    def _raw(self) -> tuple[Column, ...]:
        asked = [column for column in self._shape.columns if column != CORRUPT]
        names = {column.name for column in asked}
        raw = [replace(one, type="binary") if one.name in self._parsers else one for one in asked]
        place = () if self._has_corrupt else _PLACE
        return (*raw, *(one for one in place if one.name not in names))

    def _row_batch(
        self, part: pa.RecordBatch, values: dict[str, pa.Array], reasons: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        if self._has_corrupt:
            values[CORRUPT.name] = _corrupt(part, reasons)
        elif any(len(one) - one.null_count for one in reasons.values()):
            self._note(part, reasons)
        arrays = [
            values[column.name] if column.name in values else part.column(column.name)
            for column in self._shape.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _note(self, part: pa.RecordBatch, reasons: dict[str, pa.Array]) -> None:
        import pyarrow.compute as pc

        told = _told(reasons)
        row = pc.index(pc.is_valid(told), True).as_py()
        partition = TopicPartition(part["topic"][row].as_py(), part["partition"][row].as_py())
        offset, reason = part["offset"][row].as_py(), told[row].as_py()
        if not self._shape.permissive:
            raise BadRecordError.of("bad", partition=partition, offset=offset, reason=reason)
        self._first_bad = self._first_bad or f"offset {offset} of {partition}: {reason}"
        self._bad += len(told) - told.null_count


def _parser(column: Column, form: Format) -> Parser:
    try:
        return form.parser(column.type)
    except ImportError as error:
        from pyspark_zkgroup.records.choice import remedy

        raise OptionError.of(
            "format_without_decoder",
            column=column.name,
            format=form.name,
            error=error,
            remedy=remedy(),
        ) from error


def _corrupt(part: pa.RecordBatch, reasons: dict[str, pa.Array]) -> pa.Array:
    import pyarrow.compute as pc

    told = _told(reasons)
    raw = [
        pc.if_else(pc.is_valid(found), part.column(name), pa.scalar(None, pa.binary()))
        for name, found in _by_importance(reasons)
    ]
    kind = arrow_type(CORRUPT.type)
    fields = [kind.field(at) for at in range(kind.num_fields)]
    return pa.StructArray.from_arrays(
        [pc.coalesce(*raw), told], fields=fields, mask=pc.is_null(told)
    )


def _told(reasons: dict[str, pa.Array]) -> pa.Array:
    import pyarrow.compute as pc

    named = [
        pc.binary_join_element_wise(name, found, ": ") for name, found in _by_importance(reasons)
    ]
    return pc.coalesce(*named)


def _by_importance(reasons: dict[str, pa.Array]) -> list[tuple[str, pa.Array]]:
    """Where both are bad, the value comes first."""
    return sorted(reasons.items(), reverse=True)
