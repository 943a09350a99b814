"""Where record batches begin and end in what a broker sent. Looks at headers only; nothing is
unpacked or trusted.

Both forms share their first 17 bytes, which is all that finding the next one takes:

    record batch (magic 2)       base offset 8, length 4, leader epoch 4, magic 1, crc 4,
                                 attributes 2, last offset delta 4, and so on
    old message (magic 0 and 1)  offset 8, length 4, crc 4, magic 1, attributes 1, and so on

`length` counts what follows it. A broker may cut the last batch short where the requested size
ends.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_OVERHEAD = 12
_HEAD = struct.Struct(">qi4xb")
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23
_OLD_ATTRIBUTES_AT = 17
_OLD_CODEC_MASK = 0x07
_SIZE_MIN = (26, 34, 61)  # by magic: a whole message or batch that holds nothing


class FramingError(Exception):
    """These bytes cannot be what a broker keeps; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Frames:
    size: int
    """Bytes of whole batches, up to the first that begins at `until` or later."""
    next_offset: int
    """Where to continue reading; the position itself if there was no whole batch."""


def frames(data: bytes | memoryview, position: int, until: int) -> Frames:
    """The whole batches of an answer to a fetch at `position`."""
    at = 0
    next_offset = position
    total = len(data)
    while total - at >= _HEAD.size and next_offset < until:
        offset, length, magic = _HEAD.unpack_from(data, at)
        if not 0 <= magic <= 2:
            raise FramingError(f"a record batch of unknown format {magic} at byte {at}")
        if offset < 0 or length + _OVERHEAD < _SIZE_MIN[magic]:
            raise FramingError(f"a record batch with offset {offset}, length {length} at byte {at}")
        end = at + _OVERHEAD + length
        if end > total:
            break
        # A compressed old message has the offset of its last record, all else that of the first.
        is_last = magic < 2 and data[at + _OLD_ATTRIBUTES_AT] & _OLD_CODEC_MASK
        if offset >= until and not is_last:
            return Frames(at, until)
        after = offset + 1
        if magic == 2:
            (delta,) = _LAST_OFFSET_DELTA.unpack_from(data, at + _LAST_OFFSET_DELTA_AT)
            if delta < 0:
                raise FramingError(f"a record batch that ends before it begins at byte {at}")
            after += delta
        next_offset = max(next_offset, after)
        at = end
    return Frames(at, next_offset)
