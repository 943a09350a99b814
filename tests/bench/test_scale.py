"""What a join costs, counted over the fake ZooKeeper: what docs/scale.md says of any size."""

from __future__ import annotations

import json

import pytest

from tests.bench.scale import PAGE, RECORD, Cost, cost_of, one_join, paged
from tests.bench.scale_ground import fake
from tests.bench.scale_group import PROTOCOLS

SMALL, LARGE = 6, 30
PARTITIONS = 60


@pytest.fixture(scope="module")
def costs() -> dict[tuple[str, int], Cost]:
    found = {}
    for protocol in PROTOCOLS:
        for members in (SMALL, LARGE):
            with fake() as ground:
                found[protocol, members] = one_join(protocol, members, PARTITIONS, ground)
    return found


@pytest.mark.parametrize(("protocol", "constant", "each"), [("coordinator", 4, 1), ("light", 1, 2)])
@pytest.mark.parametrize("members", [SMALL, LARGE])
def test_one_that_was_there_reads_a_constant_and_what_it_gives_up(
    costs: dict[tuple[str, int], Cost], protocol: str, constant: int, each: int, members: int
) -> None:
    """The coordinator reads an owner node once more before it deletes it for a light member: it
    deletes what was made within this member's life alone.
    """
    cost = costs[protocol, members]
    assert cost.old.nodes == constant + each * cost.given_up
    # Who gives nothing up asks nothing: the newcomer's share comes from no more members than that.
    assert cost.stirred == min(members - 1, PARTITIONS // members)


@pytest.mark.parametrize("protocol", ["coordinator", "light"])
def test_the_coordinator_reads_no_more_where_there_are_more_members(
    costs: dict[tuple[str, int], Cost], protocol: str
) -> None:
    # The registration of the newcomer, four lists, one answer of each that gives something up and
    # of the newcomer, and the lists of these.
    for members in (SMALL, LARGE):
        cost = costs[protocol, members]
        answers = cost.stirred + cost.given_up + 1
        assert cost.coordinator.nodes <= 5 + (2 * answers if protocol == "coordinator" else 0)


def test_watches_are_the_same_whatever_the_size(costs: dict[tuple[str, int], Cost]) -> None:
    for protocol in PROTOCOLS:
        small, large = costs[protocol, SMALL], costs[protocol, LARGE]
        assert small.watches == large.watches
        assert small.coordinator_watches == large.coordinator_watches
    assert costs["light", LARGE].watches == 0


def test_each_that_decides_for_itself_reads_all_the_others(
    costs: dict[tuple[str, int], Cost],
) -> None:
    small, large = costs["zookeeper", SMALL], costs["zookeeper", LARGE]
    assert large.stirred == LARGE - 1
    assert large.old.nodes > LARGE
    assert large.total.nodes > small.total.nodes


def test_the_page_shows_what_was_recorded() -> None:
    page = PAGE.read_text("utf-8")
    recorded = [cost_of(read) for read in json.loads(RECORD.read_text())]
    assert paged(page, recorded) == page
    assert paged(page, recorded[1:]) != page
