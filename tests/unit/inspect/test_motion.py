"""What `top` says of two looks at a group: rates, and what happened in between."""

from __future__ import annotations

from dataclasses import replace

from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.motion import Pace, events, is_visible, paces
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, report
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.inspect.short_names import short_names
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation

T = [TopicPartition("orders", n) for n in range(4)]
A, B = "app-11-aaaa", "app-22-bbbb"


def member(name: str, *numbers: int) -> BrokeredMember:
    own = frozenset(T[n] for n in numbers)
    return BrokeredMember(name, "app", "/10.0.0.1", None, ("orders",), assigned=own)


def seen(
    *members: BrokeredMember, state: str = "Stable", offset: int = 10, end: int = 20
) -> GroupReport:
    group = BrokeredGroup("billing", "classic", state, members=members, coordinator="b1:9092")
    facts = BrokeredFacts(group, {p: StoredOffset(offset) for p in T}, {"orders": (0, 1, 2, 3)})
    return brokered_report(facts, dict.fromkeys(T, end))


ALONE, BOTH = seen(member(A, 0, 1, 2, 3)), seen(member(A, 0, 1), member(B, 2, 3))


def test_rates_are_records_a_second() -> None:
    later = seen(member(A, 0, 1, 2, 3), offset=14, end=30)
    assert paces(ALONE, later, 2.0) == dict.fromkeys(T, Pace(5.0, 2.0))
    assert paces(ALONE, later, 0.0) == {}


def test_a_partition_without_an_offset_has_no_rate() -> None:
    rows = tuple(replace(row, committed=None) for row in ALONE.partitions)
    assert paces(replace(ALONE, partitions=rows), ALONE, 1.0) == {}


def test_joins_and_moves_are_shown_with_short_names() -> None:
    assert events(ALONE, BOTH, ALONE) == (
        "joined: bbbb (app at 10.0.0.1)",
        "moved from aaaa to bbbb: orders-2, orders-3",
    )
    assert events(BOTH, ALONE, BOTH) == (
        "left: bbbb (app at 10.0.0.1)",
        "moved from bbbb to aaaa: orders-2, orders-3",
    )


def test_nothing_is_released_while_a_coordinator_hides_the_owners() -> None:
    hidden = seen(
        *(BrokeredMember(name, "app", "/10.0.0.1") for name in (A, B)), state="PreparingRebalance"
    )
    assert not is_visible(hidden)
    assert events(BOTH, hidden, BOTH) == ("state: Stable to PreparingRebalance",)
    assert events(hidden, ALONE, BOTH) == (
        "left: bbbb (app at 10.0.0.1)",
        "state: PreparingRebalance to Stable",
        "moved from bbbb to aaaa: orders-2, orders-3",
    )


def test_an_empty_group_shows_that_all_was_released() -> None:
    empty = seen(state="Empty")
    assert "released by aaaa: orders-0, orders-1, orders-2 and 1 more" in events(
        ALONE, empty, ALONE
    )


def test_an_offset_that_goes_back_is_reported() -> None:
    reset = seen(member(A, 0, 1, 2, 3), offset=3)
    assert "offset set back: orders-0 from 10 to 3" in events(ALONE, reset, ALONE)


def test_a_group_in_zookeeper_has_the_same_events() -> None:
    node = encode_registration(Registration(Subscription.static({"orders": 1}), "1"))
    ids = {name: Seen(node, 7, 1000) for name in (A, B)}

    def owned_by(name: str) -> GroupReport:
        owners = {T[0]: Seen(f"{name}-0".encode(), 7, 2000)}
        return report(GroupFacts("g", ids, {"orders": (0,)}, owners), {})

    assert events(owned_by(A), owned_by(B), owned_by(A)) == ("moved from aaaa to bbbb: orders-0",)


def test_short_names_are_unique_ends() -> None:
    rows = seen(member("x-cafe"), member("y-cafe"), member("z-beef")).members
    assert short_names(rows) == {"z-beef": "beef"}
    (whole,) = seen(member("fMHHitPRTa_1SrtyAdTbpg")).members
    assert short_names([whole]) == {"fMHHitPRTa_1SrtyAdTbpg": "tyAdTbpg"}


def test_a_new_generation_is_reported_and_its_end_is_not() -> None:
    def decided(number: int) -> GroupReport:
        rows = (replace(row, generation=Generation(90, number)) for row in ALONE.members)
        return replace(ALONE, members=tuple(rows))

    assert events(decided(4), decided(5), ALONE) == ("generation 90.5",)
    assert events(decided(5), decided(5), ALONE) == ()
    assert events(decided(5), ALONE, ALONE) == ()
