"""A column of bytes goes to a native parser, and comes back as Arrow arrays, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from pyspark_zkgroup.formats.port import Parsed
from pyspark_zkgroup.records.native import to_array

if TYPE_CHECKING:
    from pyspark_zkgroup.records import _decoder

BinaryColumn = tuple[bytes | None, bytes, bytes]


def pieces(
    column: pa.BinaryArray,
    kind: pa.DataType,
    parse: Callable[[BinaryColumn, int, int], _decoder.Parsed],
    learn: Callable[[int], None],
) -> Iterator[Parsed]:
    """`learn` is called with a schema that the parser asks for, and has made it known after."""
    validity, ends, data = (
        None if buffer is None else buffer.to_pybytes() for buffer in column.buffers()
    )
    begin, end = column.offset, column.offset + len(column)
    while begin < end:
        found = parse((validity, ends or b"", data or b""), begin, end)
        begin += found.rows
        if found.rows:
            yield Parsed(
                to_array(kind, found.values), to_array(pa.string(), found.reasons), found.bad
            )
        if found.unknown is not None:
            learn(found.unknown)
