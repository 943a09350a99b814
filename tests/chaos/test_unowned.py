"""The judge of how long partitions had no living owner, on runs made by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from tests.chaos.rightful import Rightful
from tests.chaos.unowned import ALLOWANCE_S, Group, one_batch, unowned, until_a_boundary
from tests.chaos.values import FOREVER, Fault, Membership, Span, Tenure, Trigger, Unowned

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
NAMES = {"g_a": "a", "g_b": "b", "g_c": "c", "h_c": "c"}
OPTIONS = parse({"zookeeper.connect": "zk:2181", "group.id": "g", "subscribe": "t", "threads": "1"})


def tenure(consumer: str, life: int, since: float, gone: float = FOREVER) -> Tenure:
    return Tenure(P, consumer, life, since, since, gone)


def registered(*changes: tuple[float, str]) -> list[Membership]:
    """When the members were others, and who they were then."""
    return [Membership(at, frozenset(consumers.split())) for at, consumers in changes]


def found(
    *tenures: Tenure,
    faults: tuple[Fault, ...] = (),
    triggers: tuple[Trigger, ...] = (),
    silences: tuple[Span, ...] = (),
    born: float | None = None,
    members: list[Membership] | None = None,
    partitions: tuple[TopicPartition, ...] = (P,),
) -> list[Unowned]:
    """Without `members` the next member that claims has been alone since the node went."""
    new = {} if born is None else {P: born}
    alone = [Membership(0.0, frozenset(t.consumer for t in tenures[:1]))]
    for before, after in pairwise(tenures):
        alone.append(Membership(before.gone, frozenset({after.consumer})))
    rightful = Rightful(members or alone, partitions, new, OPTIONS)
    group = Group(rightful, NAMES, faults, triggers, trigger_s=2.0)
    return unowned(tenures, new, group, silences, ends=100.0)


def killed(at: float, *members: str, ends_claims: bool = True) -> Fault:
    return Fault(1, "driver killed", "", at, at, members, True, ends_claims, grace_s=10.0)


def test_a_clean_hand_over_may_take_one_batch_of_the_claimer() -> None:
    batch = Trigger("b", 18.0, 5.0)
    gap = found(tenure("g_a", 1, 0.0, 20.0), tenure("g_b", 2, 23.0), triggers=(batch,))
    assert [(g.start, g.until, g.batch_s, g.fault) for g in gap] == [(20.0, 23.0, 3.0, None)]
    assert gap[0].bound_s == 3.0 + ALLOWANCE_S
    assert gap[0].within_bound
    assert (gap[0].before, gap[0].after) == ("a", "b")


def test_a_clean_hand_over_that_takes_longer_is_too_long() -> None:
    gap = found(tenure("g_a", 1, 0.0, 20.0), tenure("g_b", 2, 26.0))
    assert not gap[0].within_bound


def test_after_a_death_it_counts_from_the_death_and_the_session_is_granted() -> None:
    lives = tenure("g_a", 1, 0.0, 30.0), tenure("g_b", 2, 31.0)
    gap = found(*lives, faults=(killed(20.0, "a"),))
    assert [(g.start, g.seconds, g.bound_s) for g in gap] == [(20.0, 11.0, 11.0 + ALLOWANCE_S)]
    assert gap[0].within_bound
    assert not found(*lives, faults=(killed(15.0, "a"),))[0].within_bound


def test_the_death_of_another_member_grants_nothing() -> None:
    gap = found(tenure("g_a", 1, 0.0, 20.0), tenure("g_b", 2, 30.0), faults=(killed(15.0, "b"),))
    assert gap[0].fault is None
    assert gap[0].start == 20.0
    assert not gap[0].within_bound


def test_a_pause_that_its_owner_outlived_leaves_no_gap() -> None:
    assert found(tenure("g_a", 1, 0.0), faults=(killed(20.0, "a"),)) == []


def test_of_several_faults_the_last_before_the_end_counts() -> None:
    faults = killed(20.0, "a"), killed(50.0, "a"), killed(90.0, "a")
    gap = found(tenure("g_a", 1, 0.0, 60.0), tenure("g_b", 2, 61.0), faults=faults)
    assert gap[0].start == 50.0


def test_of_two_faults_that_overlap_each_has_its_grace() -> None:
    """The leader of ZooKeeper dies while a member's session is about to end: its time restarts."""
    lives = tenure("g_a", 1, 0.0, 38.0), tenure("g_b", 2, 39.0)
    kill = replace(killed(20.0, "a"), over=60.0)
    leader = Fault(2, "leader killed", "", 23.0, 30.0, grace_s=10.0, over=60.0)
    assert found(*lives, faults=(kill, leader))[0].bound_s == 10.0 + 1.0 + 10.0 + ALLOWANCE_S
    assert found(*lives, faults=(kill, leader))[0].within_bound
    later = replace(leader, at=61.0, over=90.0)
    assert not found(*lives, faults=(kill, later))[0].within_bound
    apart = replace(kill, over=22.0), leader
    assert not found(*lives, faults=apart)[0].within_bound
    # One that had settled before the gap began grants nothing.
    before = replace(leader, at=1.0, over=5.0), replace(leader, number=3, at=2.0, over=5.0)
    assert not found(*lives, faults=(kill, *before))[0].within_bound


