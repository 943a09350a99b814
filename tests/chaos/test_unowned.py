"""The judge of how long partitions had no living owner, on runs made by hand."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.unowned import ALLOWANCE_S, one_batch, unowned
from tests.chaos.values import FOREVER, Fault, Span, Tenure, Trigger, Unowned

P = TopicPartition("t", 0)
NAMES = {"g_a": "a", "g_b": "b"}


def tenure(consumer: str, life: int, since: float, gone: float = FOREVER) -> Tenure:
    return Tenure(P, consumer, life, since, since, gone)


def found(
    *tenures: Tenure,
    faults: tuple[Fault, ...] = (),
    triggers: tuple[Trigger, ...] = (),
    silences: tuple[Span, ...] = (),
    born: float | None = None,
) -> list[Unowned]:
    return unowned(
        tenures,
        {} if born is None else {P: born},
        faults,
        NAMES,
        triggers,
        silences,
        trigger_s=2.0,
        ends=100.0,
    )


def killed(at: float, *members: str, ends_claims: bool = True) -> Fault:
    return Fault(1, "driver killed", "", at, at, members, True, ends_claims, grace_s=10.0)


def test_a_clean_hand_over_may_take_one_batch_of_the_claimer() -> None:
    batch = Trigger("g_b", 18.0, 5.0)
    gap = found(tenure("g_a", 1, 0.0, 20.0), tenure("g_b", 2, 23.0), triggers=(batch,))
    assert [(g.start, g.until, g.batch_s, g.fault) for g in gap] == [(20.0, 23.0, 5.0, None)]
    assert gap[0].bound_s == 5.0 + ALLOWANCE_S
    assert gap[0].within_bound
    assert (gap[0].before, gap[0].after) == ("a", "b")


def test_a_clean_hand_over_that_takes_longer_is_too_long() -> None:
    gap = found(tenure("g_a", 1, 0.0, 20.0), tenure("g_b", 2, 26.0))
    assert not gap[0].within_bound


def test_after_a_death_it_counts_from_the_death_and_the_session_is_granted() -> None:
    lives = tenure("g_a", 1, 0.0, 30.0), tenure("g_b", 2, 31.0)
    gap = found(*lives, faults=(killed(20.0, "a"),))
    assert [(g.start, g.seconds, g.bound_s) for g in gap] == [(20.0, 11.0, 12.0 + ALLOWANCE_S)]
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


def test_time_without_zookeeper_is_granted() -> None:
    silence = Span(22.0, 37.0)
    gap = found(tenure("g_a", 1, 0.0, 38.0), tenure("g_b", 2, 39.0), silences=(silence,))
    assert gap[0].bound_s == 2.0 + ALLOWANCE_S  # it fell silent before the gap began
    gap = found(
        tenure("g_a", 1, 0.0, 46.0),
        tenure("g_b", 2, 47.0),
        silences=(silence,),
        faults=(killed(20.0, "a"),),
    )
    assert gap[0].bound_s == 10.0 + 2.0 + 15.0 + ALLOWANCE_S


def test_a_new_partition_is_unowned_until_its_first_claim() -> None:
    gap = found(tenure("g_a", 1, 13.0), born=10.0)
    assert [(g.start, g.until) for g in gap] == [(10.0, 13.0)]
    never = found(born=10.0)
    assert [(g.start, g.until, g.within_bound) for g in never] == [(10.0, 100.0, False)]


def test_one_that_nobody_claims_again_is_unowned_to_the_end() -> None:
    assert found(tenure("g_a", 1, 0.0, 95.0))[0].until == 100.0
    assert found(tenure("g_a", 1, 0.0, 101.0)) == []


@pytest.mark.parametrize(
    ("span", "seconds"),
    [(Span(10.0, 11.0), 3.0), (Span(12.9, 20.0), 4.0), (Span(20.0, 30.0), 2.0)],
)
def test_one_batch_is_the_longest_of_the_claimer_in_that_time(span: Span, seconds: float) -> None:
    triggers = [
        Trigger("g_b", 10.0, 3.0),
        Trigger("g_b", 14.0, 4.0),
        Trigger("g_a", 0.0, 90.0),
    ]
    assert one_batch("g_b", span, triggers, 2.0) == seconds
