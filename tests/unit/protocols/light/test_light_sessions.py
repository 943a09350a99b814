"""Who lives until when: the two sides of a light member's session, and its search for the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.protocols.light.rules import search as searching
from pyspark_zkgroup.protocols.light.rules import sessions as keeping
from pyspark_zkgroup.protocols.light.rules.lease import (
    beat_every_s,
    counted_dead_at,
    member_may_plan_until,
    stream_silent_at,
)
from pyspark_zkgroup.protocols.light.rules.search import Search
from pyspark_zkgroup.protocols.light.rules.sessions import Heard, Life, Sessions

A = Life("g", "g_a", 10)
B = Life("g", "g_b", 20)


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50), st.booleans()), max_size=20),
    st.floats(1, 60),
)
def test_a_member_stops_planning_before_its_coordinator_counts_it_dead(
    messages: list[tuple[float, float, bool]], timeout_s: float
) -> None:
    """Each is sent some time after the one before, takes some time, and may be acknowledged."""
    sent_at = acknowledged_at = 0.0
    sessions = Sessions({A: Heard(0.0, timeout_s)})
    for pause_s, takes_s, acknowledged in messages:
        sent_at += pause_s
        arrives_at = sent_at + takes_s
        if arrives_at >= sessions.heard[A].dead_at:
            break
        sessions = keeping.heard(sessions, A, arrives_at)
        if acknowledged:
            acknowledged_at = max(acknowledged_at, sent_at)
        over_at = member_may_plan_until(acknowledged_at, timeout_s)
        assert over_at < sessions.next_end()
        assert sessions.expired(over_at) == ()


def test_a_member_notices_a_silent_stream_before_its_lease_is_over() -> None:
    assert 2 * beat_every_s(6.0) < stream_silent_at(0.0, 6.0) < member_may_plan_until(0.0, 6.0)
    assert member_may_plan_until(0.0, 6.0) < counted_dead_at(0.0, 6.0) == 6.0


def test_a_newly_elected_coordinator_gives_every_member_the_full_timeout() -> None:
    sessions = keeping.seen(Sessions(), {A: 6.0, B: 3.0}, now=100.0)
    assert sessions.expired(102.9) == ()
    assert sessions.expired(103.0) == (B,)
    assert sessions.next_end() == 103.0
    sessions = keeping.heard(sessions, B, 102.0)
    assert sessions.expired(104.9) == ()
    assert sessions.expired(106.0) == (A, B)


def test_another_look_at_the_registry_proves_nothing_about_a_member() -> None:
    sessions = keeping.seen(Sessions(), {A: 6.0}, now=0.0)
    sessions = keeping.seen(sessions, {A: 6.0}, now=5.0)
    assert sessions.expired(6.0) == (A,)


def test_a_life_that_was_given_up_stays_so() -> None:
    sessions = keeping.gone(keeping.seen(Sessions(), {A: 6.0}, now=0.0), [A])
    assert keeping.heard(sessions, A, 1.0) == Sessions()
    again = Life("g", "g_a", 30)
    sessions = keeping.seen(sessions, {again: 6.0}, now=2.0)
    assert sessions.life_of("g", "g_a") == 30
    assert sessions.life_of("g", "g_b") == 0


def test_late_messages_do_not_turn_back_the_clock() -> None:
    sessions = keeping.heard(keeping.seen(Sessions(), {A: 6.0}, now=5.0), A, 4.0)
    assert sessions.expired(11.0) == (A,)


def test_a_search_follows_the_address_it_receives_then_asks_the_others() -> None:
    search = Search(("a", "b"), trusts_others=True)
    assert (search.address, search.pause_s) == ("a", 0.0)
    search = searching.redirected(search, "c")
    assert (search.address, search.pause_s) == ("c", 0.0)
    search = searching.failed(search)
    assert (search.address, search.pause_s) == ("b", 0.0)
    search = searching.redirected(search, "")
    assert search.address == "a"
    assert search.pause_s > 0


def test_pauses_grow_up_to_a_limit_and_end_when_a_coordinator_is_found() -> None:
    search = Search(("a",), trusts_others=True)
    pauses = []
    for _ in range(20):
        search = searching.failed(search)
        pauses.append(search.pause_s)
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] == pauses[-2] <= 2.0
    found = searching.found(searching.redirected(search, "z"))
    assert (found.address, found.pause_s) == ("z", 0.0)
    assert searching.failed(found).address == "a"


def test_a_search_does_not_follow_an_unlisted_address() -> None:
    search = searching.redirected(Search(("a", "b")), "evil")
    assert (search.address, search.tried) == ("b", 1)
    assert searching.redirected(search, "a").address == "a"
    found = searching.found(searching.redirected(Search(("a", "b")), "b"))
    assert searching.redirected(found, "evil").address == "b"


def test_two_that_name_each_other_are_not_asked_in_circles() -> None:
    search = Search(("a", "b"))
    steps = 0
    while not search.pause_s:
        search = searching.redirected(search, "b" if search.address == "a" else "a")
        steps += 1
        assert steps < 10
    assert searching.redirected(Search(("a",)), "a").tried == 1


def test_a_few_redirects_are_followed_until_an_address_of_the_list_is_asked() -> None:
    fresh = Search(("a", "b"), trusts_others=True)
    for search in (fresh, searching.failed(fresh)):
        followed = 0
        while searching.redirected(search, f"h{followed}").hint:
            search = searching.redirected(search, f"h{followed}")
            followed += 1
        assert followed == 3
        assert searching.redirected(search, "another").address in ("a", "b")


def test_a_search_without_an_address_is_none() -> None:
    with pytest.raises(ValueError, match="an address to begin with"):
        Search(())


def test_what_a_later_life_of_the_name_has_made_is_not_an_earlier_ones() -> None:
    later, last = Life("g", "g_a", 15), Life("g", "g_a", 30)
    sessions = keeping.seen(Sessions(), {A: 6.0, B: 3.0, last: 6.0, later: 6.0}, now=0.0)
    assert sessions.following(A) == 15
    assert sessions.following(later) == 30
    assert sessions.following(last) == sessions.following(B) == float("inf")
