"""Short forms of `make chaos`: real servers, real Spark, faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.kinds import kinds_of
from tests.chaos.protocols import PROTOCOLS
from tests.chaos.run import play
from tests.chaos.settings import Settings

pytestmark = pytest.mark.spark


def check(report: dict[str, Any], *, faults: int) -> None:
    assert report["failures"] == []
    assert report["missing"] == report["delta_duplicates"] == 0
    assert report["produced"] > 0
    assert all(d["explained"] and d["fault"] for d in report["duplicates"])
    assert len(report["faults"]) >= faults
    if not report["unowned"]["judged"]:
        return
    # Each gap had a rightful member by the assignor, and all registered members are known by name.
    rightful = {w["member"] for gap in report["unowned"]["longest"] for w in gap["rightful"]}
    assert rightful
    assert rightful <= {"a", "b", "c", ""}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_killed_planner_and_a_cut_lose_nothing_and_repeat_nothing_in_the_table(
    tmp_path: Path,
) -> None:
    # Neither needs another Spark to start, which takes longer than all else here.
    kinds = ("planner killed", "member cut off shortly")
    settings = Settings(
        minutes=0.1,
        faults=2,
        kinds=kinds,
        overlapping=1.0,
        seed=1,
        members=("a", "b"),
        zookeepers=1,
        brokers=1,
    )
    report = play(settings, tmp_path / "chaos.json")
    check(report, faults=2)
    assert {fault["kind"] for fault in report["faults"]} == set(kinds)
    assert report["counts"]["faults_overlapping"] == 2


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_one_fault_of_each_kind_loses_nothing_and_repeats_nothing_in_the_table(
    tmp_path: Path, protocol: str
) -> None:
    kinds = kinds_of(PROTOCOLS[protocol])
    settings = Settings(protocol=protocol, minutes=3.0, faults=len(kinds), seed=2)
    report = play(settings, tmp_path / "chaos.json")
    check(report, faults=len(kinds))
    assert {fault["kind"] for fault in report["faults"]} >= set(kinds) - {"partition added"}
    assert report["counts"]["faults_overlapping"]
