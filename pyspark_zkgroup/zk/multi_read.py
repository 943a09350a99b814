"""Many reads in one request. ZooKeeper has it since 3.6, kazoo has not; an older server refuses it.

No watch can be set this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kazoo.protocol.serialization import (
    MultiHeader,
    ZnodeStat,
    bool_struct,
    int_struct,
    read_buffer,
    stat_struct,
    write_string,
)

_GET_DATA = 4
_ERROR = -1
_NO_NODE = -101


@dataclass(frozen=True, slots=True)
class MultiRead:
    """The answer holds (data, stat) for each path, None for one that is missing, and the server's
    error number for one that may not be read.
    """

    paths: tuple[str, ...]

    type: ClassVar[int] = 22

    def serialize(self) -> bytearray:
        b = bytearray()
        header = MultiHeader(_GET_DATA, False, -1).serialize()
        for path in self.paths:
            b += header
            b += write_string(path)
            b += bool_struct.pack(False)
        b += MultiHeader(-1, True, -1).serialize()
        return b

    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> list[Any]:  # noqa: A002 - kazoo's name
        found: list[Any] = []
        header, offset = MultiHeader.deserialize(bytes, offset)
        while not header.done:
            if header.type == _ERROR:
                (error,) = int_struct.unpack_from(bytes, offset)
                offset += int_struct.size
                found.append(None if error == _NO_NODE else error)
            else:
                data, offset = read_buffer(bytes, offset)
                stat = ZnodeStat._make(stat_struct.unpack_from(bytes, offset))
                offset += stat_struct.size
                found.append((data, stat))
            header, offset = MultiHeader.deserialize(bytes, offset)
        return found
