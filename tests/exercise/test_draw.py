"""What a seed draws, and that there is a way to set each of it."""

from __future__ import annotations

import pytest

from tests.exercise import brokered_faults, faults
from tests.exercise.draw import BROKERED_VARIANTS, KINDS, TOPICS_EACH, VARIANTS, draw


def test_a_seed_draws_each_fault_once_and_always_the_same() -> None:
    drawn = draw(7)
    assert sorted(case.fault for case in drawn) == sorted(VARIANTS)
    assert [case.number for case in drawn] == [1, 2, 3, 4, 5, 6]
    assert drawn == draw(7)
    assert drawn[0].dice().random() == draw(7)[0].dice().random()


def test_seeds_draw_other_orders_and_variants() -> None:
    many = [draw(seed) for seed in range(200)]
    assert len({tuple(case.fault for case in cases) for cases in many}) > 100
    for fault, variants in VARIANTS.items():
        assert {c.variant for cases in many for c in cases if c.fault == fault} == set(variants)


def test_names_are_those_of_one_case_and_tell_nothing() -> None:
    for seed in range(50):
        cases = draw(seed)
        assert len({case.group for case in cases}) == len(cases)
        assert len({topic for case in cases for topic in case.topics}) == TOPICS_EACH * len(cases)
    # The name of a group does not show what is wrong with it.
    by_fault = {
        fault: {c.group for seed in range(300) for c in draw(seed) if c.fault == fault}
        for fault in VARIANTS
    }
    assert all(len(groups) == 12 for groups in by_fault.values())


def test_each_variant_can_be_set() -> None:
    assert {one for variants in VARIANTS.values() for one in variants} == set(faults.SETTERS)
    brokered = {one for variants in BROKERED_VARIANTS.values() for one in variants}
    assert brokered == set(brokered_faults.SETTERS)


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_six_faults_for_each_kind_of_group(kind: str) -> None:
    assert len(KINDS[kind]) == 6
    assert sorted(case.fault for case in draw(7, kind)) == sorted(KINDS[kind])
