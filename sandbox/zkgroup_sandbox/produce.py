"""Produces events of which it is known for certain which offsets they got.

`produce` writes a number of events at once, `paced` some per second on its own thread. The
producer is idempotent, with one request under way at a time: a batch whose acknowledgement was
lost is sent again, the broker recognises it and names the offsets it already has. So what is
acknowledged is all that is in the log, also when brokers are killed in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.deadline import wait_for
from zkgroup_sandbox.kafka_wire import (
    Address,
    ClusterState,
    Connection,
    ProducerId,
    parse_addresses,
)
from zkgroup_sandbox.record_batch import Event, encode_batch

SEND_DEADLINE_S = 60.0
ANSWER_TIMEOUT_S = 10.0
BROKER_TIMEOUT_MS = 5_000
BATCH_EVENTS = 1_000
PACE_S = 0.05
NO_ERROR = 0
# Errors that pass by themselves: unknown topic, no leader, not the leader, timed out, network,
# coordinator loading, not enough replicas (before and after the append), storage, fenced epoch.
PASSING_ERRORS = frozenset({3, 5, 6, 7, 13, 14, 15, 16, 19, 20, 56, 74, 75})

MakeEvent = Callable[[int], Event]
Result = TypeVar("Result")


def json_event(number: int) -> Event:
    """An event of about 100 bytes; its number tells it from all others."""
    customer = number * 7919 % 1000
    value = (
        f'{{"event": {number}, "customer": "c{customer:03d}", "amount": {number % 9973 / 100},'
        f' "made_ms": {time.time_ns() // 1_000_000}}}'
    )
    return f"c{customer:03d}".encode(), value.encode()


@dataclass
class Produced:
    """The acknowledged offsets of one topic, as half-open ranges in the order they came."""

    topic: str
    ranges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, partition: int, start: int, until: int) -> None:
        known = self.ranges.setdefault(partition, [])
        if known and known[-1][1] == start:
            known[-1] = (known[-1][0], until)
        else:
            known.append((start, until))

    @property
    def count(self) -> int:
        return sum(until - start for known in self.ranges.values() for start, until in known)

    @property
    def end_offsets(self) -> dict[int, int]:
        return {partition: known[-1][1] for partition, known in sorted(self.ranges.items())}

    def offsets(self) -> Iterator[tuple[str, int, int]]:
        """Every (topic, partition, offset): what an oracle compares with what was read."""
        for partition, known in sorted(self.ranges.items()):
            for start, until in known:
                for offset in range(start, until):
                    yield self.topic, partition, offset

    def copy(self) -> Produced:
        return Produced(self.topic, {p: list(known) for p, known in self.ranges.items()})


class Producer:
    """Sends to one topic and waits for the acknowledgement of all in-sync replicas."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self.topic = topic
        self.produced = Produced(topic)
        self._bootstrap = parse_addresses(bootstrap_servers)
        self._connections: dict[Address, Connection] = {}
        self._sequences: dict[int, int] = {}
        self._last_problem = "no broker was asked yet"
        self._view = self._until_done(self._look, f"Topic {topic!r} has no leaders")
        self._id = self._until_done(self._ask_id, "No broker assigned a producer id")

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def partitions(self) -> tuple[int, ...]:
        return tuple(sorted(self._view.leaders[self.topic]))

    def send(self, events: Mapping[int, Sequence[Event]]) -> None:
        """Returns when everything is acknowledged; `produced` then holds the offsets."""
        now_ms = time.time_ns() // 1_000_000
        waiting = {
            partition: encode_batch(
                given,
                timestamp_ms=now_ms,
                producer_id=self._id.number,
                producer_epoch=self._id.epoch,
                first_sequence=self._sequences.get(partition, 0),
            )
            for partition, given in events.items()
            if given
        }

        def attempt() -> bool | None:
            for partition, base in self._send_once(waiting).items():
                del waiting[partition]
                size = len(events[partition])
                self._sequences[partition] = self._sequences.get(partition, 0) + size
                self.produced.add(partition, base, base + size)
            if waiting:
                self._view = self._look() or self._view
                return None
            return True

        self._until_done(attempt, f"Events for topic {self.topic!r} are not acknowledged")

    def refresh(self) -> None:
        """Learns of partitions that were added."""
        self._view = self._until_done(self._look, f"Topic {self.topic!r} has no leaders")

    def _send_once(self, waiting: Mapping[int, bytes]) -> dict[int, int]:
        """The first offset of each batch that was acknowledged."""
        by_leader: dict[Address, dict[int, bytes]] = {}
        for partition, batch in waiting.items():
            leader = self._view.leaders.get(self.topic, {}).get(partition, -1)
            if leader in self._view.brokers:
                address = self._view.brokers[leader]
                by_leader.setdefault(address, {})[partition] = batch
        acknowledged: dict[int, int] = {}
        for address, batches in by_leader.items():
            try:
                answer = self._connect(address).produce(self.topic, batches, BROKER_TIMEOUT_MS)
            except OSError as error:
                self._drop(address, error)
                continue
            for partition, ack in answer.items():
                if ack.error == NO_ERROR:
                    acknowledged[partition] = ack.base_offset
                else:
                    self._judge(ack.error, f"partition {partition} of {self.topic!r}")
        return acknowledged

    def _judge(self, error: int, what: str) -> None:
        if error not in PASSING_ERRORS:
            raise SandboxError.of("events_refused", what=what, error=error)
        self._last_problem = f"{what}: error {error} of the Kafka protocol"

    def _look(self) -> ClusterState | None:
        for address in self._bootstrap:
            try:
                view = self._connect(address).cluster_view()
            except OSError as error:
                self._drop(address, error)
                continue
            leaders = view.leaders.get(self.topic, {})
            if leaders and all(leader in view.brokers for leader in leaders.values()):
                return view
            self._last_problem = f"leaders are {dict(leaders)}"
        return None

    def _ask_id(self) -> ProducerId | None:
        for address in self._bootstrap:
            try:
                error, given = self._connect(address).producer_id(BROKER_TIMEOUT_MS)
            except OSError as problem:
                self._drop(address, problem)
                continue
            if error == NO_ERROR:
                return given
            self._judge(error, "a producer id")
        return None

    def _connect(self, address: Address) -> Connection:
        if address not in self._connections:
            self._connections[address] = Connection(address, ANSWER_TIMEOUT_S)
        return self._connections[address]

    def _drop(self, address: Address, error: OSError) -> None:
        self._last_problem = f"{address[0]}:{address[1]}: {error}"
        broken = self._connections.pop(address, None)
        if broken is not None:
            broken.close()

    def _until_done(self, attempt: Callable[[], Result | None], what: str) -> Result:
        results: list[Result] = []

        def once() -> bool:
            result = attempt()
            if result is not None:
                results.append(result)
            return bool(results)

        if not wait_for(once, SEND_DEADLINE_S, interval_s=0.05):
            raise SandboxError.of(
                "produce_too_long", what=what, waited_s=SEND_DEADLINE_S, reason=self._last_problem
            )
        return results[0]


