"""Records as services write them, and ready-made batches of them.

Values are JSON: some fields that repeat (names, kinds, a city), some that hardly do (numbers, a
time) and one that cannot be compressed (an id), filled up with words, the frequent ones more often.
The report has the compressed size, which is the same for both sources.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from functools import cache

from tests.harness.record_batches import CODECS, seal
from zkgroup_sandbox.record_batch import Event, encode_batch

Pack = Callable[[str, bytes], bytes]
"""The codec's name and the data to compress."""

HEAD_BYTES = 61
ATTRIBUTES_AT = 21
KEY_BYTES = 10
SEED = 7
TIMESTAMP_MS = 1_790_000_000_000
DISTINCT_BATCHES = 48
WORDS = 2_000
TEXT_BYTES = 64 * 1024
SYLLABLES = [first + second for first in "bdgklmnprstvz" for second in "aeio"]


def plain_batches(
    record_bytes: int,
    batch_records: int,
    distinct: int = DISTINCT_BATCHES,
    make_event: Callable[[random.Random], Event] | None = None,
) -> list[bytes]:
    """Batches without compression, each of them another."""
    chance = random.Random(SEED)
    make_event = make_event or (lambda chance: event(chance, record_bytes))
    return [
        encode_batch(
            [make_event(chance) for _ in range(batch_records)],
            timestamp_ms=TIMESTAMP_MS + number,
        )
        for number in range(distinct)
    ]


def packed(plain: bytes, codec: str, pack: Pack) -> bytes:
    """The batch with its records compressed."""
    if codec == "none":
        return plain
    built = bytearray(plain[:HEAD_BYTES]) + pack(codec, plain[HEAD_BYTES:])
    struct.pack_into(">h", built, ATTRIBUTES_AT, CODECS[codec])
    return seal(built)


def at_offset(batch: bytes, base: int) -> bytes:
    """As a broker keeps it: the checksum does not cover the offset."""
    return struct.pack(">q", base) + batch[8:]


def event(chance: random.Random, record_bytes: int) -> Event:
    """Key and value together are exactly of that size."""
    customer = chance.randrange(5_000)
    fields = {
        "kind": chance.choice(("order", "order", "payment", "refund")),
        "id": f"{chance.getrandbits(48):012x}",
        "amount": chance.randrange(10_000) / 100,
    }
    if record_bytes >= 500:
        fields |= {
            "made_ms": TIMESTAMP_MS + chance.randrange(10_000_000),
            "city": chance.choice(_vocabulary()),
            "trace": f"{chance.getrandbits(128):032x}",
        }
    value = json.dumps(fields, separators=(",", ":"))[:-1] + ',"text":"'
    room = record_bytes - KEY_BYTES - len(value) - 2
    return f"c{customer:09d}".encode(), (value + _text(chance, room) + '"}').encode()


def _text(chance: random.Random, size: int) -> str:
    words: list[str] = []
    length = 0
    while length < min(size, TEXT_BYTES):
        # Frequent words come first in the vocabulary, and are chosen more often.
        words.append(_vocabulary()[int(WORDS * chance.random() ** 2.5)])
        length += len(words[-1]) + 1
    text = " ".join(words) + " "
    return (text * (size // len(text) + 1))[:size]


@cache
def _vocabulary() -> tuple[str, ...]:
    chance = random.Random(1)
    return tuple(
        "".join(chance.choices(SYLLABLES, k=chance.choice((1, 2, 2, 3)))) for _ in range(WORDS)
    )
