"""Which Linux a shared library runs on, as a wheel says it: manylinux_2_34_x86_64 (PEP 600).

The name is a promise: a system with glibc 2.34 or later can load it, and nothing else is needed.
What the library needs is in its ELF tables: the libraries and versions of symbols it asks for. If
that does not make such a promise, an error says why, and the wheel keeps the name of the
machine it was built on (linux_x86_64), which no index takes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

MACHINES = {62: "x86_64", 183: "aarch64"}
# What PEP 600 lets a wheel expect of a system with glibc, as far as a Rust library ever asks.
OF_THE_SYSTEM = frozenset(
    {
        "ld-linux-aarch64.so.1",
        "ld-linux-x86-64.so.2",
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "librt.so.1",
    }
)
# Rust itself wants no less. The compilers of systems with it had libgcc_s in this version.
GLIBC_MIN = (2, 17)
GCC_MAX = (4, 8)

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_NEED = struct.Struct("<HHIII")
_VERSION = struct.Struct("<IHHII")
_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _NEEDS, _NEEDS_COUNT = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF


class NoPromiseError(Exception):
    """Why the library is not for every Linux from some glibc on."""


@dataclass(frozen=True)
class Needs:
    """`versions` are those of symbols, such as GLIBC_2.34, of whatever library."""

    machine: str
    libraries: frozenset[str]
    versions: frozenset[str]


def platform_tag(library: bytes) -> str:
    needs = needs_of(library)
    foreign = sorted(needs.libraries - OF_THE_SYSTEM)
    if foreign:
        raise NoPromiseError(f"it needs {', '.join(foreign)}, which not every Linux with glibc has")
    glibc = GLIBC_MIN
    for version in sorted(needs.versions):
        found = re.fullmatch(r"(GLIBC|GCC)_(\d+)\.(\d+)(?:\.\d+)?", version)
        if found is None or (found[1] == "GCC" and _pair(found) > GCC_MAX):
            raise NoPromiseError(f"it asks for symbols of the version {version}")
        if found[1] == "GLIBC":
            glibc = max(glibc, _pair(found))
    return f"manylinux_{glibc[0]}_{glibc[1]}_{needs.machine}"


def _pair(found: re.Match[str]) -> tuple[int, int]:
    return int(found[2]), int(found[3])


def needs_of(library: bytes) -> Needs:
    """As the loader finds it: by segments, since a stripped file may have no sections."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise NoPromiseError("it is not an ELF file of 64 bits with the low byte first")
    header = _HEADER.unpack_from(library)
    number, place, size, count = header[2], header[5], header[9], header[10]
    if number not in MACHINES:
        raise NoPromiseError(f"it is for a machine of ELF's number {number}")
    segments = [_SEGMENT.unpack_from(library, place + n * size) for n in range(count)]
    tags: dict[int, list[int]] = {}
    for tag, value in _dynamic(library, segments):
        tags.setdefault(tag, []).append(value)
    if _STRINGS not in tags:
        raise NoPromiseError("it is not a shared library")
    strings = _offset(segments, tags[_STRINGS][0])

    def text(at: int) -> str:
        return library[strings + at : library.index(b"\0", strings + at)].decode()

    versions = frozenset[str]()
    if _NEEDS in tags:
        first = _offset(segments, tags[_NEEDS][0])
        found = _versions(library, first, tags[_NEEDS_COUNT][0])
        versions = frozenset(text(name) for name in found)
    return Needs(MACHINES[number], frozenset(map(text, tags.get(_NEEDED, ()))), versions)


def _dynamic(library: bytes, segments: list[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    for kind, _, place, _, _, size, *_ in segments:
        if kind == _DYNAMIC:
            for at in range(place, place + size, _ENTRY.size):
                tag, value = _ENTRY.unpack_from(library, at)
                if tag == 0:
                    return
                yield tag, value


def _offset(segments: list[tuple[int, ...]], address: int) -> int:
    """Where in the file stands what is loaded to that address."""
    for kind, _, place, start, _, size, *_ in segments:
        if kind == _LOAD and start <= address < start + size:
            return place + address - start
    raise NoPromiseError(f"nothing of it is loaded to its address {address:#x}")


def _versions(library: bytes, at: int, count: int) -> Iterator[int]:
    """Where the names of versions stand. Those of weak symbols count too: a loader may insist."""
    for _ in range(count):
        _, versions, _, first, following = _NEED.unpack_from(library, at)
        one = at + first
        for _ in range(versions):
            _, _, _, name, further = _VERSION.unpack_from(library, one)
            yield name
            one += further
        at += following
