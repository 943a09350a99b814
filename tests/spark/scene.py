"""One group on real servers with its members, a steady stream of records, and the judge."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan, decode
from tests.harness.oracle import Record, Verdict, judge
from tests.harness.waiting import wait_until
from tests.spark.drivers import Driver, Drivers
from tests.spark.job import Job
from tests.spark.sink import Delivery, Sink
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Paced, Produced, produce

# Several JVMs share two cores with whatever else runs there. How long things really took is
# measured and compared with what is promised; this only ends a test that hangs.
PATIENCE_S = 90.0


@dataclass(frozen=True)
class Owner:
    """`life`: the transaction that made the node, so it tells a node from its successor; `since`:
    when that was, in seconds since 1970 by ZooKeeper's clock.
    """

    thread_id: str
    life: int
    since: float

    @property
    def consumer(self) -> str:
        return self.thread_id.rpartition("-")[0]


class Member:
    """A query of the group and the driver it runs on. Its checkpoint and sink outlive both."""

    def __init__(self, name: str, job: Job) -> None:
        self.name, self.job = name, job
        self.driver: Driver | None = None
        self._sink = Sink(job.sink)

    @property
    def on(self) -> Driver:
        assert self.driver is not None, f"{self.name} has not been started"
        return self.driver

    def start(self, driver: Driver, **changes: Any) -> None:
        self.driver = driver
        self.job = replace(self.job, **changes)
        self.job.prepare()
        for path in self.job.held.iterdir():
            path.unlink()
        driver.run(self.job)

    @property
    def consumer(self) -> str:
        return self.on.member

    @property
    def deliveries(self) -> list[Delivery]:
        return self._sink.deliveries()

    def delivered(self) -> Iterator[Record]:
        for delivery in self.deliveries:
            yield from delivery.records()

    def planned(self) -> dict[int, Plan]:
        """The plans in Spark's offset log, by batch."""
        found = {}
        for path in (self.job.checkpoint / "offsets").glob("[0-9]*"):
            found[int(path.name)] = decode(json.loads(path.read_text().splitlines()[2]))
        return found

    def last_planned(self) -> tuple[int, Plan]:
        return max(self.planned().items())

    def records_of(self, batch: int) -> set[Record]:
        """What the batch's plan gives this member to read."""
        return {
            (r.partition.topic, r.partition.partition, offset)
            for r in self.planned()[batch].ranges
            for offset in range(r.range.start, r.range.until)
        }

    def in_flight(self) -> set[Record]:
        """What the newest plan of a member that died gave it."""
        return self.records_of(self.last_planned()[0])

    def unlogged(self) -> list[Delivery]:
        """What the sink has of batches that Spark has not logged as finished, and so would give it
        again.
        """
        logged = self.logged()
        return [d for d in self.deliveries if d.batch not in logged]

    def boundaries(self) -> list[tuple[int, float]]:
        """(batch, when its trigger fired) of the finished batches, in seconds since 1970."""
        return [
            (
                p["batchId"],
                datetime.fromisoformat(p["timestamp"].replace("Z", "+00:00")).timestamp(),
            )
            for p in self.on.progress
        ]

    def hold(self, holder: Path, first: int = 0) -> int:
        """Hold a batch at that place (of the job); return its number once it is there. Batches
        before `first` continue.
        """
        self.begin_holding(holder, first)
        return self.wait_held(first)

    def begin_holding(self, holder: Path, first: int = 0) -> None:
        self.job.prepare()
        holder.write_text(str(first))

    def wait_held(self, first: int = 0) -> int:
        def held() -> list[int]:
            numbers = [int(path.name) for path in self.job.held.iterdir()]
            return [n for n in numbers if n >= first and n not in self.logged()]

        return max(wait_until(held, PATIENCE_S, f"{self.name} to hold a batch"))

    def has(self, batch: int) -> bool:
        """Whether the sink has got it."""
        return any(d.batch == batch for d in self.deliveries)

    def logged(self) -> set[int]:
        """The batches that are finished by Spark's commit log."""
        return {int(p.name) for p in (self.job.checkpoint / "commits").glob("[0-9]*")}

    def go_on(self) -> None:
        self.job.hold_tasks.unlink(missing_ok=True)
        self.job.hold_taken.unlink(missing_ok=True)


