"""A scene of a group with light members, the coordinators that serve them, and how it ends."""

from __future__ import annotations

from pyspark_zkgroup.zk.port import SessionEvent
from tests.sim import copies
from tests.sim.coordinated.member import CoordinatedDriver
from tests.sim.coordinated.office import Office
from tests.sim.coordinated.scene import CoordinatedScene
from tests.sim.light import comebacks, crossed_hellos, hostile, stream_faults
from tests.sim.light.life_checks import LifeChecks
from tests.sim.light.member import LightDriver, ToldDriver
from tests.sim.light.office import LightCandidate
from tests.sim.outcome import Outcome
from tests.sim.process import Process
from tests.sim.query import Driver, Query
from tests.sim.scene import Phase

ADDRESSES = tuple(f"o{number}:1" for number in range(1, 7))
_CLEAN_S_MAX = 60.0


class LightScene(CoordinatedScene):
    rolls_back = False  # its checkers know no owner nodes that are restored

    def _coordinate(self) -> None:
        super()._coordinate()
        self.server.lookers.clear()
        self.lives = LifeChecks(self.world, self.server, self.kafka, "g")
        self.checkers = self.commands = self.lives
        self.mixed = self.rng.random() < 0.35
        self.others_stand = self.rng.random() < 0.3

    # -- the cast

    def set_up(self) -> None:
        super().set_up()
        while len(self.lone) < self.rng.choice([1, 2, 2, 3]):
            self.new_candidate()
        if not self.cuts:
            stream_faults.draw(self)
        if hostile.drawn(self.seed) and not self.cuts:
            hostile.HostileClient(self).begin()
        if comebacks.is_drawn(self.seed) and not self.cuts:
            comebacks.draw(self)
        if crossed_hellos.is_drawn(self.seed) and not self.cuts:
            crossed_hellos.draw(self)

    def options(self) -> dict[str, str]:
        rng = self.rng
        options = super().options()
        options.pop(copies.OPTION, None)
        if self.mixed and rng.random() < 0.4:
            stands = self.others_stand and not self.healing
            options["coordinator.candidate"] = "true" if stands else "false"
            return options
        for unused in (
            *("zookeeper.connect", "zookeeper.session.timeout.ms", "coordinator.candidate"),
            *("metadata.refresh.ms",),
        ):
            options.pop(unused, None)
        timeout_ms = rng.choice([self.config.session_ms, self.config.session_ms, 1500, 3000, 8000])
        return {
            **options,
            "protocol": "light",
            "coordinator.addresses": ",".join(rng.sample(ADDRESSES, len(ADDRESSES))),
            "session.timeout.ms": str(timeout_ms),
        }

    def new_candidate(self) -> Office:
        taken = {o.address for o in self.lone if isinstance(o, LightCandidate)}
        address = next((a for a in ADDRESSES if a not in taken), ADDRESSES[0])
        self._lone_names += 1
        process = Process(self.world, self.server, f"c{self._lone_names}")
        office = LightCandidate(
            *(self.world, process, self.kafka, self.config.session_ms, self.lives, address)
        )
        process.on_fault = lambda _reason: self._followed(office)
        office.begin()
        self.lone.append(office)
        self.world.tell(f"candidate {process.name} starts at {address}")
        return office

    def _followed(self, office: Office) -> None:
        if office in self.lone:
            super()._followed(office)

    def launch(self, query: Query) -> Driver | None:
        if self.healing and query.options["protocol"] != "light":
            query.options["coordinator.candidate"] = "false"
        return super().launch(query)

    def _new_driver(self, query: Query) -> Driver:
        given = (self.world, self.server, self.kafka, self.lives, query, self.ended_one)
        if query.options["protocol"] == "light":
            return LightDriver(*given, self.listening)
        return ToldDriver(*given, self.lives)

    def listening(self) -> dict[str, LightCandidate]:
        return {o.address: o for o in self.lone if isinstance(o, LightCandidate)}

    def serving(self) -> LightCandidate | None:
        found = self.coordinator()
        return found if isinstance(found, LightCandidate) else None

    # -- the end

    def _bring_back(self) -> None:
        super()._bring_back()
        for office in self.lone:
            office.access.set_way("up")
        # A candidate that serves no light members must not stay in office.
        for driver in self.cast.running:
            office_beside = driver.office if isinstance(driver, CoordinatedDriver) else None
            if office_beside is not None:
                office_beside._closing = True
                office_beside._events.put(SessionEvent("suspended"))
        self.world.wake()

    def finish(self) -> None:
        """A member that has just died is given up first."""
        self.phase = Phase.ENDING
        for driver in self.cast.running:
            driver.stop()
        give_up_at = self.world.now + _CLEAN_S_MAX
        while not self.world.over and self.world.now < give_up_at:
            registered = self.server.leader.kids.get(self.paths.ids, ())
            if not self.cast.running and not registered and not self.checkers.owner:
                break
            self.sleep(0.5)
        if not self.world.over:
            super().finish()


EXPECTED = (
    *("election", "term", "stop", "start", "stopped", "replay", "registered", "said"),
    *("life ended", "owner node of the dead deleted", "taken over from its predecessor"),
    *("hostile request", "plan in doubt", "duplicate by a fault", "refused with others"),
    *("back as its last life ends", "hellos crossed"),
)


def run(seed: int, *, traced: bool = False) -> Outcome:
    return LightScene(seed, traced=traced).run()
