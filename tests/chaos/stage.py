"""All there is in a chaos run: servers, three members, each with a route to what keeps its
session, producers, and what watches the group.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark_zkgroup.delta.jars import delta_jars
from pyspark_zkgroup.plan import decode
from tests.chaos.coordinators import Coordinators
from tests.chaos.doors import opened
from tests.chaos.group_reader import GroupReader
from tests.chaos.job import Job
from tests.chaos.load import Load
from tests.chaos.node_reader import NodeReader
from tests.chaos.process import Process, consumer_of, now, registered
from tests.chaos.protocols import BROKERS, COORDINATORS, PROTOCOLS, ZOOKEEPER, Given
from tests.chaos.settings import (
    BROKER_HEAP_MB,
    GROUP,
    TOPIC,
    ZOOKEEPER_HEAP_MB,
    Settings,
)
from tests.chaos.transactions import Transactions
from tests.chaos.verdict import triggered
from tests.chaos.watch import Watch
from tests.harness.waiting import wait_until
from tests.kafka.plain_consumers import JavaConsumer
from tests.spark.sink import Sink
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.answers import zookeeper_mode
from zkgroup_sandbox.cut import Cut
from zkgroup_sandbox.kafka_config import CHROOT
from zkgroup_sandbox.zookeeper import ZooKeeper

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
        coordinators: Coordinators | None,
    ) -> None:
        self.settings, self.directory, self.sandbox = settings, directory, sandbox
        self.protocol, self.coordinators = PROTOCOLS[settings.protocol], coordinators
        self.cuts, self.members, self.load, self.watch = cuts, members, load, watch
        self.sinks = {name: Sink(member.job.sink) for name, member in members.items()}
        self.consumers: dict[str, str] = {}
        self.born: dict[int, float] = {}
        self.plain: list[JavaConsumer] = []
        self._hurt: set[str] = set()
        self._picking = threading.Lock()
        self._named: dict[str, int] = dict.fromkeys(members, 0)
        self._heard: dict[str, int] = dict.fromkeys(members, 0)

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
            # A planner that ended before its first batch is in no progress and no offset log.
            heard = len(member.said)
            new = member.said[self._heard[name] : heard]
            self.consumers |= dict.fromkeys(registered(new), name)
            self._heard[name] = heard
        return {**self.consumers, **self.watch.look.names}

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
            and look.stable
            and len(look.members) == len(self.members)
            and {names.get(consumer) for consumer in look.members} == set(self.members)
            and owned.total() == self.watch.partitions
            and max(shares) - min(shares) <= 1
            and all(self._read_since(member, at) for member in self.members.values())
        )

    def _read_since(self, member: Process, at: float) -> bool:
        progress = member.last("progress")
        return member.reads and progress is not None and triggered(progress) > at

    def wait_settled(self, deadline_s: float) -> bool:
        """Counted from when all drivers run: how long Spark takes to start is not the group's."""
        try:
            for member in self.members.values():
                wait_until(_ready(member), START_DEADLINE_S, f"{member.name}'s driver to start")
            at = now()
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

    # -- what is done to it

    def pick(self, rng: random.Random, names: Collection[str]) -> str:
        """One that no other fault of the moment has picked, where there is one."""
        with self._picking:
            chosen = rng.choice(sorted(set(names) - self._hurt) or sorted(names))
            self._hurt.add(chosen)
        return chosen

    def forget_picks(self) -> None:
        self._hurt.clear()

    def plain_consumer(self) -> JavaConsumer:
        log = self.directory / f"plain-{len(self.plain) + 1}.log"
        made = JavaConsumer(self.sandbox.bootstrap_servers, GROUP, TOPIC, log, "read_committed")
        self.plain.append(made)
        return made

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
        if self.coordinators is not None:
            self.coordinators.heal()
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
    """Servers, members, producers: all of it runs; none of it is left behind."""
    protocol = PROTOCOLS[settings.protocol]
    with ExitStack() as stack:
        sandbox = stack.enter_context(_servers(settings, directory))
        coordinators = None
        if COORDINATORS in protocol.also_hits:
            coordinators = Coordinators(
                directory / "coordinators",
                [server.address for server in sandbox.zookeepers],
                CHROOT,
                settings.coordinator_session_s,
            )
            stack.callback(coordinators.close)
        cuts = _routes(settings, sandbox, coordinators)
        for cut in cuts.values():
            stack.callback(cut.close)
        jars = [] if settings.direct else delta_jars(print)
        members = {}
        for name, cut in cuts.items():
            given = Given(name, cut.addresses, sandbox.bootstrap_servers, settings)
            members[name] = Process(_job(given, directory), jars)
            stack.callback(members[name].close)
            members[name].start()
        reader = (
            GroupReader(sandbox.bootstrap_servers, GROUP)
            if protocol.paths is None
            else NodeReader(sandbox.kafka_zookeeper_connect, protocol.paths, TOPIC)
        )
        watch = Watch(reader, settings.partitions)
        stack.callback(watch.close)
        transactions = Transactions(sandbox.bootstrap_servers, TOPIC, settings.seed)
        load = Load(sandbox.bootstrap_servers, TOPIC, settings.per_second, transactions)
        stage = Stage(settings, directory, sandbox, cuts, members, load, watch, coordinators)
        stack.callback(_end, stage)
        for member in members.values():
            wait_until(_ready(member), START_DEADLINE_S, f"{member.name}'s driver to start")
        load.start()
        if not stage.wait_settled(START_DEADLINE_S):
            raise AssertionError(
                f"the group did not settle within {START_DEADLINE_S:.0f} s: {stage.status()}; "
                f"see {directory}; the group was last seen {watch.look} {watch.blind}"
            )
        yield stage


