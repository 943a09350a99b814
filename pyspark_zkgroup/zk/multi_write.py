"""A transaction on the wire, written and read in bulk.

The same bytes as kazoo's own Transaction, which builds an object for each operation, normalises
every path again and keeps eleven numbers of each result. For ten thousand claims that takes longer
than the server does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, ClassVar

from kazoo.protocol.serialization import write_string

from pyspark_zkgroup.group.ops import Check, Create, NodeVersion, Op, SetData

_INT = Struct(">i")

_HEADER = Struct(">i?i")
_CZXID = Struct(">q")
_STAT_BYTES, _VERSION_AT = 68, 32
_CREATE, _DELETE, _SET_DATA, _CHECK, _ERROR = 1, 2, 5, 13, -1
_EPHEMERAL, _SEQUENTIAL = 1, 2
_HEADERS = {kind: _HEADER.pack(kind, False, -1) for kind in (_CREATE, _DELETE, _SET_DATA, _CHECK)}
_END = _HEADER.pack(-1, True, -1)


def acl_bytes(acl: Sequence[Any]) -> bytes:
    packed = bytearray(_INT.pack(len(acl)))
    for one in acl:
        packed += _INT.pack(one.perms) + write_string(one.id.scheme) + write_string(one.id.id)
    return bytes(packed)


@dataclass(frozen=True, slots=True)
class MultiWrite:
    """The answer holds, for each operation, the new version of a node that was set, None for any
    other that was done, and the server's error number for one that was not.
    """

    operations: Sequence[Op]
    chroot: str
    acl: bytes
    open_acl: bytes

    type: ClassVar[int] = 14

    def serialize(self) -> bytearray:
        b = bytearray()
        chroot = self.chroot
        for op in self.operations:
            path = (chroot + op.path).encode()
            if isinstance(op, SetData):
                b += _HEADERS[_SET_DATA] + _INT.pack(len(path)) + path
                b += _INT.pack(len(op.data)) + op.data + _INT.pack(op.version)
            elif isinstance(op, Create):
                b += _HEADERS[_CREATE] + _INT.pack(len(path)) + path
                b += _INT.pack(len(op.data)) + op.data
                b += self.open_acl if op.world_open else self.acl
                b += _INT.pack(_EPHEMERAL * op.ephemeral | _SEQUENTIAL * op.sequential)
            else:
                b += _HEADERS[_CHECK if isinstance(op, Check) else _DELETE]
                b += _INT.pack(len(path)) + path + _INT.pack(op.version)
        b += _END
        return b

    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> list[NodeVersion | int | None]:  # noqa: A002 - kazoo's name
        found: list[NodeVersion | int | None] = []
        kind, done, _ = _HEADER.unpack_from(bytes, offset)
        while not done:
            offset += _HEADER.size
            if kind == _SET_DATA:
                (czxid,) = _CZXID.unpack_from(bytes, offset)
                (version,) = _INT.unpack_from(bytes, offset + _VERSION_AT)
                found.append(NodeVersion(czxid, version))
                offset += _STAT_BYTES
            elif kind == _ERROR:
                (error,) = _INT.unpack_from(bytes, offset)
                found.append(error)
                offset += _INT.size
            else:
                found.append(None)
                if kind == _CREATE:
                    (length,) = _INT.unpack_from(bytes, offset)
                    offset += _INT.size + length
            kind, done, _ = _HEADER.unpack_from(bytes, offset)
        return found