def test_time_without_zookeeper_is_granted() -> None:
    silence = Span(22.0, 37.0)
    gap = found(tenure("g_a", 1, 0.0, 38.0), tenure("g_b", 2, 39.0), silences=(silence,))
    assert gap[0].bound_s == 1.0 + ALLOWANCE_S  # it fell silent before the gap began
    gap = found(
        tenure("g_a", 1, 0.0, 46.0),
        tenure("g_b", 2, 47.0),
        silences=(silence,),
        faults=(killed(20.0, "a"),),
    )
    assert gap[0].bound_s == 10.0 + 1.0 + 15.0 + ALLOWANCE_S


def test_a_new_partition_is_unowned_until_its_first_claim() -> None:
    gap = found(tenure("g_a", 1, 13.0), born=10.0)
    assert [(g.start, g.until) for g in gap] == [(10.0, 13.0)]
    never = found(born=10.0)
    assert [(g.start, g.until, g.within_bound) for g in never] == [(10.0, 100.0, False)]


def test_one_that_no_member_claims_again_is_unowned_to_the_end() -> None:
    assert found(tenure("g_a", 1, 0.0, 95.0))[0].until == 100.0
    assert found(tenure("g_a", 1, 0.0, 101.0)) == []


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        (Span(10.0, 11.0), 1.0),
        (Span(10.0, 13.5), 3.5),
        (Span(12.9, 20.0), 4.0),
        (Span(20.0, 30.0), 2.0),
    ],
)
def test_one_batch_is_the_longest_in_that_time_and_of_it_what_lies_there(
    span: Span, seconds: float
) -> None:
    triggers = [
        Trigger("b", 10.0, 3.0),
        Trigger("b", 14.0, 4.0),
        Trigger("a", 0.0, 90.0),
    ]
    assert one_batch("b", span, triggers, 2.0) == seconds


def test_the_boundary_behind_a_batch_belongs_to_it_where_it_followed_at_once() -> None:
    batch, next_one = Trigger("b", 10.0, 9.0), Trigger("b", 19.0, 3.0, boundary_s=1.5)
    assert one_batch("b", Span(10.0, 40.0), [batch, next_one], 2.0) == 10.5
    later = Trigger("b", 25.0, 3.0, boundary_s=1.5)
    assert one_batch("b", Span(10.0, 40.0), [batch, later], 2.0) == 9.0


# -- as in a run of forty faults: the right moves on before any member has come to a boundary

SHARES = tuple(TopicPartition("t", n) for n in range(3))