@contextmanager
def _servers(settings: Settings, directory: Path) -> Iterator[Sandbox]:
    faulty = ZOOKEEPER in PROTOCOLS[settings.protocol].also_hits
    sandbox = Sandbox(
        directory / "servers",
        kafka="3.9",
        brokers=settings.brokers,
        zookeepers=settings.zookeepers if faulty else 1,
        zookeeper_heap_mb=ZOOKEEPER_HEAP_MB,
        kafka_heap_mb=BROKER_HEAP_MB,
    )
    try:
        sandbox.start()
        # One copy that has a record is enough for an acknowledgement only while no other is in
        # sync; a copy that is not in sync never becomes the leader.
        config = {"min.insync.replicas": "1", "unclean.leader.election.enable": "false"}
        sandbox.create_topic(TOPIC, settings.partitions, config, replication=settings.brokers)
        yield sandbox
    finally:
        sandbox.kill()


def _routes(
    settings: Settings, sandbox: Sandbox, coordinators: Coordinators | None
) -> dict[str, Cut]:
    route = PROTOCOLS[settings.protocol].route
    if route == BROKERS:
        return opened(sandbox, settings.members)
    servers = [server.address for server in sandbox.zookeepers]
    if route == COORDINATORS:
        assert coordinators is not None
        servers = coordinators.addresses
    return {name: Cut(servers) for name in settings.members}


def _ready(member: Process) -> Callable[[], bool]:
    return lambda: member.last("started") is not None


def _end(stage: Stage) -> None:
    for consumer in stage.plain:
        consumer.close()
    if stage.load.failed is None:
        stage.load.stop()


def _job(given: Given, directory: Path) -> Job:
    settings, home = given.settings, directory / given.name
    options = {
        **PROTOCOLS[settings.protocol].options(given),
        "max.poll.interval.ms": str(int(settings.poll_interval_s * 1000)),
        "group.id": GROUP,
        "subscribe": TOPIC,
        "threads": "1",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(settings.batch_rows_max),
        "kafka.isolation.level": "read_committed",
        "checkpointLocation": str(home / "checkpoint"),
    }
    return Job(given.name, home, directory / "table", options, settings.trigger_s, settings.direct)
