"""Which faults a run draws, and which of them overlap."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice, pairwise

import pytest

from tests.chaos.bag import drawn, paired
from tests.chaos.kinds import KINDS, kinds_of, may_overlap
from tests.chaos.protocols import BROKERS, MEMBERS, PROTOCOLS


def test_a_bag_is_emptied_before_the_next_and_no_kind_comes_twice_in_a_row() -> None:
    kinds = list(islice(drawn("abcd", random.Random(5)), 400))
    assert all(sorted(kinds[i : i + 4]) == list("abcd") for i in range(0, 400, 4))
    assert all(a != b for a, b in pairwise(kinds))
    assert kinds == list(islice(drawn("abcd", random.Random(5)), 400))


def test_about_that_share_of_the_kinds_has_the_next_one_on_top_where_both_may_be() -> None:
    def may(one: str, other: str) -> bool:
        return {one, other} != {"a", "b"}

    def bags() -> Iterator[str]:
        return drawn("abcd", random.Random(5))

    found = list(islice(paired(bags(), 0.25, may), 1000))
    flat = [kind for kinds in found for kind in kinds]
    assert flat == list(islice(bags(), len(flat)))
    pairs = [kinds for kinds in found if len(kinds) == 2]
    assert all(may(*pair) for pair in pairs)
    assert 200 < len(pairs) < 300
    # A short run has some, too.
    assert any(len(kinds) == 2 for kinds in found[:10])
    assert not any(len(k) == 2 for k in islice(paired(bags(), 0.0, may), 1000))


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_a_protocol_has_faults_of_all_its_parts(name: str) -> None:
    protocol = PROTOCOLS[name]
    kinds = kinds_of(protocol)
    assert {KINDS[kind].on for kind in kinds} == {MEMBERS, BROKERS, *protocol.also_hits}
    assert {"leaders moved", "partition added", "member cut off shortly"} <= set(kinds)


def test_faults_overlap_only_where_both_can_be_undone() -> None:
    assert may_overlap("driver killed", "planner paused shortly")
    assert may_overlap("driver killed", "group coordinator killed")
    assert may_overlap("broker killed", "coordinator killed")
    assert not may_overlap("driver killed", "driver killed")
    assert not may_overlap("broker killed", "broker paused")
    assert not may_overlap("group coordinator killed", "leaders moved")
    assert not may_overlap("ZooKeeper quorum lost", "broker killed")
    assert not may_overlap("rolling restart, drained", "broker killed")