def produce(
    bootstrap_servers: str,
    topic: str,
    count: int,
    *,
    first: int = 0,
    make_event: MakeEvent = json_event,
    say: Callable[[int], None] | None = None,
) -> Produced:
    """Event number n goes to partition n modulo the number of partitions.

    `say` is called after each round with the number of events acknowledged so far.
    """
    with Producer(bootstrap_servers, topic) as producer:
        step = BATCH_EVENTS * len(producer.partitions)
        for start in range(first, first + count, step):
            until = min(start + step, first + count)
            producer.send(_spread(range(start, until), producer.partitions, make_event))
            if say is not None:
                say(producer.produced.count)
        return producer.produced


class Paced:
    """Events at a steady rate over all partitions, from `start()` to `stop()`.

    What is held up while no broker answers is made good afterwards: the rate holds on average.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        per_second: float,
        *,
        first: int = 0,
        make_event: MakeEvent = json_event,
        limit: int | None = None,
    ) -> None:
        """With a limit it ends by itself after so many events."""
        self._limit = limit
        self._producer = Producer(bootstrap_servers, topic)
        self._per_second, self._next, self._make_event = per_second, first, make_event
        self._ending = threading.Event()
        self._acknowledged = Produced(topic)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"produce-{topic}", daemon=True)

    def start(self) -> Paced:
        self._thread.start()
        return self

    def stop(self) -> Produced:
        """All that was acknowledged; raises what made the thread end early, if anything did."""
        self._ending.set()
        self._thread.join()
        self._producer.close()
        if self._error is not None:
            raise self._error
        return self._producer.produced

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after so long at most."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def __enter__(self) -> Paced:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self.stop()

    @property
    def so_far(self) -> Produced:
        """A copy of what is acknowledged at this moment."""
        return self._acknowledged.copy()

    def _run(self) -> None:
        try:
            began, done = time.monotonic(), 0
            while not self._ending.wait(PACE_S):
                due = int((time.monotonic() - began) * self._per_second) - done
                if self._limit is not None:
                    due = min(due, self._limit - done)
                if due > 0:
                    self._send(due)
                    done += due
                if done == self._limit:
                    return
        except BaseException as error:  # noqa: BLE001 - raised by stop(), in the caller's thread
            self._error = error

    def _send(self, count: int) -> None:
        step = BATCH_EVENTS * len(self._producer.partitions)
        for start in range(self._next, self._next + count, step):
            until = min(start + step, self._next + count)
            spread = _spread(range(start, until), self._producer.partitions, self._make_event)
            self._producer.send(spread)
            self._acknowledged = self._producer.produced.copy()
        self._next += count


def _spread(
    numbers: Sequence[int], partitions: Sequence[int], make_event: MakeEvent
) -> dict[int, list[Event]]:
    spread: dict[int, list[Event]] = {partition: [] for partition in partitions}
    for number in numbers:
        spread[partitions[number % len(partitions)]].append(make_event(number))
    return spread
