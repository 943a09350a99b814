"""A producer of transactions, one after the other, of which some are aborted.

It knows for certain which records were committed: where the answer to a commit was lost, the topic
itself is asked at the end.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.chaos.duplicates import united
from zkgroup_sandbox.produce import Produced, json_event

EVERY_S = 1.0
RECORDS_MAX = 40
ABORTED = 0.25
# Brokers abort what is left open for so long; until then nothing behind it can be read.
OPEN_MS = 10_000
ANSWER_S = 30.0
END_DEADLINE_S = 120.0
FIRST_NUMBER = 1_000_000_000

Offsets = dict[int, list[int]]


@dataclass
class Book:
    """What has become of transactions, by the offsets of their records."""

    committed: Offsets = field(default_factory=dict)
    aborted: int = 0
    doubtful: list[Offsets] = field(default_factory=list)

    def commit(self, offsets: Offsets) -> None:
        for partition, some in offsets.items():
            self.committed.setdefault(partition, []).extend(some)

    def ranges(self) -> dict[int, list[tuple[int, int]]]:
        """Between two there are markers, aborted records, or another producer's."""
        return {p: united((o, o + 1) for o in some) for p, some in self.committed.items()}

    def settle(self, was_committed: Callable[[int, int], bool]) -> None:
        """All records of a transaction share their fate: one of them is looked up."""
        for offsets in self.doubtful:
            partition, some = next(iter(offsets.items()))
            if was_committed(partition, some[0]):
                self.commit(offsets)
            else:
                self.aborted += 1
        self.doubtful = []


def merged(topic: str, some: Iterable[dict[int, list[tuple[int, int]]]]) -> Produced:
    """What several producers have put into one topic."""
    found: dict[int, list[tuple[int, int]]] = {}
    for ranges in some:
        for partition, own in ranges.items():
            found.setdefault(partition, []).extend(own)
    return Produced(topic, {partition: united(ranges) for partition, ranges in found.items()})


def within(seconds: float, end: Callable[[], object]) -> None:
    """Call what kafka-python waits for without a limit. The transaction is then in doubt."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            end()
        except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
            raised.append(error)

    thread = threading.Thread(target=run, name="chaos-transaction-end", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise KafkaTimeoutError(f"a transaction did not end within {seconds:.0f} s")
    if raised:
        raise raised[0]


def _give_up(producer: KafkaProducer) -> None:
    """Close a producer that failed. Its close() flushes first, and raises what the flush meets."""
    with suppress(KafkaError):
        producer.close(timeout=1)


class Transactions:
    def __init__(self, bootstrap_servers: str, topic: str, seed: int) -> None:
        self._servers, self._topic = bootstrap_servers.split(","), topic
        self._rng = random.Random(seed)
        self._lock = threading.Lock()
        self.book = Book()
        self.trouble: list[str] = []
        self.failed: BaseException | None = None
        self._number = FIRST_NUMBER
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-transactions", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Afterwards nothing of it is open, and nothing in doubt."""
        self._ending.set()
        self._thread.join(END_DEADLINE_S)
        if self._thread.is_alive():
            frame = sys._current_frames().get(self._thread.ident or 0)
            raise AssertionError(
                f"a transaction did not end within {END_DEADLINE_S:.0f} s; the last troubles: "
                f"{self.trouble[-3:]}; it waits in {traceback.format_stack(frame)[-3:]}"
            )
        if self.failed is not None:
            raise self.failed
        self.book.settle(self._was_committed)

    def ranges(self) -> dict[int, list[tuple[int, int]]]:
        with self._lock:
            return self.book.ranges()

    def _run(self) -> None:
        try:
            self._go_on()
        except BaseException as error:  # noqa: BLE001 - raised by stop(), in the caller's thread
            self.failed = error

    def _go_on(self) -> None:
        producer: KafkaProducer | None = None
        while True:
            # Even when it is to end: what an earlier one left open, the next one's start ends.
            try:
                if producer is None:
                    producer = self._producer()
                if self._ending.wait(EVERY_S):
                    break
                self._one(producer)
            except KafkaError as error:
                self.trouble.append(repr(error))
                if producer is not None:
                    _give_up(producer)
                producer = None
        producer.close(timeout=5)

    def _producer(self) -> KafkaProducer:
        made = KafkaProducer(
            bootstrap_servers=self._servers,
            transactional_id="chaos",
            transaction_timeout_ms=OPEN_MS,
            max_block_ms=20_000,
            request_timeout_ms=5_000,
            # So that it finds partitions that are added.
            metadata_max_age_ms=5_000,
        )
        try:
            made.init_transactions()
        except KafkaError:
            _give_up(made)
            raise
        return made

    def _one(self, producer: KafkaProducer) -> None:
        known = sorted(producer.partitions_for(self._topic))
        partitions = [p for p in known if self._rng.random() < 0.5]
        aborts, count = self._rng.random() < ABORTED, self._rng.randint(1, RECORDS_MAX)
        if not partitions:
            return
        producer.begin_transaction()
        sent = []
        for partition in partitions:
            for _ in range(count):
                key, value = json_event(self._number)
                self._number += 1
                sent.append(
                    (partition, producer.send(self._topic, value, key=key, partition=partition))
                )
        producer.flush(timeout=30)
        offsets: Offsets = {}
        for partition, future in sent:
            offsets.setdefault(partition, []).append(future.get(timeout=1).offset)
        if aborts:
            within(ANSWER_S, producer.abort_transaction)
            self.book.aborted += 1
            return
        with self._lock:
            self.book.doubtful.append(offsets)
        within(ANSWER_S, producer.commit_transaction)
        with self._lock:
            self.book.doubtful.remove(offsets)
            self.book.commit(offsets)

    def _was_committed(self, partition: int, offset: int) -> bool:
        there = KafkaPartition(self._topic, partition)
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers,
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        try:
            consumer.assign([there])
            consumer.seek(there, offset)
            for _ in range(int(END_DEADLINE_S)):
                records = consumer.poll(timeout_ms=1000, max_records=1).get(there, [])
                if records or consumer.position(there) > offset:
                    return bool(records) and records[0].offset == offset
        finally:
            consumer.close(autocommit=False)
        raise AssertionError(f"no broker tells whether {there} has a record at {offset}")
