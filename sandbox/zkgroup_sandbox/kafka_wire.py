"""One connection to one broker and the few requests the sandbox sends, written out by hand.

A client library would retry, turn to another broker and hide which one had answered; here every
question goes to a known broker once, and an acknowledged offset is known for certain. The requests
are of versions that both Kafka 3.9 and 4.1 speak.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.errors import SandboxError

Address = tuple[str, int]

ANSWER_BYTES_MAX = 64 * 1024 * 1024
CLIENT_ID = b"zkgroup-sandbox"
# (key, version). Before version 7 of the first a broker refuses batches in zstd.
PRODUCE, METADATA, INIT_PRODUCER_ID = (0, 7), (3, 1), (22, 0)
ACKS_ALL = -1
NO_LEADER = -1
NULL_TEXT = struct.pack(">h", -1)
NULL_ARRAY = struct.pack(">i", -1)


@dataclass(frozen=True)
class ClusterState:
    """What one broker says about its cluster."""

    brokers: Mapping[int, Address]
    controller: int
    leaders: Mapping[str, Mapping[int, int]]  # topic -> partition -> leader, NO_LEADER if none


@dataclass(frozen=True)
class ProducerId:
    number: int
    epoch: int


@dataclass(frozen=True)
class Acknowledgement:
    error: int
    base_offset: int


class Connection:
    """Opened at once; every failure is an OSError, after which the connection is of no use."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._socket = socket.create_connection(address, timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cluster_view(self) -> ClusterState:
        return _parse_metadata(self._ask(METADATA, NULL_ARRAY))  # null: all topics

    def producer_id(self, timeout_ms: int) -> tuple[int, ProducerId]:
        """(error, id); the id lets the broker drop what it has stored before."""
        reader = self._ask(INIT_PRODUCER_ID, NULL_TEXT + struct.pack(">i", timeout_ms))
        reader.number("i")  # throttled for
        return reader.number("h"), ProducerId(reader.number("q"), reader.number("h"))

    def produce(
        self, topic: str, batches: Mapping[int, bytes], timeout_ms: int
    ) -> dict[int, Acknowledgement]:
        parts = [NULL_TEXT, struct.pack(">hii", ACKS_ALL, timeout_ms, 1), _text(topic)]
        parts.append(struct.pack(">i", len(batches)))
        for partition, batch in batches.items():
            parts += [struct.pack(">ii", partition, len(batch)), batch]
        reader = self._ask(PRODUCE, b"".join(parts))
        answer: dict[int, Acknowledgement] = {}
        for _ in range(reader.number("i")):
            reader.text()
            for _ in range(reader.number("i")):
                partition, error, base = reader.number("i"), reader.number("h"), reader.number("q")
                reader.number("q")  # time of the append
                reader.number("q")  # first offset of the log
                answer[partition] = Acknowledgement(error, base)
        return answer

    def _ask(self, api: tuple[int, int], body: bytes) -> Reader:
        self._correlation += 1
        header = struct.pack(">hhih", *api, self._correlation, len(CLIENT_ID)) + CLIENT_ID
        self._socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (size,) = struct.unpack(">i", self._receive(4))
        if not 4 <= size <= ANSWER_BYTES_MAX:
            raise ConnectionError(f"an answer of {size} bytes")
        reader = Reader(self._receive(size))
        if reader.number("i") != self._correlation:
            raise ConnectionError("the answer is for another request")
        return reader

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            part = self._socket.recv(min(1 << 20, size - len(received)))
            if not part:
                raise ConnectionError("the broker closed the connection")
            received += part
        return bytes(received)


class Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from(">" + form, self._data, self._at)
        except struct.error as error:
            raise ConnectionError(f"the answer is cut short: {error}") from error
        self._at += struct.calcsize(form)
        return int(value)

    def text(self) -> str:
        size = max(0, self.number("h"))  # null is -1
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8", "replace")


def parse_addresses(bootstrap_servers: str) -> Sequence[Address]:
    addresses = []
    for part in bootstrap_servers.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not (colon and host and port.isdigit()):
            raise SandboxError.of("bad_address", address=part, servers=bootstrap_servers)
        addresses.append((host, int(port)))
    return addresses


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _parse_metadata(reader: Reader) -> ClusterState:
    brokers = dict(_broker(reader) for _ in range(reader.number("i")))
    controller = reader.number("i")
    leaders: dict[str, dict[int, int]] = {}
    for _ in range(reader.number("i")):
        error, name, _internal = reader.number("h"), reader.text(), reader.number("b")
        partitions = dict(_partition(reader) for _ in range(reader.number("i")))
        if error == 0:
            leaders[name] = partitions
    return ClusterState(brokers, controller, leaders)


def _broker(reader: Reader) -> tuple[int, Address]:
    number, host, port = reader.number("i"), reader.text(), reader.number("i")
    reader.text()  # rack
    return number, (host, port)


def _partition(reader: Reader) -> tuple[int, int]:
    error, partition, leader = reader.number("h"), reader.number("i"), reader.number("i")
    for _ in ("replicas", "in-sync replicas"):
        for _ in range(reader.number("i")):
            reader.number("i")
    return partition, leader if error == 0 else NO_LEADER
