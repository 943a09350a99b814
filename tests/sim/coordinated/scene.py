"""A scene of a coordinated group: its members, candidates with them or alone, and how it ends."""

from __future__ import annotations

from pyspark_zkgroup.group.paths import CoordinatedPaths
from tests.fakes.session import FakeSession
from tests.sim.coordinated import coordinator_faults
from tests.sim.coordinated.command_checks import CommandChecks
from tests.sim.coordinated.member import CoordinatedDriver
from tests.sim.coordinated.office import Office
from tests.sim.outcome import Outcome
from tests.sim.process import Process
from tests.sim.query import Driver, Query
from tests.sim.scene import GROUP, Scene

_SHARED_S_MAX = 90.0
_CLEAN_S_MAX = 60.0


class CoordinatedScene(Scene):
    def __init__(self, seed: int, *, traced: bool = False) -> None:
        super().__init__(seed, traced=traced)
        self._coordinate()

    def _coordinate(self) -> None:
        self.server.lookers.clear()
        self.commands = CommandChecks(self.world, self.server, self.kafka, GROUP)
        self.checkers = self.commands
        self.paths = self.coordinated = CoordinatedPaths(GROUP)
        self.lone: list[Office] = []
        self._gone: list[Office] = []
        self._lone_names = 0
        self._opened = False

    # -- the cast

    def set_up(self) -> None:
        super().set_up()
        self._opened = True
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            self.new_candidate()
        if not self.cuts:
            coordinator_faults.draw(self)

    def options(self) -> dict[str, str]:
        options = {**super().options(), "protocol": "coordinator"}
        options["coordinator.candidate"] = self.rng.choice(["true", "true", "false"])
        for unused in ("partition.assignment.strategy", "partition.assignment.order"):
            del options[unused]
        return options

    def new_query(self, delay: float = 0.0) -> Query:
        query = super().new_query(delay)
        if query.available_now and not self.lone:
            # It ends when its own time is over, whether or not it ever received anything.
            self.new_candidate()
        return query

    def new_jvm(self) -> None:
        """None from the start: members that join later would be refused, and the scene would show
        nothing.
        """
        if self._opened and not self.healing:
            super().new_jvm()

    def new_candidate(self) -> Office:
        self._lone_names += 1
        process = Process(self.world, self.server, f"c{self._lone_names}")
        office = Office(
            *(self.world, process, self.kafka, self.config.session_ms, self.commands),
        )
        process.on_fault = lambda _reason: self._followed(office)
        office.begin()
        self.lone.append(office)
        self.world.tell(f"candidate {process.name} starts")
        return office

    def _followed(self, office: Office) -> None:
        def again() -> None:
            if not self.world.over and not self.ending:
                self.new_candidate()

        if office in self._gone:
            return  # two faults at one step
        self.lone.remove(office)
        self._gone.append(office)
        delay = 0.2 if self.healing else self.rng.choice([0.05, 2.0, 20.0])
        self.world.after(delay, again)

    def _new_driver(self, query: Query) -> Driver:
        return CoordinatedDriver(
            *(self.world, self.server, self.kafka, self.checkers, query, self.ended_one),
            self.commands,
        )

    def offices(self) -> list[Office]:
        beside = [d.office for d in self.cast.running if isinstance(d, CoordinatedDriver)]
        alive = [o for o in [*beside, *self.lone] if o is not None and not o.ended]
        return [o for o in alive if not (o.process.driver_dead or o.process.planner_dead)]

    def coordinator(self) -> Office | None:
        """Return a candidate that believes to be coordinator, if there is one."""
        return next((o for o in self.offices() if o.in_office), None)

    # -- the end

    def heal(self) -> None:
        if not self.lone:
            self.new_candidate()
        super().heal()
        if not self.world.over:
            self._shared()

    def _bring_back(self) -> None:
        super()._bring_back()
        # From here on none joins; while one is there, no coordinator assigns anything.
        for jvm in self.cast.jvms:
            jvm.stop()
        for office in self.lone:
            office.process.bring_back()

    def sessions(self) -> list[FakeSession]:
        """The server counts the silence of the dead as well."""
        beside = [
            d.office for d in self.cast.drivers if isinstance(d, CoordinatedDriver) and d.office
        ]
        offices = [*beside, *self.lone, *self._gone]
        return [s for office in offices for s in office.access.sessions] + super().sessions()

    def _shared(self) -> None:
        """Nothing is left to read: now everything is owned, and no thread has two more."""
        give_up_at = self.world.now + _SHARED_S_MAX
        while not self.world.over:
            loads: dict[tuple[str, int], int] = {}
            for driver in self.cast.running:
                for number in range(int(driver.query.options["threads"])):
                    loads[driver.name, number] = 0
                for held in driver.membership.holdings.held.values():
                    loads[driver.name, held.thread] += 1
            total = sum(loads.values())
            if total == len(self.kafka.logs) and max(loads.values()) - min(loads.values()) <= 1:
                self.world.tell("-- evenly shared")
                return
            if self.world.now > give_up_at:
                self.world.fail(f"never shared evenly: {loads} of {len(self.kafka.logs)}")
            self.sleep(0.5)

    def finish(self) -> None:
        super().finish()
        if self.world.over:
            return
        give_up_at = self.world.now + _CLEAN_S_MAX
        while not self.world.over and (left := self._left_behind()):
            if self.world.now > give_up_at:
                self.world.fail(f"commands or answers are left behind: {left}")
            self.sleep(1.0)

    def _left_behind(self) -> list[str]:
        kids = self.server.leader.kids
        return sorted(kids.get(self.coordinated.channels, ())) + sorted(
            kids.get(self.coordinated.answers, ())
        )


EXPECTED = (
    *("election", "term", "stop", "start", "stopped", "start of one out of office"),
    *("replay", "refused with others"),
)


def run(seed: int, *, traced: bool = False) -> Outcome:
    return CoordinatedScene(seed, traced=traced).run()
