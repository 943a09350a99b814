"""What doctor says of groups that the brokers coordinate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.findings import Case, GroupFinding, Look, group_findings
from pyspark_zkgroup.inspect.findings.brokered import rebalances
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition

T = [TopicPartition("orders", n) for n in range(4)]
TOPICS = {"orders": (0, 1, 2, 3), "payments": (0,)}


def member(name: str, *numbers: int, topics: tuple[str, ...] = ("orders",)) -> BrokeredMember:
    own = frozenset(T[n] for n in numbers)
    return BrokeredMember(name, f"app-{name}", "/10.0.0.1", None, topics, assigned=own)


def stable(*members: BrokeredMember, assignor: str = "cooperative-sticky") -> BrokeredGroup:
    return BrokeredGroup("billing", "classic", "Stable", assignor, None, members)


def look(
    group: BrokeredGroup, at_s: float = 0.0, offset: int = 10, start: int = 0, end: int = 10
) -> Look:
    facts = BrokeredFacts(group, {p: StoredOffset(offset) for p in T}, TOPICS)
    seen = brokered_report(facts, dict.fromkeys(T, end))
    return Look(GroupFacts("billing", topics=TOPICS), seen, dict.fromkeys(T, start), at_s * 1000)


def found(first: Look, last: Look | None = None, *between: BrokeredGroup) -> list[GroupFinding]:
    return list(group_findings(Case(first, last or first, between)))


def codes(findings: list[GroupFinding]) -> list[str]:
    return [finding.text[1:8] for finding in findings]


HEALTHY = stable(member("a", 0, 1), member("b", 2, 3))
JOINING = replace(HEALTHY, state="PreparingRebalance", assignor="")

ALONE = replace(JOINING, members=(member("a"),))
REPORTS = replace(JOINING, members=(*JOINING.members, member("reports")))


def test_a_healthy_group_has_no_finding() -> None:
    assert found(look(HEALTHY)) == []


def test_a_member_without_partitions_names_the_counts() -> None:
    many = [member(name, n) for n, name in enumerate("abcd")]
    (finding,) = found(look(stable(*many, member("e"))))
    assert finding.text == ("[ZKG-209] e owns nothing: 5 members share 4 partitions of orders")
    assert not finding.is_ill
    assert "app-e at 10.0.0.1" in finding.remedy


def test_a_member_of_a_misspelt_topic_is_reported_with_similar_names() -> None:
    (finding,) = found(look(stable(member("a", 0, 1, 2, 3), member("b", topics=("order",)))))
    assert "has no topic order" not in finding.text
    assert "the brokers have no topic order, to which it subscribes" in finding.text
    assert "(similar names: orders)" in finding.text
    assert finding.is_ill


def test_an_eager_assignor_is_noted_with_the_remedy() -> None:
    ours = replace(member("a", 0, 1), is_zkgroup=True)
    (finding,) = found(look(stable(ours, member("b", 2, 3), assignor="range")))
    assert finding.text.startswith("[ZKG-216] The group uses the assignor 'range'")
    assert "1 zkgroup member and 1 other client" in finding.text
    assert not finding.is_ill
    for one in (True, False):
        alike = [replace(member(name, n), is_zkgroup=one) for n, name in enumerate("ab")]
        (finding,) = found(look(stable(*alike, assignor="range")))
        assert "all 2 members" in finding.text
    assert found(look(stable(member("a", 0, 1, 2, 3), assignor="range"))) == []


def test_a_storm_names_the_members_that_came_and_went() -> None:
    flapping = stable(member("a", 0, 1, 2, 3))
    looks = [JOINING, flapping, JOINING, HEALTHY, JOINING]
    (finding,) = found(look(HEALTHY), look(HEALTHY, 5.0), *looks)
    assert finding.text == (
        "[ZKG-217] The group rebalanced at least 3 times in 5 s; members that came or went: "
        "app-b at 10.0.0.1 (1 member id)"
    )


def test_a_single_rebalance_is_a_note_that_asks_for_a_longer_look() -> None:
    (finding,) = found(look(HEALTHY), look(HEALTHY, 5.0), REPORTS, HEALTHY)
    assert finding.text == (
        "[ZKG-217] The group rebalanced at least 1 time in 5 s; members that came or went: "
        "app-reports at 10.0.0.1 (1 member id)"
    )
    assert not finding.is_ill
    assert "zkgroup doctor billing --watch-seconds 30" in finding.remedy


@pytest.mark.parametrize(
    ("looks", "number"),
    [
        ([HEALTHY, HEALTHY], 0),
        ([HEALTHY, JOINING, JOINING, HEALTHY], 1),
        ([HEALTHY, stable(member("a", 0, 1, 2, 3)), HEALTHY], 2),
        ([replace(HEALTHY, epoch=4), replace(HEALTHY, epoch=6)], 1),
        ([JOINING, REPORTS, JOINING, REPORTS, JOINING], 2),
        ([ALONE, JOINING, REPORTS], 0),
    ],
)
def test_rebalances_between_looks_are_counted(looks: list[BrokeredGroup], number: int) -> None:
    assert rebalances(looks) == number


def test_one_rebalance_that_lasts_is_no_storm() -> None:
    findings = found(look(JOINING), look(JOINING, 5.0), JOINING, JOINING)
    assert codes(findings) == ["ZKG-218"]
    assert "for 5 s or longer (PreparingRebalance)" in findings[0].text


def test_a_rebalance_that_ends_is_well() -> None:
    assert found(look(JOINING), look(HEALTHY, 5.0), JOINING) == []


def test_classic_members_kept_in_a_consumer_group_are_named() -> None:
    old = replace(member("a", 0, 1), target=frozenset(T[:2]), is_classic=True)
    new = replace(member("b", 2, 3), target=frozenset(T[2:]))
    group = BrokeredGroup("billing", "consumer", "Stable", "uniform", 3, (old, new))
    assert codes(found(look(group))) == ["ZKG-219"]


@pytest.mark.parametrize(
    ("offset", "start", "end", "code"), [(50, 0, 20, "ZKG-213"), (5, 8, 20, "ZKG-212")]
)
def test_offsets_outside_of_the_log_are_reported(
    offset: int, start: int, end: int, code: str
) -> None:
    seen = found(look(HEALTHY, 0.0, offset, start, end), look(HEALTHY, 5.0, offset, start, end))
    assert set(codes(seen)) == {code}


def test_a_group_without_members_and_with_lag_is_reported() -> None:
    assert codes(found(look(BrokeredGroup("billing", state="Empty"), end=20))) == ["ZKG-208"]


def test_a_malformed_subscription_is_reported_with_its_client() -> None:
    odd = replace(member("b"), topics=(), trouble="4 bytes cannot follow at byte 2")
    (finding,) = found(look(stable(member("a", 0, 1, 2, 3), odd)))
    assert "The subscription of app-b at 10.0.0.1 cannot be read" in finding.text


def test_the_advice_for_a_lagging_partition_is_possible_with_brokers() -> None:
    """Members of the brokers' groups cannot be drained."""
    ours = tuple(replace(m, is_zkgroup=True) for m in HEALTHY.members)
    group = replace(HEALTHY, members=ours)

    def at(seconds: float, end: int) -> Look:
        seen = look(group, seconds, offset=100, end=100)
        facts = BrokeredFacts(group, {p: StoredOffset(100) for p in T}, TOPICS)
        report = brokered_report(facts, {**dict.fromkeys(T, 100), T[0]: end})
        return replace(seen, seen=report)

    (finding,) = found(at(0.0, 5000), at(5.0, 9000))
    assert finding.text.startswith("[ZKG-214] orders-0, read by a, lag by")
    assert "drain" not in finding.remedy