class Scene:
    def __init__(self, sandbox: Sandbox, directory: Path, drivers: Drivers) -> None:
        self.sandbox, self.directory, self.drivers = sandbox, directory, drivers
        self.connect = (
            sandbox.kafka_zookeeper_connect
            if sandbox.parameters.kafka == "3.9"
            else sandbox.zookeeper_connect
        )
        self.group = f"g{uuid.uuid4().hex[:8]}"
        self.client = KazooClient(self.connect, timeout=20.0)
        self.client.start()
        self.members: list[Member] = []
        self._leased: list[Driver] = []
        self._paced: list[Paced] = []
        self._produced: list[Produced] = []

    # -- records

    def topic(self, partitions: int) -> str:
        name = f"{self.group}-t{uuid.uuid4().hex[:4]}"
        self.sandbox.create_topic(name, partitions)
        return name

    def produce(self, topic: str, count: int, first: int = 0) -> None:
        self._produced.append(produce(self.sandbox.bootstrap_servers, topic, count, first=first))

    def begin_producing(self, topic: str, per_second: float) -> None:
        self._paced.append(Paced(self.sandbox.bootstrap_servers, topic, per_second).start())

    def end_producing(self) -> None:
        while self._paced:
            self._produced.append(self._paced.pop().stop())

    def acknowledged(self) -> Iterator[Record]:
        for produced in [*self._produced, *(paced.so_far for paced in self._paced)]:
            yield from produced.offsets()

    def delivered(self) -> Iterator[Record]:
        for member in self.members:
            yield from member.delivered()

    def verdict(self) -> Verdict:
        return judge(self.acknowledged(), self.delivered())

    def wait_all_delivered(self) -> Verdict:
        """Once nothing more is produced; fails with what is still missing."""
        assert not self._paced, "records are still being produced"

        def complete() -> Verdict | None:
            verdict = self.verdict()
            assert not verdict.missing, str(verdict)
            return verdict

        verdict = wait_until(complete, PATIENCE_S, "everything to be delivered", interval_s=0.3)
        assert verdict is not None
        return verdict

    # -- members

    def member(self, name: str, topics: str, trigger: str = "0", **options: str) -> Member:
        kraft = self.sandbox.parameters.kafka != "3.9"
        # Brokers of a cluster with ZooKeeper are found there.
        brokers = {"kafka.bootstrap.servers": self.sandbox.bootstrap_servers} if kraft else {}
        given = {
            **brokers,
            "zookeeper.connect": self.connect,
            "zookeeper.session.timeout.ms": "4000",
            "group.id": self.group,
            "subscribe": topics,
            "threads": "2",
            "startingOffsets": "earliest",
            **options,
        }
        if options.get("protocol") == "light":
            given = {n: v for n, v in given.items() if not n.startswith("zookeeper.")}
        job = Job(self.directory / name, given, trigger)
        member = Member(name, job)
        self.members.append(member)
        return member

    def lease(self, count: int) -> list[Driver]:
        """Drivers for members of this scene; they go back with its end."""
        found = self.drivers.lease(count)
        self._leased += found
        return found

    # -- the group, as ZooKeeper shows it

    def owners(self, topic: str) -> dict[TopicPartition, Owner]:
        path = f"/consumers/{self.group}/owners/{topic}"

        def read() -> list[tuple[TopicPartition, Owner]]:
            # One that goes between the two reads fails this look; the next one knows.
            return [
                (
                    TopicPartition(topic, int(name)),
                    Owner(data.decode(), stat.czxid, stat.ctime / 1e3),
                )
                for name in self._children(path)
                for data, stat in [self.client.get(f"{path}/{name}")]
            ]

        return dict(wait_until(lambda: (read(),), PATIENCE_S, "a whole look", interval_s=0.01)[0])

    def _children(self, path: str) -> list[str]:
        try:
            return list(self.client.get_children(path))
        except NoNodeError:
            return []

    def wait_shares(
        self, topic: str, shares: Mapping[str, int], why: str
    ) -> dict[TopicPartition, Owner]:
        """Until each named member owns so many partitions; names count by their consumer ids."""

        def shared() -> dict[TopicPartition, Owner]:
            owners = self.owners(topic)
            counted = Counter(owner.consumer for owner in owners.values())
            wanted = {m.consumer: shares[m.name] for m in self.members if m.name in shares}
            assert dict(counted) == wanted, f"owned {dict(counted)}, wanted {wanted}"
            return owners

        return wait_until(shared, PATIENCE_S, why, interval_s=0.2)

    def wait_no_owner(self, topic: str, consumer: str) -> float:
        """Returns when it was first seen that this member owns nothing any more."""

        def gone() -> bool:
            return all(o.consumer != consumer for o in self.owners(topic).values())

        wait_until(gone, PATIENCE_S, f"{consumer} to own nothing", interval_s=0.02)
        return time.time()

    def wait_passed(self, seconds: float) -> None:
        """Where the passing of time is itself the condition."""
        ends = time.monotonic() + seconds
        wait_until(lambda: time.monotonic() >= ends, seconds + 10.0, "time to pass")

    def offsets(self, topic: str) -> dict[int, int]:
        path = f"/consumers/{self.group}/offsets/{topic}"
        return {
            int(n): int(self.client.get(f"{path}/{n}")[0]) for n in self.client.get_children(path)
        }

    def ends(self, topic: str) -> dict[int, int]:
        """One past the last acknowledged record of each partition."""
        ends: dict[int, int] = {}
        for found, partition, offset in self.acknowledged():
            if found == topic:
                ends[partition] = max(ends.get(partition, 0), offset + 1)
        return ends

    def close(self) -> None:
        for member in self.members:
            member.go_on()
        for paced in self._paced:
            paced.stop()
        self.client.stop()
        self.client.close()
        self.drivers.give_back(self._leased)


@contextmanager
def scene_on(sandbox: Sandbox, directory: Path, drivers: Drivers) -> Iterator[Scene]:
    scene = Scene(sandbox, directory, drivers)
    try:
        yield scene
    finally:
        scene.close()
