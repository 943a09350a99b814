"""XXH32 of fewer than 16 bytes, seed 0: all that the head of an LZ4 frame takes."""

from __future__ import annotations

_PRIME_1 = 2654435761
_PRIME_2 = 2246822519
_PRIME_3 = 3266489917
_PRIME_4 = 668265263
_PRIME_5 = 374761393
_MASK = 0xFFFFFFFF


def xxh32_short(data: bytes) -> int:
    if len(data) >= 16:
        raise ValueError(f"{len(data)} bytes are not fewer than 16")
    value = _PRIME_5 + len(data)
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value += int.from_bytes(data[at : at + 4], "little") * _PRIME_3
        value = _rotate(value, 17) * _PRIME_4
    for byte in data[words:]:
        value += byte * _PRIME_5
        value = _rotate(value, 11) * _PRIME_1
    value &= _MASK
    value = (value ^ value >> 15) * _PRIME_2 & _MASK
    value = (value ^ value >> 13) * _PRIME_3 & _MASK
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (32 - bits)) & _MASK
