"""All there is in a chaos run: servers, three members with a road to ZooKeeper each, a producer,
and the one who watches.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark_zkgroup.plan import decode
from pyspark_zkgroup.sandbox import Sandbox
from pyspark_zkgroup.sandbox.answers import zookeeper_mode
from pyspark_zkgroup.sandbox.cut import Cut
from pyspark_zkgroup.sandbox.delta_jars import delta_jars
from pyspark_zkgroup.sandbox.java import find_java
from pyspark_zkgroup.sandbox.kafka_config import CHROOT
from pyspark_zkgroup.sandbox.zookeeper import ZooKeeper
from tests.chaos.job import Job
from tests.chaos.load import Load
from tests.chaos.process import Process, consumer_of, now
from tests.chaos.settings import (
    BROKER_HEAP_MB,
    GROUP,
    TOPIC,
    ZOOKEEPER_HEAP_MB,
    Settings,
)
from tests.chaos.watch import Watch
from tests.spark.sink import Sink
from tests.waiting import wait_until

START_DEADLINE_S = 600.0


class Stage:
    def __init__(
        self,
        settings: Settings,
        directory: Path,
        sandbox: Sandbox,
        cuts: dict[str, Cut],
        members: dict[str, Process],
        load: Load,
        watch: Watch,
    ) -> None:
        self.settings, self.directory, self.sandbox = settings, directory, sandbox
        self.cuts, self.members, self.load, self.watch = cuts, members, load, watch
        self.sinks = {name: Sink(member.job.sink) for name, member in members.items()}
        self.consumers: dict[str, str] = {}
        self.born: dict[int, float] = {}
        self._named: dict[str, int] = dict.fromkeys(members, 0)

    @property
    def table(self) -> Path:
        return self.directory / "table"

    # -- the group

    def names(self) -> dict[str, str]:
        """Members by all the consumer ids they have had so far."""
        for name, member in self.members.items():
            events = member.look()
            known = len(events)
            for event in events[self._named[name] : known]:
                if event["event"] == "progress" and (consumer := consumer_of(event)):
                    self.consumers[consumer] = name
            self._named[name] = known
            if planned := _planner_of(member.job):
                self.consumers[planned] = name
        return dict(self.consumers)

    def owned(self) -> Counter[str]:
        names = self.names()
        return Counter(names.get(owner, "?") for owner in self.watch.look.owners.values())

    def settled_since(self, at: float) -> bool:
        """All members read again: registered, with even shares, each with a batch begun since."""
        look = self.watch.look
        names, owned = self.names(), self.owned()
        shares = [owned[name] for name in self.members]
        return (
            look.at > at
            and len(look.members) == len(self.members)
            and {names.get(consumer) for consumer in look.members} == set(self.members)
            and owned.total() == self.watch.partitions
            and max(shares) - min(shares) <= 1
            and all(self._read_since(member, at) for member in self.members.values())
        )

    def _read_since(self, member: Process, at: float) -> bool:
        progress = member.last("progress")
        return member.reads and progress is not None and progress["at"] > at

    def wait_settled(self, deadline_s: float) -> bool:
        at = now()
        try:
            wait_until(
                lambda: self.settled_since(at), deadline_s, "the group to settle", interval_s=0.2
            )
        except AssertionError:
            return False
        return True

    def pass_time(self, seconds: float) -> None:
        """Where the passing of time is itself the condition."""
        ends = now() + seconds
        wait_until(lambda: now() >= ends, seconds + 60.0, "time to pass")

    # -- servers

    def leader(self) -> ZooKeeper:
        def leading() -> ZooKeeper | None:
            servers = self.sandbox.zookeepers
            return next((s for s in servers if zookeeper_mode(s.port) == "leader"), None)

        found = wait_until(leading, START_DEADLINE_S, "ZooKeeper to have a leader")
        assert found is not None
        return found

    def add_partitions(self, total: int) -> None:
        before = self.watch.partitions
        self.sandbox.add_partitions(TOPIC, total)
        self.born.update(dict.fromkeys(range(before, total), now()))
        self.watch.partitions = total

    def heal(self) -> None:
        """Everything stands and runs again, whatever was done to it."""
        for cut in self.cuts.values():
            cut.heal()
        for server in [*self.sandbox.zookeepers, *self.sandbox.brokers]:
            if server.life == "paused":
                server.resume()
            server.start()
        for member in self.members.values():
            member.resume()
            if not member.alive:
                member.start()

    # -- how it stands

    def lag(self) -> int:
        committed = {p.partition: o for p, o in self.watch.look.committed.items()}
        ends = self.load.so_far.end_offsets
        return sum(max(0, end - committed.get(p, 0)) for p, end in ends.items())

    def status(self) -> dict[str, Any]:
        names = self.names()
        owners = {p.partition: names.get(o, "?") for p, o in self.watch.look.owners.items()}
        marks = "".join(owners.get(p, "-") for p in range(self.watch.partitions))
        deliveries = sum(len(sink.deliveries()) for sink in self.sinks.values())
        return {
            "owners": marks,
            "produced": self.load.so_far.count,
            "lag": self.lag(),
            "batches": deliveries,
        }


def _planner_of(job: Job) -> str:
    """The consumer id in the newest plan of Spark's offset log; "" where there is none."""
    try:
        newest = max((job.checkpoint / "offsets").glob("[0-9]*"), key=lambda p: int(p.name))
        return decode(json.loads(newest.read_text().splitlines()[2])).member
    except (OSError, ValueError, IndexError):
        return ""


