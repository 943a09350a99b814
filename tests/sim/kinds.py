"""The kinds of scenes that there are, one for each protocol that is simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from tests.sim import (
    coverage,
    faults,
    log_faults,
    planted,
    planted_logs,
    planting,
    rollback,
    scene,
    wired_faults,
)
from tests.sim.brokered import group_coverage, group_faults
from tests.sim.brokered import planted as brokered_bugs
from tests.sim.brokered import scene as brokered
from tests.sim.coordinated import coordinator_faults
from tests.sim.coordinated import planted as coordinated_bugs
from tests.sim.coordinated import scene as coordinated
from tests.sim.light import planted as light_bugs
from tests.sim.light import scene as light
from tests.sim.light import stream_faults
from tests.sim.outcome import Outcome
from tests.sim.planting import Bugs

HERE = Path(__file__).parent


class Run(Protocol):
    def __call__(self, seed: int, *, traced: bool = False) -> Outcome: ...


@dataclass(frozen=True)
class Kind:
    """`missing`: what so many seeds should have reached and did not, by what they counted; `rare`
    also requires what takes several faults in one scene. `record`: the seed that finds each bug.
    """

    run: Run
    faults: Collection[str]
    missing: Callable[[Counter[str], bool], list[str]]
    bugs: Bugs
    record: Path

    def planted(self, bug: str) -> AbstractContextManager[None]:
        return planting.planted(self.bugs, bug)


def _untold(total: Counter[str], _rare: bool) -> list[str]:
    return [name for name in coordinated.EXPECTED if not total[name]]


KINDS: Final = {
    "zookeeper": Kind(
        run=scene.run,
        faults=[*faults.FAULTS, *log_faults.FAULTS, *wired_faults.FAULTS, rollback.FAULT],
        missing=coverage.missing,
        bugs=planted.BUGS | planted_logs.BUGS,
        record=HERE / "planted.json",
    ),
    "coordinator": Kind(
        run=coordinated.run,
        faults=[
            *(*coordinator_faults.FAULTS, *log_faults.FAULTS, *wired_faults.FAULTS),
            rollback.FAULT,
        ],
        missing=_untold,
        bugs=coordinated_bugs.BUGS | planted_logs.BUGS,
        record=HERE / "coordinated" / "planted.json",
    ),
    "kafka": Kind(
        run=brokered.run,
        faults=[*group_faults.FAULTS, *log_faults.FAULTS, *wired_faults.FAULTS],
        missing=group_coverage.missing,
        bugs=brokered_bugs.BUGS | planted_logs.BUGS,
        record=HERE / "brokered" / "planted.json",
    ),
    "light": Kind(
        run=light.run,
        faults=[*stream_faults.FAULTS, *log_faults.FAULTS, *wired_faults.FAULTS],
        missing=lambda total, _rare: [name for name in light.EXPECTED if not total[name]],
        bugs=light_bugs.BUGS | planted_logs.BUGS,
        record=HERE / "light" / "planted.json",
    ),
}
