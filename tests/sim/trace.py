"""A scene in which nothing happens by chance: which query starts when, and which fault occurs at
which step.

The checkers are those of the seeds. `close` heals, reads to the end and lets all leave, as they do.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.checkers import Checkers
from tests.sim.group_config import GroupConfig
from tests.sim.outcome import Outcome, story
from tests.sim.process import Process
from tests.sim.query import Driver, Query, SinkKind
from tests.sim.scene import GROUP, Scene

TOPIC = "t0"
SINKS: tuple[SinkKind, ...] = ("append", "by batch id")
SPARK = ("planned", "logged", "partitions", "read", "sunk", "finished")
"""The steps of a batch."""


class Trace(Scene):
    def __init__(
        self,
        *,
        partitions: int = 4,
        records: int = 10,
        followers: int = 0,
        lag_s: float = 0.02,
        starting: str = "earliest",
        session_ms: int = 4000,
        seed: int = 0,
        wired: bool = False,
    ) -> None:
        """`wired`: see tests/sim/wired.py."""
        super().__init__(seed)
        self.server = FakeZookeeper(self.world, Random(seed), followers=followers, lag_s=lag_s)
        self.checkers = Checkers(self.world, self.server, self.kafka, GROUP)
        self.paths = GroupPaths(GROUP)
        self.cuts = self.kafka.is_wired = wired
        self.config = GroupConfig(
            kraft=False,
            strategy="range",
            order="new",
            starting=starting,
            session_ms=session_ms,
            topics=[TOPIC],
        )
        self.server.make("/brokers/topics")
        self.server.make("/consumers")
        self.server.make("/brokers/ids/1", b'{"host":"b1","port":9092,"endpoints":[]}')
        self.make_topic(TOPIC, partitions)
        self.produce_each(records)
        self.restarting = False

    def produce_each(self, records: int) -> None:
        for partition in self.kafka.partitions_of(TOPIC):
            if records:
                self.kafka.produce(partition, records)

    # -- the cast

    def query(
        self,
        name: str,
        *,
        sink: SinkKind = "append",
        static: bool = False,
        evidence: bool = False,
        interval_s: float = 0.3,
        batch_s: float = 0.2,
        **options: str,
    ) -> Query:
        made = Query(
            name,
            {
                "zookeeper.connect": "zk1:2181",
                "group.id": GROUP,
                "threads": "1",
                "subscribe": TOPIC,
                "startingOffsets": self.config.starting,
                "zookeeper.session.timeout.ms": str(self.config.session_ms),
                "kafka.bootstrap.servers": "b1:9092",
                "partition.assignment.strategy": self.config.strategy,
                **({"member.id": name} if static else {}),
                **({"checkpointLocation": f"/checkpoints/{name}"} if evidence else {}),
                **{key.replace("_", "."): value for key, value in options.items()},
            },
            sink=sink,
            evidence=evidence,
            interval_s=interval_s,
            batch_s=batch_s,
        )
        self.cast.queries.append(made)
        return made

    def begin(self, query: Query) -> Driver:
        driver = self.launch(query)
        assert driver is not None
        return driver

    def ended_one(self, driver: Driver) -> None:
        """Restarts are the trace's own, but for what must come back in the end."""
        self.world.tell(f"{driver.name} has ended")
        if self.restarting and not driver.query.ended and not self.ending:
            self.world.after(0.5, lambda: self._relaunch(driver.query))

    # -- what happens

    def go(self, seconds: float) -> None:
        self.sleep(seconds)

    def go_until(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        give_up_at = self.world.now + seconds
        while not condition() and not self.world.over:
            if self.world.now > give_up_at:
                self.world.fail("the trace does not get where it wants to be")
            self.sleep(0.05)

    def read_all(self) -> None:
        self.go_until(lambda: not self.checkers.unread() and not self.checkers.uncommitted())

    def at(self, process: Process, step: str, act: Callable[[], None], skip: int = 0) -> None:
        """At the process's next step of that name, or the one after `skip` of them."""
        process.at(step, act, skip)

    def kill_at(self, driver: Driver, step: str, skip: int = 0) -> None:
        self.at(driver.process, step, driver.process.kill, skip)

    def go_until_gone(self, driver: Driver) -> None:
        self.go_until(lambda: driver.gone)

    def committed(self, number: int = 0) -> int | None:
        stat = self.server.leader.nodes.get(self.paths.offset(TopicPartition(TOPIC, number)))
        return None if stat is None else int(stat.data)

    # -- the end

    def under_load(self) -> None:
        """Nothing is produced but what the trace produces."""

    def close(self) -> Outcome:
        try:
            if not self.world.over:
                self.restarting = True
                for query in self.cast.queries:
                    self._relaunch(query)
                self.heal()
            if not self.world.over:
                self.finish()
        finally:
            self.world.end()
        outcome = Outcome(self.seed, self.world.violation, self.world.story, self.counts)
        outcome.story += [line for crash in self.world.crashes for line in crash.splitlines()]
        return outcome

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self.world.end()
            return
        outcome = self.close()
        assert outcome.violation is None, story(outcome)
