"""Which groups a change of topics concerns."""

from __future__ import annotations

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.protocols.coordinator.rules.interests import Interests, changed_topics
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import Member


def named(*topics: str) -> Member:
    return Member(1, Subscription.static(dict.fromkeys(topics, 1)), internal=False)


def pattern(text: str, *, internal: bool = False) -> Member:
    return Member(1, Subscription.white_list(text, 1), internal=internal)


def test_a_group_is_concerned_by_the_topics_of_any_of_its_members() -> None:
    found = Interests().of("g", [named("a", "b"), pattern("x.*"), pattern("y.*")])
    found = found.of("h", [named("b")])
    for topics, groups in (
        (["a"], {"g"}),
        (["b"], {"g", "h"}),
        (["x1"], {"g"}),
        (["y1", "c"], {"g"}),
        (["c", "b"], {"g", "h"}),
        (["c"], set()),
        ([], set()),
    ):
        assert found.concerned(topics) == groups


def test_only_present_members_count() -> None:
    found = Interests().of("g", [named("a"), pattern("x.*")]).of("h", [named("a")])
    found = found.of("g", [named("b")])
    assert found.concerned(["a", "x1"]) == {"h"}
    assert found.without("h").concerned(["a", "b"]) == {"g"}
    assert found.without("h").without("g") == Interests()


def test_a_pattern_means_internal_topics_only_if_it_says_so() -> None:
    found = Interests().of("g", [pattern(".*")]).of("h", [pattern(".*", internal=True)])
    assert found.concerned(["__consumer_offsets"]) == {"h"}


def test_a_topic_has_changed_if_its_partitions_have() -> None:
    before = {"same": (0,), "more": (0,), "gone": (0,)}
    after = {"same": (0,), "more": (0, 1), "new": ()}
    assert changed_topics(before, after) == {"more", "gone", "new"}
