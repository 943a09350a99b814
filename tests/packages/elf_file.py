"""The smallest shared library that says what it needs: a header, two segments and their tables."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

X86_64, AARCH64, ARM = 62, 183, 40
BASE = 0x40000
_HEADER_BYTES, _SEGMENT_BYTES = 64, 56
_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _NEEDS, _NEEDS_COUNT = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF


def elf_file(
    libraries: Sequence[str],
    versions: Mapping[str, Sequence[str]],
    *,
    machine: int = X86_64,
    segments: int = 2,
) -> bytes:
    """`versions`: of which library it wants symbols in which versions."""
    strings = b"\0"
    places: dict[str, int] = {}
    for text in (*libraries, *versions, *(name for names in versions.values() for name in names)):
        places.setdefault(text, len(strings))
        strings += text.encode() + b"\0"
    at = _HEADER_BYTES + 2 * _SEGMENT_BYTES
    needs = _needs(versions, places)
    dynamic = [(_NEEDED, places[name]) for name in libraries]
    dynamic += [(_STRINGS, BASE + at)]
    if versions:
        dynamic += [(_NEEDS, BASE + at + len(strings)), (_NEEDS_COUNT, len(versions))]
    # Behind the end of the list may stand anything.
    table = b"".join(struct.pack("<qQ", *entry) for entry in (*dynamic, (0, 0), (_NEEDED, 1 << 40)))
    start = at + len(strings) + len(needs)
    whole = start + len(table)
    header = struct.pack(
        *("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, _HEADER_BYTES, 0, 0),
        *(_HEADER_BYTES, _SEGMENT_BYTES, segments, 0, 0, 0),
    )
    load = struct.pack("<IIQQQQQQ", _LOAD, 4, 0, BASE, BASE, whole, whole, 4096)
    told = struct.pack("<IIQQQQQQ", _DYNAMIC, 4, start, BASE + start, 0, len(table), 0, 8)
    return header + load + told + strings + needs + table


def _needs(versions: Mapping[str, Sequence[str]], places: Mapping[str, int]) -> bytes:
    found = b""
    for n, (library, names) in enumerate(versions.items(), 1):
        size = 16 * (1 + len(names))
        following = size if n < len(versions) else 0
        found += struct.pack("<HHIII", 1, len(names), places[library], 16, following)
        for k, name in enumerate(names, 1):
            further = 16 if k < len(names) else 0
            found += struct.pack("<IHHII", 0, 0, k + 1, places[name], further)
    return found
