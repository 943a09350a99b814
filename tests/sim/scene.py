"""One scene: a group, its queries, its faults, and how it ends: healed, drained, all read.

Everything is drawn from the seed. The story of a scene is what happened, in order.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options.group import MAX_POLL_INTERVAL
from tests.fakes.kafka import FakeKafka
from tests.fakes.session import FakeSession
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim import copies, load, log_faults, rollback, wired_faults
from tests.sim.checkers import Checkers
from tests.sim.jvm import JvmMember
from tests.sim.outcome import Outcome
from tests.sim.query import Driver, Query, SinkKind
from tests.sim.world import World

GROUP = "g"


class Scene:
    ending = False
    rolls_back = True

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        self.seed = seed
        self.world = World(seed)
        self.world.traced = traced
        self.rng: Random = self.world.rng
        rng = self.rng
        self.kafka = FakeKafka()
        followers = rng.choice([0, 0, 1, 2])
        self.server = FakeZookeeper(
            self.world, rng, followers=followers, lag_s=rng.choice([0.02, 0.2, 2.0])
        )
        self.paths = GroupPaths(GROUP)
        self.checkers = Checkers(self.world, self.server, self.kafka, GROUP)
        self.counts: Counter[str] = self.checkers.counts
        self.kraft = rng.random() < 0.15
        self.strategy = rng.choice(["range", "roundrobin"])
        # Drawn apart: it changes nothing of what else is drawn.
        if self.strategy == "range" and Random(f"{seed} balanced").random() < 0.5:
            self.strategy = "balanced"
        self.order = rng.choice(["old", "new"])
        self.starting = rng.choice(["earliest", "earliest", "latest"])
        self.session_ms = rng.choice([2000, 4000, 6000])
        self.topics = [f"t{n}" for n in range(rng.choice([1, 2, 2, 3]))]
        self.queries: list[Query] = []
        self.drivers: list[Driver] = []
        self.jvms: list[JvmMember] = []
        self.cuts = self.kafka.is_wired = wired_faults.is_drawn(seed)
        """The only faults of this group are those of its logs."""
        self.holders: wired_faults.Holders
        self.healing = False
        self.is_loaded = Random(f"{seed} load").random() < 0.5
        self.producing = True
        self.faults = 0
        self._numbers = 0

    # -- the cast

    def set_up(self) -> None:
        rng, server = self.rng, self.server
        total = rng.randrange(12, 25)
        server.make("/brokers/topics")
        server.make("/consumers")
        if not self.kraft:
            server.make("/brokers/ids/1", b'{"host":"b1","port":9092,"endpoints":[]}')
        for number, topic in enumerate(self.topics):
            count = max(1, total // len(self.topics) + number)
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
            "startingOffsets": self.starting,
            "zookeeper.session.timeout.ms": str(self.session_ms),
            "kafka.bootstrap.servers": "b1:9092",
            "partition.assignment.strategy": self.strategy,
            "partition.assignment.order": self.order,
            "metadata.refresh.ms": "3000",
        }
        if rng.random() < 0.85:
            options["subscribe"] = ",".join(self.topics)
        else:
            options["subscribePattern"] = "t.*"
        if not self.cuts:
            options |= copies.options(self.seed)
        if rng.random() < 0.5:
            options["maxOffsetsPerTrigger"] = str(rng.choice([5, 20, 100]))
        return options

    def new_query(self, delay: float = 0.0) -> Query:
        rng = self.rng
        name = f"q{len(self.queries)}"
        options = self.options()
        if rng.random() < 0.35:
            options["member.id"] = name
        evidence = rng.random() < 0.5
        if evidence:
            options["checkpointLocation"] = f"/checkpoints/{name}"
        sink: SinkKind = rng.choice(["append", "by batch id", "by batch id", "by offset"])
        if self.cuts:
            options |= wired_faults.options(self.seed, name)
        else:
            options = self.longest_silence(name) | options
        query = Query(
            name,
            options,
            sink=sink,
            evidence=evidence,
            available_now=rng.random() < 0.1 and not self.cuts,
            interval_s=rng.choice([0.3, 1.0, 1.0, 3.0]),
            batch_s=rng.choice([0.05, 0.3, 1.0, 3.0]),
        )
        self.queries.append(query)
        self.world.after(delay, lambda: self.launch(query))
        return query

    def longest_silence(self, name: str) -> dict[str, str]:
        """Drawn separately: which query has one changes nothing of what else is drawn. Where the
        group has one for all, it is among the options.
        """
        rng = Random(f"{self.seed} {name}")
        limit_ms = rng.choice([0, 0, 0, 0, 8000, 15000])
        return {MAX_POLL_INTERVAL.name: str(limit_ms)} if limit_ms else {}

    def new_jvm(self) -> None:
        self._numbers += 1
        strategy = "range" if self.strategy == "balanced" else self.strategy
        self.jvms.append(
            JvmMember(
                self.world,
                self.server,
                self.kafka,
                self.checkers,
                f"g_jvm{self._numbers}",
                GROUP,
                dict.fromkeys(self.topics, 1),
                strategy,
                self.order,
                self.session_ms / 1000.0,
            )
        )

    def launch(self, query: Query) -> Driver | None:
        if self.world.over or self.ending or query.ended:
            return None
        driver = Driver(self.world, self.server, self.kafka, self.checkers, query, self.ended_one)
        self.drivers.append(driver)
        return driver

    def ended_one(self, driver: Driver) -> None:
        self.world.tell(f"{driver.name} has ended")
        query = driver.query
        if query.ended or self.ending:
            return
        if any(d.query is query and not d.gone for d in self.drivers):
            return
        rng = self.rng
        if self.healing:
            delay = 0.5
        else:
            # At once means within the session timeout of the one before.
            delay = rng.choice([0.05, 0.5, 2.0, self.session_ms / 500.0, 20.0])
        self.world.after(delay, lambda: self._relaunch(query))

    def _relaunch(self, query: Query) -> None:
        if not any(d.query is query and not d.gone for d in self.drivers):
            self.launch(query)

    @property
    def running(self) -> list[Driver]:
        return [d for d in self.drivers if not d.gone]

    # -- producing

    def produce(self) -> None:
        if self.world.over or not self.producing:
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
        self.counts["fault"] += self.faults
        return Outcome(
            self.seed,
            world.violation,
            world.story + [line for crash in world.crashes for line in crash.splitlines()],
            self.counts,
            {
                "members": len(self.queries) + len(self.jvms),
                "partitions": len(self.kafka.logs),
                "boundaries": self.counts["boundary"],
                "faults": self.faults,
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
        for query in self.queries:
            query.slow_next_s = 0.0
        if world.lazy:
            self.sleep(world.lazy_until - world.now)
        world.tell("-- healing")
        self.healing = True
        self._bring_back()
        for jvm in self.jvms:
            if self.rng.random() < 0.5:
                jvm.stop()
        if all(q.available_now or q.ended for q in self.queries):
            self.new_query().available_now = False
        for query in self.queries:
            query.batch_s = query.interval_s = 0.5
            query.slow_next_s = 0.0
        self.under_load()
        self.producing = False
        self._read_on()

    def under_load(self) -> None:
        """What must hold once no fault occurs any more, while records keep coming."""
        if self.is_loaded:
            load.read_under_load(self)

    def _bring_back(self) -> None:
        self.kafka.lagging.clear()
        for log in self.kafka.logs.values():
            log.has_leader = True
            log.end_transaction()
            log.latest += 1
        if not self.server.up:
            self.zookeeper_up()
        for one in [d.process for d in self.running] + [j.process for j in self.jvms]:
            one.triggers.clear()
            one.reaches_kafka = True
            if one.access.way != "up":
                one.access.set_way("up")

    # A query may be limited to five records for each trigger of about a second.
    row_s = 0.4
    heal_s_max = 300.0
    load_s_max = 100.0

    def _read_on(self) -> None:
        world = self.world
        ends = {p: log.latest for p, log in self.kafka.logs.items()}
        give_up_at = world.now + self.heal_s_max + load.backlog_s(self, ends)
        look_again_s = 1.0
        while not world.over:
            self.sleep(look_again_s)
            look_again_s = min(30.0, look_again_s * 1.2)
            self.mend()
            if not self.checkers.unread() and not self.checkers.uncommitted():
                break
            if world.now > give_up_at:
                for driver in self.running:
                    world.tell(f"{driver.name}: {driver.membership.status()}")
                world.fail(
                    "P1: never read or committed: "
                    + "; ".join(self.checkers.unread() or self.checkers.uncommitted())
                )
        world.tell("-- all is read")
        if self.checkers.cuts_owed:
            world.fail(f"P1: losses that no member reported: {sorted(self.checkers.cuts_owed)}")

    def mend(self) -> None:
        """What the operator named in the messages does: offsets beyond the end are set, but not
        while a member has yet to report that the log was cut.
        """
        cut = {partition for _, partition, _, _ in self.checkers.cuts_owed}
        for partition in sorted(self.kafka.logs.keys() - cut):
            path = self.paths.offset(partition)
            stat = self.server.leader.nodes.get(path)
            if stat is not None and stat.data.isdigit():
                log = self.kafka.logs[partition]
                if not log.earliest <= int(stat.data) <= log.latest:
                    self.set_offset(partition, log.earliest)

    def set_offset(self, partition: TopicPartition, value: int) -> None:
        from pyspark_zkgroup.group.ops import SetData

        path = self.paths.offset(partition)
        if path in self.server.leader.nodes:
            self.server.write(SetData(path, b"%d" % value, -1))

    def finish(self) -> None:
        """All leave cleanly: they leave nothing behind, and nothing is read again."""
        world = self.world
        self.ending = True
        for driver in self.running:
            driver.stop()
        for jvm in self.jvms:
            jvm.stop()
        give_up_at = world.now + 60.0
        while not world.over and world.now < give_up_at:
            if not self.running and all(j.gone for j in self.jvms):
                break
            self.sleep(0.5)
        if self.running and not world.over:
            world.fail(f"{self.running[0].name} does not end")
        left = sorted(self.server.leader.kids.get(self.paths.ids, ()))
        sessions = [s for s, nodes in self.server.ephemerals.items() if nodes]
        if not world.over and left and sessions:
            self.sleep(30.0)
            left = sorted(self.server.leader.kids.get(self.paths.ids, ()))
            if left:
                world.fail(f"registrations are left: {left}")
        if not world.over and self.checkers.owner:
            world.fail(f"owner nodes are left: {sorted(self.checkers.owner)}")
        if not world.over:
            self.checkers.copies.check()

    # -- what faults use

    def zookeeper_down(self) -> None:
        self.server.up = False
        self._all_sessions()

    def zookeeper_up(self) -> None:
        self.server.up = True
        self._all_sessions()

    def sessions(self) -> list[FakeSession]:
        """Of all processes that have had one, be they dead."""
        processes = [d.process for d in self.drivers] + [j.process for j in self.jvms]
        return [session for process in processes for session in process.access.sessions]

    def _all_sessions(self) -> None:
        for session in self.sessions():
            session.server_changed()
        self.world.wake()

    def group_nodes(self) -> dict[str, bytes]:
        """The offsets, as an export has them."""
        root = self.paths.offsets
        return {
            path: stat.data
            for path, stat in sorted(self.server.leader.nodes.items())
            if path.startswith(f"{root}/") and path.count("/") == root.count("/") + 2
        }


def run(seed: int, *, traced: bool = False) -> Outcome:
    """`traced`: the story has every request as well."""
    return Scene(seed, traced=traced).run()
