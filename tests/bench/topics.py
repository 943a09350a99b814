"""Fills topics with ready-made record batches: the broker gets bytes, no record is made twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from tests.bench.cases import PARTITIONS, BenchError, Size
from tests.bench.payload import DISTINCT_BATCHES, Pack, packed, plain_batches
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.kafka_wire import Address, Connection
from zkgroup_sandbox.record_batch import Event

TIMEOUT_S = 60.0
DISTINCT_BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True)
class Topic:
    name: str
    rows: int
    stored_bytes: int
    plain_bytes: int

    @property
    def compression(self) -> float:
        return self.plain_bytes / self.stored_bytes


@contextmanager
def filled_topic(
    sandbox: Sandbox,
    size: Size,
    codec: str,
    pack: Pack,
    *,
    partitions: int = PARTITIONS,
    batch_records: int | None = None,
    make_event: Callable[[random.Random], Event] | None = None,
) -> Iterator[Topic]:
    """Gone at the end, files included: the machine's memory is to hold the next one."""
    records = batch_records or size.batch_records
    each = max(1, round(size.rows / records / partitions))
    distinct = min(DISTINCT_BATCHES, max(1, DISTINCT_BYTES_MAX // size.record_bytes))
    plain = plain_batches(size.record_bytes, records, distinct, make_event)
    batches = [packed(batch, codec, pack) for batch in plain]
    name = f"bench-{size.name}-{codec}-{partitions}-{records}"
    # Segments as large as the log: the broker is not to be busy with files while others read.
    config = {"file.delete.delay.ms": "100", "segment.bytes": str(2**31 - 1)}
    sandbox.create_topic(name, partitions, {**config, "max.message.bytes": str(100 * 2**20)})
    try:
        fill(sandbox, name, batches, partitions, each)
        yield Topic(
            name,
            rows=each * records * partitions,
            stored_bytes=partitions * _total(batches, each),
            plain_bytes=partitions * _total(plain, each),
        )
    finally:
        sandbox.delete_topic(name)


def fill(
    sandbox: Sandbox, topic: str, batches: Sequence[bytes], partitions: int, each: int
) -> None:
    """The batches in turn until each partition has got so many."""
    address = _address(sandbox)
    with ThreadPoolExecutor(partitions) as pool:
        filling = [
            pool.submit(_fill_partition, address, topic, partition, batches, each)
            for partition in range(partitions)
        ]
        for done in filling:
            done.result()


def _fill_partition(
    address: Address, topic: str, partition: int, batches: Sequence[bytes], each: int
) -> None:
    with Connection(address, TIMEOUT_S) as connection:
        for number in range(each):
            # Each partition begins with another one, so that they are not in step.
            batch = batches[(number + partition * 11) % len(batches)]
            answer = connection.produce(topic, {partition: batch}, int(TIMEOUT_S * 1000))
            if answer[partition].error:
                raise BenchError(
                    f"the broker refuses a batch of {len(batch)} bytes for {topic}-{partition}: "
                    f"error {answer[partition].error} of the Kafka protocol. See the broker's log"
                )


def _total(batches: Sequence[bytes], count: int) -> int:
    whole, rest = divmod(count, len(batches))
    return whole * sum(map(len, batches)) + sum(map(len, batches[:rest]))


def _address(sandbox: Sandbox) -> Address:
    host, _, port = sandbox.brokers[0].address.rpartition(":")
    return host, int(port)
