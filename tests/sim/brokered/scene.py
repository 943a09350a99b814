"""A scene of a group that a broker coordinates: its queries, its faults, and how it ends."""

from __future__ import annotations

from pyspark_zkgroup.kafka.member_settings import COOPERATIVE_STICKY
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.sim.brokered import group_coverage, group_faults
from tests.sim.brokered.group_checks import GroupChecks
from tests.sim.brokered.member import BrokeredDriver
from tests.sim.liveness import Bounds, read_under_load
from tests.sim.outcome import Outcome
from tests.sim.query import Driver, Query
from tests.sim.scene import GROUP, Phase, Scene

_SHARED_S_MAX = 120.0
_EMPTY_S_MAX = 60.0
_HELD_LOOK_S = 0.5
# A member that was cut off is removed, and the group is assigned again, perhaps twice. Add
# max.poll.interval.ms, after which a newcomer asks again whose join was lost.
_READ_S_MAX = 60.0


class BrokeredScene(Scene):
    rolls_back = False

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        super().__init__(seed, traced=traced)
        rng = self.rng
        self._coordinate(first_join_s=rng.choice([0.0, 0.5, 3.0]))
        self.assignor = rng.choice([COOPERATIVE_STICKY] * 3 + ["range", "roundrobin"])
        self.config.session_ms = rng.choice([6000, 6000, 10_000])
        self.max_poll_ms = rng.choice([8000, 20_000, 60_000, 300_000])
        if self.cuts:
            self.max_poll_ms = 300_000  # a task waits for what is gone longer than the others
        # A newcomer whose join gets no answer asks again after so long, as a plain consumer does.
        asks_again_s = self.max_poll_ms / 1000.0
        self.bounds = Bounds(
            # One member alone, with the smallest batches, while records are produced.
            row_s=1 / 1.5,
            rest_s=Bounds.rest_s + asks_again_s,
            load_s=_READ_S_MAX + asks_again_s,
        )
        self.without_right: list[Query] = []
        """Queries that may not read the group now."""
        self.held_back = False
        """No query is started: an operator works on the group."""

    def _coordinate(self, *, first_join_s: float) -> None:
        self.server.lookers.clear()
        self.coordinator = FakeGroupCoordinator(self.world, self.kafka, first_join_s=first_join_s)
        self.checks = GroupChecks(self.world, self.server, self.kafka, GROUP, self.coordinator)
        self.checkers = self.checks

    # -- the cast

    def set_up(self) -> None:
        rng, server = self.rng, self.server
        server.make("/brokers/topics")
        total = rng.randrange(6, 17)
        for number, topic in enumerate(self.config.topics):
            self.make_topic(topic, max(1, total // len(self.config.topics) + number))
            for partition in self.kafka.partitions_of(topic):
                self.kafka.produce(partition, rng.randrange(0, 20))
        for _ in range(rng.choice([2, 3, 3, 4])):
            self.new_query(delay=rng.random() * rng.choice([0.1, 8.0]))

    def options(self) -> dict[str, str]:
        rng = self.rng
        return {
            "protocol": "kafka",
            "group.id": GROUP,
            "threads": str(rng.choice([1, 2])),
            "startingOffsets": self.config.starting,
            "session.timeout.ms": str(self.config.session_ms),
            "heartbeat.interval.ms": str(self.config.session_ms // 3),
            "max.poll.interval.ms": str(self.max_poll_ms),
            "kafka.bootstrap.servers": "b1:9092",
            "partition.assignment.strategy": self.assignor,
            "metadata.refresh.ms": "3000",
            **self.config.reading(rng),
        }

    def new_jvm(self) -> None:
        """None here."""

    def launch(self, query: Query) -> Driver | None:
        if self.held_back and not (self.world.over or self.ending or query.ended):
            self.world.after(_HELD_LOOK_S, lambda: self._relaunch(query))
            return None
        driver = super().launch(query)
        self.apply_rights()
        return driver

    def _new_driver(self, query: Query) -> Driver:
        return BrokeredDriver(
            *(self.world, self.server, self.kafka, self.checks, query, self.ended_one),
            self.coordinator,
        )

    def apply_rights(self) -> None:
        self.coordinator.refusals.groups = {
            d.number
            for d in self.cast.drivers
            if isinstance(d, BrokeredDriver) and d.query in self.without_right
        }

    def draw_faults(self) -> None:
        group_faults.draw(self)

    # -- the end

    def _bring_back(self) -> None:
        super()._bring_back()
        self.without_right.clear()
        self.apply_rights()
        self.coordinator.noted.withdraw_all()
        refusals = self.coordinator.refusals
        refusals.unknown.clear()
        refusals.topics.clear()
        refusals.odd.clear()

    def produce(self) -> None:
        """Less while the scene checks whether all is read: one member with small batches must
        suffice.
        """
        if not self.healing:
            super().produce()
        elif self.phase is Phase.HEALING and not self.world.over:
            self.kafka.produce(self.rng.choice(sorted(self.kafka.logs)), 1)
            self.world.after(self.rng.random() * 2.0, self.produce)

    def heal(self) -> None:
        super().heal()
        if not self.world.over:
            self._shared()

    def under_load(self) -> None:
        read_under_load(self)

    def _shared(self) -> None:
        """Nothing is left to read: now everything is held once, and evenly."""
        give_up_at = self.world.now + _SHARED_S_MAX + self.max_poll_ms / 1000.0
        uneven = len(self.config.topics) if self.assignor == "range" else 1
        while not self.world.over:
            loads = {d.name: len(d.membership.holdings.held) for d in self.cast.running}
            held = [p for d in self.cast.running for p in d.membership.holdings.held]
            is_whole = sorted(held) == sorted(self.kafka.logs)
            if is_whole and max(loads.values()) - min(loads.values()) <= uneven:
                self.world.tell("-- evenly shared")
                return
            if self.world.now > give_up_at:
                self.world.fail(f"never shared evenly: {loads} of {len(self.kafka.logs)}")
            self.sleep(0.5)

    def finish(self) -> None:
        super().finish()
        give_up_at = self.world.now + _EMPTY_S_MAX
        while not self.world.over and self.coordinator.group.members:
            if self.world.now > give_up_at:
                self.world.fail(f"still in the group: {sorted(self.coordinator.group.members)}")
            self.sleep(1.0)


def run(seed: int, *, traced: bool = False) -> Outcome:
    group_coverage.watch()
    return BrokeredScene(seed, traced=traced).run()
