"""Parses the node of the elected coordinator: its name, and the address where it serves."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark_zkgroup.errors import BadZnodeError

VERSION = 1
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Candidacy:
    """`address` is host:port for members without ZooKeeper; None if it serves none."""

    name: str
    address: str | None = None


def encode_candidacy(candidacy: Candidacy) -> bytes:
    value = {"version": VERSION, "id": candidacy.name, "address": candidacy.address}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def parse_candidacy(path: str, data: bytes) -> Candidacy:
    """Newer versions may have more fields; only the id is required."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    name = value.get("id") if isinstance(value, dict) else None
    if not isinstance(name, str) or not name:
        raise BadZnodeError.of("coordinator_node", path=path, data=data[:_SHOWN])
    address = value.get("address")
    return Candidacy(name, address if isinstance(address, str) and address else None)
