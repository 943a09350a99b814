"""Answers put together from pieces of any size."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterator

import kafka.errors
import pytest

from pyspark_zkgroup.kafka.receiving import Frame

ANSWERS = [b"abcd", b"\0" * 4, bytes(range(256)) * 3, b"last"]
SENT = b"".join(struct.pack(">i", len(answer)) + answer for answer in ANSWERS)


def whole(frame: Frame, sent: bytes, piece: int) -> Iterator[bytes]:
    at = 0
    while at < len(sent):
        missing = frame.missing
        count = min(len(missing), piece, len(sent) - at)
        missing[:count] = sent[at : at + count]
        del missing
        at += count
        found = frame.received(count)
        if found is not None:
            yield found


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 5, 7, 100, 10_000])
def test_pieces_of_any_size(piece: int) -> None:
    assert list(whole(Frame(1000), SENT, piece)) == ANSWERS


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 3, 1001, 2**31 - 1])
def test_a_length_that_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(kafka.errors.InvalidReceiveError, match=f"length: {size}"):
        list(whole(Frame(1000), struct.pack(">i", size), 4))


def test_an_answer_is_not_copied() -> None:
    size = 8 << 20
    frame = Frame(size)
    frame.missing[:] = struct.pack(">i", size)
    tracemalloc.start()
    try:
        assert frame.received(4) is None
        answer = frame.received(size)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer is not None
    assert len(answer) == size
    assert peak < 1.1 * size
