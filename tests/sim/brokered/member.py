"""A driver whose group a broker coordinates: the real member and its keeper, as two actors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.kafka.membership import KafkaMembership
from tests.fakes.group_cluster import FakeCluster
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.process import Process, ThreadSteps
from tests.sim.query import Driver, Query
from tests.sim.threads import ProcessThreads
from tests.sim.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sim.brokered.group_checks import GroupChecks

_LONG_S = 1e7
_TURNED_SHARE = 0.04
_TURNED_S = 0.05


class MemberThreads(ProcessThreads):
    """Which of a member's two threads runs, and what they wait for."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.world, process)
        self.keeping = ThreadSteps(process, "keeper")
        self.still = False
        """No other thread may run now: a lock of the real kind is held."""

    @property
    def steps(self) -> Process | ThreadSteps:
        return self.keeping if self.world.current in self.process.apart else self.process

    def condition(self) -> TurnedCondition:
        return TurnedCondition(self)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        self.still = True
        try:
            yield
        finally:
            self.still = False


class TurnedCondition:
    """A condition in the world: no thread waits for its lock, since its holder lets others run only
    by waiting. Before it is taken, another thread may come first.
    """

    def __init__(self, threads: MemberThreads) -> None:
        self.threads = threads
        self.turn = 0

    def __enter__(self) -> bool:
        world = self.threads.world
        is_turned = not self.threads.still and world.rng.random() < _TURNED_SHARE
        if is_turned and world.current is not world.main:
            self.threads.steps.check()
            world.pause(world.rng.random() * _TURNED_S)
            self.threads.steps.check()
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    def wait(self, timeout: float | None = None) -> bool:
        turn = self.turn
        steps = self.threads.steps
        seconds = _LONG_S if timeout is None else timeout / self.threads.process.clock.rate
        steps.wait(seconds, lambda: self.turn != turn)
        return self.turn != turn

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        steps = self.threads.steps
        seconds = _LONG_S if timeout is None else timeout / self.threads.process.clock.rate
        steps.wait(seconds, predicate)
        return predicate()

    def notify_all(self) -> None:
        self.turn += 1
        self.threads.world.wake()


def brokered(driver: Driver) -> KafkaMembership:
    membership: Any = driver.membership
    assert isinstance(membership, KafkaMembership)
    return membership


class BrokeredDriver(Driver):
    def __init__(
        self,
        world: World,
        server: FakeZookeeper,
        kafka: FakeKafka,
        judge: GroupChecks,
        query: Query,
        ended: Callable[[Driver], None],
        coordinator: FakeGroupCoordinator,
    ) -> None:
        self.number = len(judge.drivers) + 1
        self.coordinator = coordinator
        super().__init__(world, server, kafka, judge, query, ended)
        judge.opened(self, self.number)
        self._watch_silence(self.planner.silence.limit_s / 2)

    def new_membership(self) -> Any:
        self.threads = MemberThreads(self.process)
        return KafkaMembership(
            self.options,
            self.view,
            self.connect,
            self.options.protocol.kafka,
            Environment(
                clock=self.process.clock,
                new_name=lambda _clock: f"{self.name}-{self.number}-x",
                new_condition=self.threads.condition,
                threads=self.threads,
            ),
        )

    def connect(self) -> GroupCoordinator:
        cluster: Any = FakeCluster(
            self.number,
            self.coordinator,
            self.kafka,
            self.process.access,
            self.threads.steps,
            self.process.reaches,
            self.process.clock,
            self.world.rng,
        )
        return GroupCoordinator(cluster, self.options.group.id)

    def _sleep(self, seconds: float) -> None:
        """No batch here takes hours: the other members continue as usual during a slow one."""
        self.world.lazy_until = float("-inf")
        super()._sleep(seconds)

    def _watch_silence(self, wait_s: float) -> None:
        """Acts as planning/silence.py's thread does, which looks and never waits."""
        silence = self.planner.silence

        def look() -> None:
            if silence.ended.is_set() or self.process.planner_dead or self.process.driver_dead:
                return
            if self.process.access.paused:
                self.world.after(0.5, look)
                return
            kept = brokered(self).kept
            life = kept.member.life
            with self.threads.standing_still():
                following_s = silence.look()
            if kept.member.life != life:
                self.judge.fault(self, "it has given up: its batch takes too long")
            # Not at once: rounded, no time might pass at all.
            self.world.after(max(0.01, following_s / self.process.clock.rate), look)

        if wait_s:
            self.world.after(wait_s, look)