@contextmanager
def staged(settings: Settings, directory: Path) -> Iterator[Stage]:
    """Servers, members, producer: all of it runs; none of it is left behind."""
    with ExitStack() as stack:
        sandbox = Sandbox(
            directory / "servers",
            kafka="3.9",
            brokers=settings.brokers,
            zookeepers=settings.zookeepers,
            zookeeper_heap_mb=ZOOKEEPER_HEAP_MB,
            kafka_heap_mb=BROKER_HEAP_MB,
        )
        stack.callback(sandbox.kill)
        sandbox.start()
        # One copy that has a record is enough for an acknowledgement only while no other is in
        # sync; a copy that is not in sync never becomes the leader.
        config = {"min.insync.replicas": "1", "unclean.leader.election.enable": "false"}
        sandbox.create_topic(TOPIC, settings.partitions, config, replication=settings.brokers)
        servers = [server.address for server in sandbox.zookeepers]
        jars = delta_jars(find_java(), print)
        cuts, members = {}, {}
        for name in settings.members:
            cuts[name] = stack.enter_context(Cut(servers))
            job = _job(name, settings, directory, cuts[name].addresses + CHROOT)
            members[name] = Process(job, jars)
            stack.callback(members[name].close)
            members[name].start()
        watch = Watch(sandbox.kafka_zookeeper_connect, GROUP, TOPIC, settings.partitions)
        stack.callback(watch.close)
        load = Load(sandbox.bootstrap_servers, TOPIC, settings.per_second)
        stage = Stage(settings, directory, sandbox, cuts, members, load, watch)
        stack.callback(_end, load)
        for member in members.values():
            wait_until(_ready(member), START_DEADLINE_S, f"{member.name}'s driver to start")
        load.start()
        if not stage.wait_settled(START_DEADLINE_S):
            raise AssertionError(
                f"the group did not settle within {START_DEADLINE_S:.0f} s: {stage.status()}; "
                f"see {directory}"
            )
        yield stage


def _ready(member: Process) -> Callable[[], bool]:
    return lambda: member.last("started") is not None


def _end(load: Load) -> None:
    if load.failed is None:
        load.stop()


def _job(name: str, settings: Settings, directory: Path, connect: str) -> Job:
    home = directory / name
    options = {
        "zookeeper.connect": connect,
        "zookeeper.session.timeout.ms": str(int(settings.session_s * 1000)),
        "max.poll.interval.ms": str(int(settings.poll_interval_s * 1000)),
        # A member starts again while its ZooKeeper may still be hurt.
        "zookeeper.connection.timeout.ms": "60000",
        "group.id": GROUP,
        "subscribe": TOPIC,
        "threads": "1",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(settings.batch_rows_max),
        "checkpointLocation": str(home / "checkpoint"),
    }
    return Job(name, home, directory / "table", options, settings.trigger_s)
