"""One scene: a group, its queries, its faults, and how it ends: healed, drained, all read.

Everything is drawn from the seed. The story of a scene is what happened, in order.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from random import Random

from pyspark_zkgroup.group.paths import GroupPaths
from tests.fakes.kafka import FakeKafka
from tests.fakes.session import FakeSession
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim import copies, drawn_query, leaving, liveness, log_faults, rollback, wired_faults
from tests.sim.cast import Cast
from tests.sim.checkers import Checkers
from tests.sim.group_config import GroupConfig
from tests.sim.group_operator import Operator
from tests.sim.jvm import JvmMember
from tests.sim.outcome import Outcome
from tests.sim.query import Driver, Query
from tests.sim.world import World

GROUP = "g"


class Phase(IntEnum):
    FAULTS = 0
    HEALING = 1
    """No more faults; records keep coming."""
    READING = 2
    ENDING = 3


class Scene:
    rolls_back = True
    bounds = liveness.Bounds()

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        self.seed = seed
        self.world = World(seed)
        self.world.traced = traced
        rng = self.rng
        self.kafka = FakeKafka()
        followers = rng.choice([0, 0, 1, 2])
        self.server = FakeZookeeper(
            self.world, rng, followers=followers, lag_s=rng.choice([0.02, 0.2, 2.0])
        )
        self.paths = GroupPaths(GROUP)
        self.checkers = Checkers(self.world, self.server, self.kafka, GROUP)
        self.config = GroupConfig.drawn(seed, rng)
        self.cast = Cast()
        self.cuts = self.kafka.is_wired = wired_faults.is_drawn(seed)
        """The only faults of this group are those of its logs."""
        self.holders: wired_faults.Holders
        self.phase = Phase.FAULTS

    @property
    def rng(self) -> Random:
        return self.world.rng

    @property
    def counts(self) -> Counter[str]:
        return self.checkers.counts

    @property
    def operator(self) -> Operator:
        return Operator(self.server, self.paths)

    @property
    def healing(self) -> bool:
        return self.phase >= Phase.HEALING

    @property
    def ending(self) -> bool:
        return self.phase is Phase.ENDING

    # -- the cast

    def set_up(self) -> None:
        rng, server = self.rng, self.server
        total = rng.randrange(12, 25)
        server.make("/brokers/topics")
        server.make("/consumers")
        if not self.config.kraft:
            server.make("/brokers/ids/1", b'{"host":"b1","port":9092,"endpoints":[]}')
        for number, topic in enumerate(self.config.topics):
            count = max(1, total // len(self.config.topics) + number)
            self.make_topic(topic, count)
            for partition in self.kafka.partitions_of(topic):
                self.kafka.produce(partition, rng.randrange(0, 20))
        for _ in range(rng.choice([3, 3, 3, 4, 5])):
            self.new_query(delay=rng.random() * rng.choice([0.1, 8.0]))
        if rng.random() < 0.3 and not self.cuts:
            for _ in range(rng.choice([1, 1, 2])):
                self.new_jvm()

    def make_topic(self, topic: str, partitions: int) -> None:
        self.kafka.make_topic(topic, partitions)
        self.server.make(f"/brokers/topics/{topic}", self.kafka.topic_node(topic))

    def options(self) -> dict[str, str]:
        rng = self.rng
        options = {
            "zookeeper.connect": "zk1:2181",
            "group.id": GROUP,
            "threads": str(rng.choice([1, 2, 3])),
            "startingOffsets": self.config.starting,
            "zookeeper.session.timeout.ms": str(self.config.session_ms),
            "kafka.bootstrap.servers": "b1:9092",
            "partition.assignment.strategy": self.config.strategy,
            "partition.assignment.order": self.config.order,
            "metadata.refresh.ms": "3000",
            **self.config.reading(rng),
        }
        if not self.cuts:
            options |= copies.options(self.seed)
        return options

    def new_query(self, delay: float = 0.0) -> Query:
        name = f"q{len(self.cast.queries)}"
        options = self.options()
        if self.cuts:
            options |= wired_faults.options(self.seed, name)
        else:
            options = drawn_query.longest_silence(self.seed, name) | options
        query = drawn_query.draw(name, options, self.rng, may_end=not self.cuts)
        self.cast.queries.append(query)
        self.world.after(delay, lambda: self.launch(query))
        return query

    def new_jvm(self) -> None:
        name = f"g_jvm{len(self.cast.jvms) + 1}"
        self.cast.jvms.append(
            JvmMember(self.world, self.server, self.kafka, self.checkers, name, GROUP, self.config)
        )

    def launch(self, query: Query) -> Driver | None:
        if self.world.over or self.ending or query.ended:
            return None
        driver = self._new_driver(query)
        self.cast.drivers.append(driver)
        return driver

    def _new_driver(self, query: Query) -> Driver:
        return Driver(self.world, self.server, self.kafka, self.checkers, query, self.ended_one)

    def ended_one(self, driver: Driver) -> None:
        self.world.tell(f"{driver.name} has ended")
        query = driver.query
        if query.ended or self.ending or self.cast.runs(query):
            return
        rng = self.rng
        if self.healing:
            delay = 0.5
        else:
            # At once means within the session timeout of the one before.
            delay = rng.choice([0.05, 0.5, 2.0, self.config.session_ms / 500.0, 20.0])
        # While another's batch takes hours, a query that is refused would start thousands of times.
        self.world.after(self.world.at_least(delay), lambda: self._relaunch(query))

    def _relaunch(self, query: Query) -> None:
        if not self.cast.runs(query):
            self.launch(query)

    # -- producing

    def produce(self) -> None:
        if self.world.over or self.phase > Phase.HEALING:
            return
        logs = sorted(self.kafka.logs)
        for partition in self.rng.sample(logs, min(len(logs), self.rng.randrange(1, 6))):
            self.kafka.produce(partition, self.rng.randrange(1, 10))
        self.world.after(self.rng.random() * (600.0 if self.world.lazy else 1.5), self.produce)

    # -- the end

    def run(self) -> Outcome:
        world = self.world
        try:
            self.set_up()
            self.produce()
            if self.cuts:
                wired_faults.draw(self)
            else:
                self.draw_faults()
                log_faults.draw(self)
                if self.rolls_back:
                    rollback.draw(self)
            lasts = self.rng.choice([20.0, 30.0, 40.0])
            self.sleep(lasts)
            if not world.over:
                self.heal()
            if not world.over:
                self.finish()
        finally:
            world.end()
        return Outcome(
            self.seed,
            world.violation,
            world.story + [line for crash in world.crashes for line in crash.splitlines()],
            self.counts,
            {
                "members": len(self.cast.queries) + len(self.cast.jvms),
                "partitions": len(self.kafka.logs),
                "boundaries": self.counts["boundary"],
                "faults": self.counts["fault"],
                "steps": world.steps,
                "switches": world.switches,
            },
        )

    def draw_faults(self) -> None:
        from tests.sim import faults

        faults.draw(self)

    def sleep(self, seconds: float) -> None:
        until = self.world.now + seconds
        while self.world.now < until - 1e-9 and not self.world.over:
            self.world.pause(until - self.world.now)

    def heal(self) -> None:
        """No more faults; everything that is down comes back; everything is read to its end."""
        world = self.world
        for query in self.cast.queries:
            query.slow_next_s = 0.0
        if world.lazy:
            self.sleep(world.lazy_until - world.now)
        world.tell("-- healing")
        self.phase = Phase.HEALING
        self._bring_back()
        for jvm in self.cast.jvms:
            if self.rng.random() < 0.5:
                jvm.stop()
        if all(q.available_now or q.ended for q in self.cast.queries):
            self.new_query().available_now = False
        for query in self.cast.queries:
            query.batch_s = query.interval_s = 0.5
            query.slow_next_s = 0.0
        self.under_load()
        self.phase = Phase.READING
        liveness.read_all(self)

    def under_load(self) -> None:
        """What must hold once no fault occurs any more, while records keep coming."""
        if Random(f"{self.seed} load").random() < 0.5:
            liveness.read_under_load(self)

    def _bring_back(self) -> None:
        self.kafka.bring_back()
        if not self.server.up:
            self.zookeeper_up()
        self.cast.bring_back()

    def finish(self) -> None:
        self.phase = Phase.ENDING
        leaving.leave(self)

    # -- what faults use

    def befell(self, fault: str) -> None:
        self.counts["fault"] += 1
        self.counts[f"fault: {fault}"] += 1

    def zookeeper_down(self) -> None:
        self.server.up = False
        self._all_sessions()

    def zookeeper_up(self) -> None:
        self.server.up = True
        self._all_sessions()

    def sessions(self) -> list[FakeSession]:
        """Of all processes that have had one, be they dead."""
        return [session for process in self.cast.processes for session in process.access.sessions]

    def _all_sessions(self) -> None:
        for session in self.sessions():
            session.server_changed()
        self.world.wake()


def run(seed: int, *, traced: bool = False) -> Outcome:
    """`traced`: the story has every request as well."""
    return Scene(seed, traced=traced).run()
