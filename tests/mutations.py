"""Record batches with a few bytes changed, most of them with a checksum that fits again: a decoder
that looks at the checksum first would otherwise never see them.

    python -m tests.mutations --seconds 600 [--seed N] [--extension FILE]

compares the native decoder with the reference on as many as there is time for. `--extension` takes
the native decoder from a file instead of from where it is installed. What it finds is to be kept in
golden/mutations, which every run begins with.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.record_batches import (
    APPEND_TIME_BIT,
    CODECS,
    CONTROL_BIT,
    Record,
    batch,
    compress,
    old_messages,
    seal,
)

GOLDEN = Path(__file__).parent / "golden"
EXTENSION = "pyspark_zkgroup.records._decoder"
_RECORDS_AT = 61

_RECORDS = [
    Record(100, b"k0", b"v0" * 40, 1_700_000_000_000),
    Record(101, None, b"v1", 1_700_000_000_001, headers=[("h", b"x"), ("h\u00e9", None)]),
    Record(102, b"", None, 1_700_000_000_002),
    Record(105, b"k5" * 40, b"", 1_699_999_999_999),
    Record(106, None, None, 1_700_000_000_003, headers=[("", b"")]),
]


def seeds() -> list[bytes]:
    """What is changed: batches of every form, from here and from real brokers."""
    made = [batch(_RECORDS, codec=codec) for codec in CODECS.values()]
    made += [
        batch(_RECORDS, attributes=APPEND_TIME_BIT),
        batch(_RECORDS[:1], attributes=CONTROL_BIT),
        batch([], base_offset=50, last_offset=60),
        batch([Record(n, b"%d" % n) for n in range(300)]),
        old_messages(_RECORDS, magic=1),
        batch(_RECORDS[:2]) + batch(_RECORDS[2:], codec=CODECS["lz4"]),
    ]
    # More than a test lets one batch become.
    large = batch([Record(0, None, bytes(200_000))])[_RECORDS_AT:]
    made += [
        batch([Record(0)], codec=codec, packed=compress(codec, large)) for codec in CODECS.values()
    ]
    for folder in ("records", "mutations"):
        made += [path.read_bytes() for path in sorted((GOLDEN / folder).glob("*.bin"))]
    return made


def mutated(chance: random.Random, data: bytes) -> bytes:
    """One of the batches that `data` holds, changed."""
    if len(data) > _RECORDS_AT and data[16] == 2 and chance.random() < 0.3:
        return _repacked(chance, data)
    changed = _changed(chance, data)
    if len(changed) > _RECORDS_AT and chance.random() < 0.9:
        changed[16] = 2
        return seal(changed)
    return bytes(changed)


def _repacked(chance: random.Random, data: bytes) -> bytes:
    """Changes records, then packs them, so that all of it unpacks."""
    codec = chance.choice(list(CODECS.values()))
    count = chance.randrange(1, 6)
    plain = batch(_RECORDS[:count])
    changed = _changed(chance, plain[_RECORDS_AT:])
    head = bytearray(plain[:_RECORDS_AT])
    if chance.random() < 0.3:
        at = chance.randrange(21, _RECORDS_AT)
        head[at] = chance.randrange(256)
    head[22] = head[22] & ~7 | codec
    return seal(head + compress(codec, bytes(changed)))


def _changed(chance: random.Random, data: bytes) -> bytearray:
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        at = chance.randrange(len(changed) + 1)
        end = min(len(changed), at + chance.choice([1, 1, 2, 4, 8, 30]))
        match chance.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(changed):
                changed[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF, chance.randrange(256)])
            case 2 if at < len(changed):  # a length, or what is one in a record, off by a little
                changed[at] = (changed[at] + chance.choice([-2, -1, 1, 2])) % 256
            case 3:
                changed[at:end] = b""
            case 4:
                changed[at:at] = chance.randbytes(chance.choice([1, 1, 2, 8]))
            case 5:
                changed[at:at] = changed[at:end]
            case 6 if at + 4 <= len(changed):
                number = chance.choice([-1, 0, 1, 2**31 - 1, -(2**31), len(changed)])
                struct.pack_into(">i", changed, at, number)
    return changed


def cases(chance: random.Random) -> Iterator[tuple[bytes, int, int]]:
    """A batch and the range that is wanted of it, without end; the seeds themselves come first."""
    known = seeds()
    for data in known:
        yield data, 0, 2**62
    while True:
        start = chance.choice([0, 0, 0, 101, 103])
        until = chance.choice([2**62, 2**62, 105])
        yield mutated(chance, chance.choice(known)), start, until


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--extension", type=Path)
    asked = parser.parse_args()
    if asked.extension is not None:
        load(asked.extension)
    from pyspark_zkgroup.model import OffsetRange
    from tests.decoders import TP, disagreement

    deadline = time.monotonic() + asked.seconds
    print(f"seed {asked.seed}", flush=True)
    for number, (data, start, until) in enumerate(cases(random.Random(asked.seed))):
        if time.monotonic() > deadline:
            print(f"{number} cases, nothing found")
            return
        found = disagreement([(TP, OffsetRange(start, until), data)])
        if found is not None:
            print(f"case {number}, [{start}, {until}): {data.hex()}")
            sys.exit(found[:2000])


def load(extension: Path) -> None:
    spec = importlib.util.spec_from_file_location(EXTENSION, extension)
    if spec is None or spec.loader is None:
        raise ImportError(f"no extension: {extension}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[EXTENSION] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
