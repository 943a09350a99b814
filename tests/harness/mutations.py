"""Record batches with a few bytes changed, most of them with a checksum that fits again: a decoder
that looks at the checksum first would otherwise never see them.

    python -m tests.harness.mutations --seconds 600 [--seed N] [--extension FILE]

compares the native decoder with the reference on as many as there is time for; `make fuzz` is the
same. `--extension` takes the native decoder from a file instead of from where it is installed. What
it finds is to be kept in golden/mutations, which every run begins with.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.schema import COLUMNS, WITH_HEADERS
from tests.harness.record_batches import (
    APPEND_TIME_BIT,
    CODECS,
    CONTROL_BIT,
    NONE,
    TRANSACTIONAL_BIT,
    Record,
    batch,
    compress,
    marker,
    old_messages,
    seal,
)

if TYPE_CHECKING:
    from tests.harness.decoders import Fed  # which imports the native decoder

GOLDEN = Path(__file__).parent / "golden"
EXTENSION = "pyspark_zkgroup.records._decoder"
_RECORDS_AT = 61

_RECORDS = [
    Record(100, b"k0", b"v0" * 40, 1_700_000_000_000),
    Record(101, None, b"v1", 1_700_000_000_001, headers=[("h", b"x"), ("h\u00e9", None)]),
    Record(102, b"", None, 1_700_000_000_002),
    Record(105, b"k5" * 40, b"", 1_699_999_999_999),
    Record(106, None, None, 1_700_000_000_003, headers=[("", b""), (b"\xed\xa0\x80", b"y")]),
]
_TP = TopicPartition("orders", 3)
_ABORTED = (AbortedTransaction(7, 101), AbortedTransaction(7, 109), AbortedTransaction(8, 0))


@dataclass(frozen=True)
class Case:
    data: bytes
    start: int = 0
    until: int = 2**62
    aborted: tuple[AbortedTransaction, ...] = ()
    headers: bool = True

    @property
    def fed(self) -> Fed:
        from tests.harness.decoders import Fed

        return Fed(_TP, OffsetRange(self.start, self.until), self.data, self.aborted)


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
        marker(107, 7),
        marker(107, 7, aborts=False),
        batch(_RECORDS, attributes=TRANSACTIONAL_BIT, producer_id=7),
        _transactions(),
    ]
    # More than a test lets one batch become.
    large = batch([Record(0, None, bytes(200_000))])[_RECORDS_AT:]
    made += [
        batch([Record(0)], codec=codec, packed=compress(codec, large))
        for codec in CODECS.values()
        if codec != NONE
    ]
    for folder in ("records", "clients", "mutations"):
        made += [path.read_bytes() for path in sorted((GOLDEN / folder).glob("*.bin"))]
    return made


def _transactions() -> bytes:
    def one(offset: int, producer_id: int, codec: int = NONE) -> bytes:
        bits = TRANSACTIONAL_BIT
        record = Record(offset, headers=[("h", b"x")])
        return batch([record], codec=codec, attributes=bits, producer_id=producer_id)

    zstd = CODECS["zstd"]
    aborted = one(101, 7) + one(102, 8, zstd) + marker(103, 7) + one(104, 7, zstd)
    return aborted + marker(105, 8) + one(106, 8) + marker(107, 8, aborts=False) + one(109, 7)


def mutated(chance: random.Random, data: bytes) -> bytes:
    """One or all of the batches that `data` holds, changed."""
    if len(data) > _RECORDS_AT and data[16] == 2 and chance.random() < 0.3:
        return _repacked(chance, data)
    frames = _frames(data)
    if len(frames) > 1 and chance.random() < 0.7:
        at = chance.randrange(len(frames))
        frames[at] = seal(_long_enough(_changed(chance, frames[at])))
        return b"".join(frames)
    changed = _changed(chance, data)
    if len(changed) > _RECORDS_AT and chance.random() < 0.9:
        changed[16] = 2
        return seal(changed)
    return bytes(changed)


def _frames(data: bytes) -> list[bytes]:
    """Its batches, if all of them are of magic 2."""
    found, at = [], 0
    while at + _RECORDS_AT <= len(data) and data[at + 16] == 2:
        (length,) = struct.unpack_from(">i", data, at + 8)
        found.append(data[at : at + 12 + length])
        at += len(found[-1])
        if length < 0:
            return []
    return found if at == len(data) else []


def _long_enough(changed: bytearray) -> bytearray:
    changed += bytes(max(0, _RECORDS_AT - len(changed)))
    changed[16] = 2
    return changed


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


def cases(chance: random.Random) -> Iterator[Case]:
    """Without end; the seeds themselves come first."""
    known = seeds()
    for data in known:
        yield Case(data)
        yield Case(data, headers=False)
        yield Case(data, aborted=_ABORTED)
    while True:
        start = chance.choice([0, 0, 0, 101, 103])
        yield Case(
            mutated(chance, chance.choice(known)),
            start,
            chance.choice([2**62, 2**62, 105]),
            chance.choice([(), _ABORTED]),
            chance.random() < 0.7,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--extension", type=Path)
    asked = parser.parse_args()
    if asked.extension is not None:
        load(asked.extension)
    from tests.harness.decoders import disagreement

    deadline = time.monotonic() + asked.seconds
    print(f"seed {asked.seed}", flush=True)
    for number, case in enumerate(cases(random.Random(asked.seed))):
        if time.monotonic() > deadline:
            print(f"{number} executions, 0 findings")
            return
        found = disagreement([case.fed], columns=WITH_HEADERS if case.headers else COLUMNS)
        if found is not None:
            print(f"{number + 1} executions, 1 finding: {case}\n{case.data.hex()}")
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
