"""Which groups a token admits to, and what a registration shows of a certificate."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.protocols.light.rules.identity import Caller


@pytest.mark.parametrize(
    ("caller", "entered"),
    [
        (Caller(frozenset(["billing"]), None), ["billing"]),  # a token of that group alone
        (Caller(frozenset(), frozenset(["billing"])), ["audit"]),  # the token of all others
        (Caller(frozenset(["billing"]), frozenset(["billing"])), ["audit", "billing"]),
        (Caller(), ["audit", "billing"]),
        (Caller(frozenset(), None), []),
    ],
)
def test_a_token_admits_to_its_groups_alone(caller: Caller, entered: list[str]) -> None:
    assert [group for group in ("audit", "billing") if caller.may_enter(group)] == entered


def test_a_long_subject_is_shown_by_its_hash() -> None:
    assert Caller(subject="CN=" + "a" * 297).named == "CN=" + "a" * 297
    named = Caller(subject="CN=" + "a" * 298).named
    assert named.startswith("sha256:")
    assert len(named) == len("sha256:") + 64
