"""A broker's answer to a fetch, taken apart without copying the records in it.

kafka-python's generated class copies them twice. This knows versions 0 to 11, which hold numbers,
texts and arrays with their lengths in front:

    [throttle time 4, from 1] [error 2, session 4, from 7] topics: name, partitions:
        number 4, error 2, high watermark 8,
        [last stable offset 8, from 4] [log start 8, from 5] [aborted transactions, from 4]
        [preferred replica 4, from 11] size 4, records

From 12 on the form is another, and nothing in it is of use to a task.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from pyspark_zkgroup.model import AbortedTransaction

API_KEY = 1
VERSION_MAX = 11

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_PARTITION = struct.Struct(">ihq")
_OFFSET = struct.Struct(">q")
_ABORTED = struct.Struct(">qq")
_NO_OFFSET = -1
_NOWHERE = -1


class ResponseError(Exception):
    """These bytes are no answer to a fetch; the text says why."""


@dataclass(frozen=True, slots=True)
class PartitionData:
    topic: str
    partition: int
    error_code: int
    high_watermark: int
    last_stable_offset: int = _NO_OFFSET
    """-1 where the broker does not tell."""
    aborted: tuple[AbortedTransaction, ...] = ()
    records: memoryview = field(default=memoryview(b""), repr=False)
    near_replica: int = _NOWHERE
    """Another broker to read from; only told to those who name a rack."""


@dataclass(frozen=True, slots=True)
class FetchResponse:
    throttle_time_ms: int
    error_code: int
    partitions: tuple[PartitionData, ...]


def parse(data: memoryview, version: int) -> FetchResponse:
    """`data` is what follows the correlation id; records are views of it."""
    if not 0 <= version <= VERSION_MAX:
        raise ResponseError(f"version {version}, not one of 0 to {VERSION_MAX}")
    reader = _Reader(data)
    try:
        throttle_time_ms = reader.int32() if version >= 1 else 0
        error_code = reader.int16() if version >= 7 else 0
        if version >= 7:
            reader.int32()  # the fetch session, of which none is opened
        partitions: list[PartitionData] = []
        for _ in range(reader.count()):
            topic = reader.text()
            partitions += [_partition(reader, topic, version) for _ in range(reader.count())]
    except (struct.error, UnicodeDecodeError) as error:
        raise ResponseError(f"it is cut short or garbled: {error}") from error
    if reader.at != len(data):
        raise ResponseError(f"it continues for {len(data) - reader.at} bytes after its end")
    return FetchResponse(throttle_time_ms, error_code, tuple(partitions))


def _partition(reader: _Reader, topic: str, version: int) -> PartitionData:
    number, error_code, high_watermark = reader.unpack(_PARTITION)
    last_stable_offset = _NO_OFFSET
    aborted: tuple[AbortedTransaction, ...] = ()
    if version >= 4:
        (last_stable_offset,) = reader.unpack(_OFFSET)
        if version >= 5:
            reader.unpack(_OFFSET)  # the log's start
        aborted = tuple(AbortedTransaction(*reader.unpack(_ABORTED)) for _ in range(reader.count()))
    near_replica = reader.int32() if version >= 11 else _NOWHERE
    return PartitionData(
        topic,
        number,
        error_code,
        high_watermark,
        last_stable_offset,
        aborted,
        reader.block(),
        near_replica,
    )


class _Reader:
    def __init__(self, data: memoryview) -> None:
        self.at = 0
        self._data = data

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        found = form.unpack_from(self._data, self.at)
        self.at += form.size
        return found

    def int16(self) -> int:
        return self.unpack(_INT16)[0]

    def int32(self) -> int:
        return self.unpack(_INT32)[0]

    def count(self) -> int:
        """Of an array; a null one has none. One that lies runs into the end of the data."""
        return max(0, self.int32())

    def text(self) -> str:
        return str(self._take(self.int16()), "utf-8")

    def block(self) -> memoryview:
        return self._take(max(0, self.int32()))

    def _take(self, size: int) -> memoryview:
        if not 0 <= size <= len(self._data) - self.at:
            raise ResponseError(f"a length of {size} at byte {self.at} of {len(self._data)}")
        found = self._data[self.at : self.at + size]
        self.at += size
        return found