def cut_off(*batches: Trigger, back: float = 82.4, claimed: float = 83.28) -> Unowned:
    """ZooKeeper is cut off from a at 62. Its session ends at 73.4, and all of it is b's and c's
    until it comes back.
    """
    cut = Fault(8, "cut", "a", 62.0, 82.0, ("a",), True, True, grace_s=10.0)
    members = registered((0.0, "g_a g_b g_c"), (73.4, "g_b g_c"), (back, "g_a g_b g_c"))
    lives = tenure("g_a", 1, 0.0, 73.4), tenure("g_a", 2, claimed)
    (gap,) = found(*lives, faults=(cut,), triggers=batches, members=members, partitions=SHARES)
    return gap


def test_what_went_by_in_the_batch_of_who_had_the_right_is_granted_to_who_claims_in_the_end() -> (
    None
):
    gap = cut_off(Trigger("b", 61.0, 29.3), Trigger("a", 82.3, 7.5))
    assert gap.seconds == pytest.approx(21.28)
    assert [(w.member, round(w.granted_s, 2)) for w in gap.waits] == [("b", 9.0), ("a", 0.88)]
    assert gap.bound_s == pytest.approx(10.0 + 9.0 + 0.88 + ALLOWANCE_S)
    assert gap.within_bound


@pytest.mark.parametrize(
    "batches",
    [
        (Trigger("b", 61.0, 5.0),),
        (Trigger("b", 61.0, 13.0), *(Trigger("b", 74.0 + n, 1.0) for n in range(9))),
        (Trigger("c", 61.0, 29.3),),
        (Trigger("a", 61.0, 29.3),),
    ],
    ids=["ended before", "boundaries went by", "another's", "the dead one's"],
)
def test_a_member_that_does_not_claim_in_its_own_time_is_found(batches: tuple[Trigger]) -> None:
    assert not cut_off(*batches, Trigger("a", 82.3, 7.5)).within_bound


def test_who_has_the_right_again_and_misses_its_boundaries_is_found() -> None:
    batches = Trigger("b", 61.0, 29.3), *(Trigger("a", 82.3 + n, 1.0) for n in range(12))
    assert not cut_off(*batches, claimed=94.0).within_bound


def handed_over(*batches: Trigger, faults: tuple[Fault, ...] = ()) -> Unowned:
    """a releases at 45.7 what c, registered since 44, does not claim: it is in its first batch
    until it has no registration any more, at 64.5. At 72 a has it again.
    """
    members = registered((0.0, "g_a"), (44.0, "g_a g_c"), (64.5, "g_a"))
    lives = (
        Tenure(Q, "g_a", 1, 0.0, 0.0, 45.7),
        Tenure(Q, "g_a", 2, 72.0, 72.0),
    )
    own = Trigger("a", 45.6, 9.0), Trigger("a", 54.7, 8.6), Trigger("a", 63.4, 8.5)
    (gap,) = found(
        *lives, faults=faults, triggers=(*own, *batches), members=members, partitions=(P, Q)
    )
    return gap


def test_what_was_released_to_a_member_in_its_first_batch_waits_for_that_batch() -> None:
    gap = handed_over(Trigger("c", 34.5, 36.0))
    assert gap.fault is None
    assert [(w.member, round(w.granted_s, 2)) for w in gap.waits] == [("c", 18.8), ("a", 7.4)]
    assert gap.within_bound


def test_a_batch_in_which_its_query_ended_counts_until_then() -> None:
    assert handed_over(Trigger("c", 34.5, 30.0, cut_short=True)).within_bound
    assert not handed_over(Trigger("c", 34.5, 20.0, cut_short=True)).within_bound


@pytest.mark.parametrize(
    "batches",
    [
        (),
        (Trigger("c", 34.5, 13.0),),
        (Trigger("c", 34.5, 17.0), Trigger("c", 51.6, 9.0), Trigger("c", 60.7, 9.0)),
    ],
    ids=["idle", "its first batch was short", "it claimed at no boundary"],
)
def test_a_member_that_is_free_to_claim_and_does_not_is_found(batches: tuple[Trigger]) -> None:
    assert not handed_over(*batches).within_bound


