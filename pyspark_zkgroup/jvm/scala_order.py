"""The orders in which JVM consumers come upon topics: those of Scala 2.11's and Java's hash maps.

They decide only between partitions with equal hashes in round-robin, that is between topics whose
names collide ("..Aa" and "..BB"), and which entry of a white list is the first when it has many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark_zkgroup.jvm.java_order import hash_code, signed

_SMALL_MAP = 4
_MASK = 0xFFFFFFFF
_SEED = 4  # from the first size of the table, and kept when it grows


def immutable_map(keys: Iterable[str]) -> list[str]:
    """scala.collection.immutable.Map: up to four entries as they came, beyond that a hash trie."""
    distinct = list(dict.fromkeys(keys))
    if len(distinct) <= _SMALL_MAP:
        return distinct
    # The trie branches on five bits of the hash at a time, the lowest first.
    return sorted(
        distinct, key=lambda key: [_trie_hash(key) >> bit & 0x1F for bit in range(0, 32, 5)]
    )


def mutable_map(keys: Iterable[str]) -> list[str]:
    """scala.collection.mutable.HashMap: chains with the newest in front, walked from the last."""
    table: list[list[str]] = [[] for _ in range(16)]
    for size, key in enumerate(dict.fromkeys(keys), start=1):
        table[_bucket(key, len(table))].insert(0, key)
        if size > len(table) * 3 // 4:
            table = _doubled(table)
    return [key for chain in reversed(table) for key in chain]


def children(names: Iterable[str]) -> list[str]:
    """The children of a node as a ZooKeeper server lists them: a java.util.HashSet of eight."""
    distinct = list(dict.fromkeys(names))
    buckets = 8
    while len(distinct) > buckets * 3 // 4:
        buckets *= 2
    table: list[list[str]] = [[] for _ in range(buckets)]
    for name in distinct:
        spread = hash_code(name) & _MASK
        table[(spread ^ spread >> 16) & (buckets - 1)].append(name)
    return [name for chain in table for name in chain]


def _doubled(table: Sequence[Sequence[str]]) -> list[list[str]]:
    larger: list[list[str]] = [[] for _ in range(2 * len(table))]
    for chain in reversed(table):
        for key in chain:
            larger[_bucket(key, len(larger))].insert(0, key)
    return larger


def _bucket(key: str, buckets: int) -> int:
    mixed = hash_code(key) * 0x9E3775CD & _MASK
    swapped = int.from_bytes(mixed.to_bytes(4, "big"), "little") * 0x9E3775CD & _MASK
    rotated = (swapped >> _SEED | swapped << (32 - _SEED)) & _MASK
    ones = buckets - 1
    return signed(rotated) >> (32 - ones.bit_length()) & ones


def _trie_hash(key: str) -> int:
    value = hash_code(key)
    value = value + ~(value << 9) & _MASK
    value ^= value >> 14
    value = value + (value << 4) & _MASK
    return value ^ value >> 10
