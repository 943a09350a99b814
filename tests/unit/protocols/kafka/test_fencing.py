from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.model import Fence, OffsetRange
from pyspark_zkgroup.protocols.kafka.rules.fencing import (
    GroupOffset,
    GroupProgress,
    metadata_of,
    position,
    replayed,
)

OURS, OTHERS = Fence("1a-0.7"), Fence("2b-0.1")
KNOWN = GroupProgress(OURS, value=5, done=9)
DOUBTFUL = GroupProgress(OURS, 5, 12, doubts=((Fence("1a-0.8"), 9), (Fence("1a-0.9"), 12)))


def test_the_metadata_of_a_commit_bears_its_token() -> None:
    assert metadata_of(OURS) == "zkgroup 1a-0.7"
    assert GroupOffset(5, metadata_of(OURS)).token == OURS
    assert not GroupOffset(5, metadata_of(OURS)).is_first
    assert GroupOffset(5, metadata_of(OURS, first=True)).token == OURS
    assert GroupOffset(5, metadata_of(OURS, first=True)).is_first


@pytest.mark.parametrize("text", ["", "1a-0.7", "zkgroup", "zkgroup ", "zkgroup a b", "x" * 4096])
def test_other_metadata_is_nobodys_token(text: str) -> None:
    assert GroupOffset(5, text).token is None


@pytest.mark.parametrize(
    ("committed", "expected"),
    [
        pytest.param(GroupOffset(5, metadata_of(OURS)), 9, id="untouched"),
        pytest.param(GroupOffset(5, metadata_of(OTHERS)), 5, id="claimed by another"),
        pytest.param(GroupOffset(5, ""), 5, id="reset to the very same offset"),
        pytest.param(GroupOffset(3, ""), 3, id="reset back"),
        pytest.param(GroupOffset(7, metadata_of(OURS)), 7, id="our token, another offset"),
        pytest.param(GroupOffset(20, metadata_of(OTHERS)), 20, id="read on by another"),
        pytest.param(GroupOffset(None), 9, id="lost"),
        pytest.param(GroupOffset(0, metadata_of(OTHERS, first=True)), 9, id="lost, and made up"),
    ],
)
def test_where_reading_continues(committed: GroupOffset, expected: int) -> None:
    assert position(KNOWN, committed) == expected


def test_no_position_is_made_up_for_an_unknown_fence() -> None:
    assert position(None, GroupOffset(None)) is None
    assert position(None, GroupOffset(4, metadata_of(OTHERS, first=True))) == 4


def test_a_commit_that_was_never_answered_is_found_again() -> None:
    assert position(DOUBTFUL, GroupOffset(9, metadata_of(Fence("1a-0.8")))) == 12
    assert position(DOUBTFUL, GroupOffset(5, metadata_of(OURS))) == 12
    assert position(DOUBTFUL, GroupOffset(9, metadata_of(OURS))) == 9


def test_a_plan_under_a_commit_in_doubt_names_all_that_the_group_may_hold() -> None:
    assert DOUBTFUL.current == "1a-0.7@5+1a-0.8@9+1a-0.9@12"
    assert GroupProgress.planned(DOUBTFUL.current, 12, 12) == DOUBTFUL
    for token, offset in (("1a-0.7", 5), ("1a-0.8", 9), ("1a-0.9", 12)):
        committed = GroupOffset(offset, metadata_of(Fence(token)))
        assert replayed(OffsetRange(12, 15), DOUBTFUL.current, committed, mine=True) == "include"
    for token, offset in (("1a-0.7", 12), ("2b-0.1", 12), ("1a-0.10", 12)):
        committed = GroupOffset(offset, metadata_of(Fence(token)))
        assert replayed(OffsetRange(12, 15), DOUBTFUL.current, committed, mine=True) == "leave out"


def test_a_plan_after_a_commit_that_was_refused_for_now_names_what_the_group_holds() -> None:
    """[0, 5) is done and its commit was refused, so the group still holds 0 when [5, 10) is
    planned.
    """
    refused = GroupProgress(OURS, value=0, done=5)
    assert refused.current == "1a-0.7@0"
    assert GroupProgress.planned(refused.current, 5, 5) == refused
    held = GroupOffset(0, metadata_of(OURS))
    assert replayed(OffsetRange(5, 10), refused.current, held, mine=True) == "include"
    moved = GroupOffset(5, metadata_of(OURS))
    assert replayed(OffsetRange(5, 10), refused.current, moved, mine=True) == "leave out"


def test_a_commit_that_is_sent_again_bears_its_token() -> None:
    tokens = iter([Fence("1a-0.8"), Fence("1a-0.9")])
    once = KNOWN.sent(lambda: next(tokens))
    assert (once.newest, once.doubts) == ("1a-0.8", ((Fence("1a-0.8"), 9),))
    assert once.sent(lambda: next(tokens)) == once
    further = replace(once, done=12).sent(lambda: next(tokens))
    assert further.doubts == ((Fence("1a-0.8"), 9), (Fence("1a-0.9"), 12))


@pytest.mark.parametrize(
    ("committed", "mine", "expected"),
    [
        (GroupOffset(5, metadata_of(OURS)), True, "include"),
        (GroupOffset(5, metadata_of(OURS)), False, "wait"),
        (GroupOffset(5, metadata_of(OTHERS)), True, "leave out"),
        (GroupOffset(5, ""), True, "leave out"),
        (GroupOffset(9, metadata_of(OURS)), True, "leave out"),
        (GroupOffset(None), True, "leave out"),
        (GroupOffset(None), False, "leave out"),
    ],
)
def test_a_range_is_replayed_exactly_or_not_at_all(
    committed: GroupOffset, mine: bool, expected: str
) -> None:
    assert replayed(OffsetRange(5, 9), OURS, committed, mine=mine) == expected