def test_another_member_that_dies_before_it_can_claim_has_the_time_of_its_session_once() -> None:
    """c is killed at 54.6 in the batch it is in, and its registration stands for ten seconds."""
    kill = Fault(5, "driver killed", "c", 54.6, 54.7, ("c",), True, True, grace_s=10.0)
    batch = Trigger("c", 34.5, 20.1, cut_short=True)
    gap = handed_over(batch, faults=(kill,))
    assert [(w.member, round(w.granted_s, 2)) for w in gap.waits] == [("c", 8.9), ("a", 7.4)]
    assert gap.bound_s == pytest.approx(8.9 + 7.4 + 9.9 + ALLOWANCE_S)
    assert gap.within_bound
    # Of a session that lives on for longer than it may, and of its next life, nothing counts.
    late = Fault(5, "driver killed", "c", 46.6, 46.7, ("c",), True, True, grace_s=10.0)
    again = Trigger("c", 34.5, 12.1, cut_short=True), Trigger("c", 48.0, 30.0)
    gap = handed_over(*again, faults=(late,))
    assert gap.bound_s == pytest.approx(2.0 - 1.1 + 7.4 + 10.0 + ALLOWANCE_S)
    assert not gap.within_bound


def test_the_time_of_the_session_is_granted_once_to_who_died_with_the_partition() -> None:
    """Paused, it reports a batch as long as the pause; and its registration is seen a little longer
    than its node.
    """
    pause = Fault(3, "driver paused", "a", 20.0, 42.0, ("a",), True, True, grace_s=10.0)
    (gap,) = found(
        tenure("g_a", 1, 0.0, 30.0),
        tenure("g_b", 2, 31.0),
        faults=(pause,),
        triggers=(Trigger("a", 18.0, 25.0),),
        members=registered((0.0, "g_a g_b"), (30.2, "g_b")),
    )
    assert [(w.member, w.granted_s) for w in gap.waits] == [("a", 0.0), ("b", pytest.approx(0.8))]
    assert gap.bound_s == pytest.approx(10.0 + 0.8 + ALLOWANCE_S)


def test_without_registrations_it_waits_until_a_member_reaches_a_boundary() -> None:
    """Each has given up in a batch that was too long."""
    span, died = Span(20.0, 40.0), Trigger("c", 0.0, 25.0, cut_short=True)
    long, longer = Trigger("a", 0.0, 38.0), Trigger("b", 0.0, 60.0)
    assert until_a_boundary(span, [died, long, longer], 2.0) == 18.0
    assert until_a_boundary(span, [died, longer], 2.0) == 20.0
    assert until_a_boundary(span, [long, Trigger("c", 29.0, 3.0)], 2.0) == 9.0
    assert until_a_boundary(span, [Trigger("a", 0.0, 12.0)], 2.0) == 2.0
    (gap,) = found(
        tenure("g_a", 1, 0.0, 20.0),
        tenure("g_a", 2, 39.0),
        triggers=(Trigger("a", 5.0, 33.9),),
        members=registered((0.0, "g_a"), (20.0, ""), (38.95, "g_a")),
    )
    assert [(w.member, round(w.granted_s, 2)) for w in gap.waits] == [("", 18.9), ("a", 0.05)]


def test_in_silence_of_zookeeper_and_in_batches_together_no_more_is_granted_than_both_took() -> (
    None
):
    (gap,) = found(
        tenure("g_a", 1, 0.0, 20.0),
        tenure("g_b", 2, 50.0),
        triggers=(Trigger("b", 19.0, 9.0),),
        silences=(Span(25.0, 31.0),),
    )
    assert gap.bound_s == 8.0 + 6.0 + ALLOWANCE_S
    assert not gap.within_bound
