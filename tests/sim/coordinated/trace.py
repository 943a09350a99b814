"""A scene of a coordinated group in which nothing happens by chance. Its candidates are alone."""

from __future__ import annotations

from typing import Any

from tests.sim.coordinated.office import Office
from tests.sim.coordinated.scene import CoordinatedScene
from tests.sim.query import Query
from tests.sim.trace import Trace


class CoordinatedTrace(Trace, CoordinatedScene):
    def __init__(self, **scene: Any) -> None:
        super().__init__(**scene)
        self._coordinate()
        self.following_s = 0.1

    def query(self, name: str, **given: Any) -> Query:
        made = super().query(name, **given)
        del made.options["partition.assignment.strategy"]
        made.options["protocol"] = "coordinator"
        made.options["coordinator.candidate"] = "false"
        return made

    def __enter__(self) -> CoordinatedTrace:
        return self

    def _followed(self, office: Office) -> None:
        self.lone.remove(office)
        self._gone.append(office)

        def again() -> None:
            self.new_candidate()

        self.world.after(self.following_s, again)

    def shares(self) -> list[int]:
        """How much each member holds, the largest share first."""
        return sorted((len(d.membership.holdings.held) for d in self.cast.running), reverse=True)

    def go_until_shared(self, *shares: int) -> None:
        self.go_until(lambda: self.shares() == list(shares))
