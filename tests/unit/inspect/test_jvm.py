"""Groups of JVM consumers, version by version. tests/interop compares with the real ones."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.inspect.jvm_consumers import imitate
from pyspark_zkgroup.inspect.jvm_version import JvmVersion

TOPICS = {"a": range(2), "b": range(3)}
GOOD = {"version": 1, "subscription": {"a": 1}, "pattern": "static", "timestamp": "1"}
SCALA, JACKSON = ("0.8.2.2", "0.10.2.2", "0.11.0.3"), ("1.0.0", "1.0.2", "1.1.1")
ALL = (*SCALA, *JACKSON)


def owners(
    version: str,
    *registrations: object,
    strategy: str = "range",
    topics: dict[str, range] | None = None,
    exclude_internal: bool = True,
) -> dict[str, str] | None:
    """`topic-partition` to thread; None when every member fails."""
    ids = {f"c{number}": registration for number, registration in enumerate(registrations)}
    found = imitate(JvmVersion.parse(version), strategy, ids, topics or TOPICS, exclude_internal)
    assert (found.failure is None) or not found.owners
    if found.failure is not None:
        return None
    return {str(partition): str(thread) for partition, thread in found.owners.items()}


@pytest.mark.parametrize(
    ("version", "internal"),
    [
        ("0.8.1.1", set()),
        ("0.8.2.0", {"__consumer_offsets"}),
        ("0.10.2.2", {"__consumer_offsets"}),
        ("0.11.0.0", {"__consumer_offsets", "__transaction_state"}),
        ("1.1.1", {"__consumer_offsets", "__transaction_state"}),
    ],
)
def test_each_version_hides_the_internal_topics_that_it_knows(
    version: str, internal: set[str]
) -> None:
    assert JvmVersion.parse(version).internal_topics == internal


@pytest.mark.parametrize(
    ("version", "strategies", "order", "strict", "refuses_empty", "jackson", "repairs"),
    [
        ("0.8.1.1", ("range", "range"), "old", True, True, False, False),
        ("0.8.2.0", ("roundrobin", "range"), "old", True, True, False, False),
        ("0.9.0.0", ("roundrobin", None), "old", True, False, False, False),
        ("0.10.1.1", ("roundrobin", None), "old", True, False, False, False),
        ("0.10.2.0", ("roundrobin", None), "old", False, False, False, False),
        ("1.0.0", ("roundrobin", None), "new", False, False, True, False),
        ("1.0.1", ("roundrobin", None), "new", False, False, True, True),
    ],
)
def test_the_rules_change_with_the_version(
    version: str,
    strategies: tuple[str, str | None],
    order: str,
    strict: bool,
    refuses_empty: bool,
    jackson: bool,
    repairs: bool,
) -> None:
    rules = JvmVersion.parse(version)
    assert rules.strategy("roundrobin") == strategies[0]
    if strategies[1] is None:
        with pytest.raises(AssignmentError):
            rules.strategy("unheard")
    else:
        assert rules.strategy("unheard") == strategies[1]
    assert (rules.order, rules.strict, rules.refuses_empty) == (order, strict, refuses_empty)
    assert (rules.reads_with_jackson, rules.mends_backslashes) == (jackson, repairs)


def static(**threads: object) -> dict[str, object]:
    return {"subscription": threads, "pattern": "static"}


def wildcard(pattern: str, **threads: object) -> dict[str, object]:
    return {"subscription": threads or {pattern: 1}, "pattern": "white_list"}


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(
    "registration",
    [
        None,
        b"",
        "not JSON",
        b"\x00",
        [],
        1,
        {},
        {"subscription": {"a": 1}},
        {"pattern": "static"},
        {"pattern": "static", "subscription": ["a"]},
        {"pattern": 1, "subscription": {"a": 1}},
        static(a=0),
        static(a=-1),
        static(a=1.0),
        static(a=True),
        static(a=None),
        static(a="1"),
        static(a=2**31),
        static(a=2**31 - 1),
        wildcard("("),
        wildcard("a{1,2}"),
        wildcard("", **{".*": 0}),
        wildcard("", **{".*": True}),
    ],
)
def test_one_bad_registration_fails_every_member(version: str, registration: object) -> None:
    assert owners(version, GOOD, registration) is None
    assert owners(version, registration) is None


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(
    "registration",
    [
        GOOD,
        {"subscription": {"a": 1}, "pattern": "anything"},
        {**GOOD, "unknown": {"nested": ["é", True, None, 5]}},
        '{ "pattern":"static", "subscription":{ "a": 1 }, "timestamp":"1", "version":1 }',
        rb'{"pattern":"static","subscription":{"\u0061":1},"x":"\/"}',
        wildcard("'a'"),
    ],
)
def test_what_all_versions_let_pass(version: str, registration: object) -> None:
    assert owners(version, registration) == {"a-0": "c0-0", "a-1": "c0-0"}


@pytest.mark.parametrize("version", ALL)
def test_an_empty_subscription_is_ignored(version: str) -> None:
    empty = {"subscription": {}, "pattern": "white_list"}
    assert owners(version, empty, GOOD) == {"a-0": "c1-0", "a-1": "c1-0"}


@pytest.mark.parametrize("number", [1.5, 2**31, -(2**31) - 1, 1795198465568])
def test_numbers_next_to_the_subscription_are_fatal_up_to_0_11(number: float) -> None:
    registration = {**GOOD, "extra": {"deep": [number]}}
    assert all(owners(version, registration) is None for version in SCALA)
    assert all(owners(version, registration) for version in JACKSON)


def test_a_pattern_of_null_is_static_up_to_0_11() -> None:
    registration = {"pattern": None, "subscription": {"a": 1}}
    assert all(owners(version, registration) for version in SCALA)
    assert all(owners(version, registration) is None for version in JACKSON)


def test_a_number_of_threads_that_no_topic_needs_is_not_looked_at_by_scala() -> None:
    registration = {"subscription": {"nothing": 0}, "pattern": "white_list"}
    assert all(owners(version, registration) == {} for version in ALL)
    registration = {"subscription": {"nothing": None}, "pattern": "white_list"}
    assert all(owners(version, registration) == {} for version in SCALA)
    assert all(owners(version, registration) is None for version in JACKSON)


def test_of_a_list_only_the_first_entry_counts() -> None:
    registration = {"subscription": {"a": 1, "b": "x"}, "pattern": "white_list"}
    assert all(owners(version, registration) for version in SCALA)
    assert all(owners(version, registration) is None for version in JACKSON)


@pytest.mark.parametrize("version", ["0.8.2.2", "0.9.0.1", "0.10.1.1"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (static(a=1, b=1), static(a=1)),
        (static(a=1, b=2), static(a=1, b=2)),
        (static(a=1), static(b=1)),
    ],
)
def test_strict_round_robin(version: str, first: object, second: object) -> None:
    assert owners(version, first, second, strategy="roundrobin") is None
    assert owners(version, first, second, strategy="range")
    assert owners("0.10.2.0", first, second, strategy="roundrobin")


def test_strict_round_robin_lets_members_differ_in_threads() -> None:
    found = owners("0.9.0.1", static(a=2, b=2), static(a=1, b=1), strategy="roundrobin")
    assert found is not None
    assert set(found.values()) == {"c0-0", "c0-1", "c1-0"}


def test_round_robin_of_nothing_fails_in_0_8_2_only() -> None:
    nothing = wildcard("nothing")
    assert owners("0.8.2.2", nothing, strategy="roundrobin") is None
    assert owners("0.9.0.1", nothing, strategy="roundrobin") == {}


def test_a_failure_names_the_member_and_the_reason() -> None:
    found = imitate(JvmVersion.parse("1.1.1"), "range", {"c": GOOD, "bad": "x"}, TOPICS, True)
    assert found.failure is not None
    assert "the registration of bad" in found.failure


def test_the_hash_changed_with_1_0() -> None:
    topics = {"x": range(11)}
    old = owners("0.11.0.3", static(x=1), static(x=1), strategy="roundrobin", topics=topics)
    new = owners("1.0.0", static(x=1), static(x=1), strategy="roundrobin", topics=topics)
    assert old is not None
    assert new is not None
    assert (old["x-10"], old["x-0"]) == ("c0-0", "c1-0")
    assert (new["x-10"], new["x-0"]) == ("c0-0", "c0-0")


@pytest.mark.parametrize(
    ("version", "hidden"),
    [
        ("0.8.1.1", set()),
        ("0.10.2.2", {"__consumer_offsets"}),
        ("0.11.0.3", {"__consumer_offsets", "__transaction_state"}),
        ("1.1.1", {"__consumer_offsets", "__transaction_state"}),
    ],
)
def test_internal_topics(version: str, hidden: set[str]) -> None:
    topics = dict.fromkeys(("t", "__consumer_offsets", "__transaction_state"), range(1))
    shown = owners(version, wildcard(".*"), topics=topics)
    assert shown is not None
    assert set(shown) == {f"{topic}-0" for topic in topics if topic not in hidden}
    everything = owners(version, wildcard(".*"), topics=topics, exclude_internal=False)
    assert everything is not None
    assert len(everything) == 3
    named = owners(version, static(__consumer_offsets=1), topics=topics)
    assert named == {"__consumer_offsets-0": "c0-0"}


def test_a_twice_escaped_expression_matches_nothing() -> None:
    stored = r'{"version":1,"subscription":{"wl\\\\.\\\\w+":2},"pattern":"white_list"}'
    assert owners("1.1.1", stored, topics={"wl.one": range(1)}) == {}
    once = r'{"version":1,"subscription":{"wl\\.\\w+":1},"pattern":"white_list"}'
    assert owners("1.1.1", once, topics={"wl.one": range(1)}) == {"wl.one-0": "c0-0"}


def test_a_stray_backslash_is_repaired_or_kept_except_in_1_0_0() -> None:
    stored = r'{"subscription":{"wl\.\w+":1},"pattern":"white_list"}'
    for version in ("0.8.2.2", "0.11.0.3", "1.0.1", "1.1.1"):
        assert owners(version, stored, topics={"wl.one": range(1)}) == {"wl.one-0": "c0-0"}
    assert owners("1.0.0", stored, topics={"wl.one": range(1)}) is None


def test_colliding_topics_come_in_the_order_of_the_hash_maps() -> None:
    topics = {"collAa": range(1), "collBB": range(1)}
    first = static(collAa=1, collBB=1)
    found = owners("1.1.1", first, first, strategy="roundrobin", topics=topics)
    assert found == {"collAa-0": "c0-0", "collBB-0": "c1-0"}
    turned = static(collBB=1, collAa=1)
    found = owners("1.1.1", turned, turned, strategy="roundrobin", topics=topics)
    assert found == {"collBB-0": "c0-0", "collAa-0": "c1-0"}


def test_strict_members_that_disagree_about_colliding_topics_fail_one_by_one() -> None:
    topics = {"collAa": range(1), "collBB": range(1)}
    ids = {"c0": static(collAa=1, collBB=1), "c1": static(collBB=1, collAa=1)}
    found = imitate(JvmVersion.parse("0.10.1.1"), "roundrobin", ids, topics, True)
    assert found.failure is None
    assert {str(partition): str(thread) for partition, thread in found.owners.items()} == {
        "collBB-0": "c0-0"
    }
    assert "c1 fails: collBB-0 is claimed by c0-0 already" in found.notes[0]


def test_a_topic_that_can_have_no_node_fails_its_readers() -> None:
    strict = imitate(
        JvmVersion.parse("0.9.0.1"), "range", {"c": GOOD, "d": static(**{"": 1})}, TOPICS, True
    )
    assert set(map(str, strict.owners.values())) == {"c-0"}
    assert "d fails" in strict.notes[0]
    later = imitate(
        JvmVersion.parse("1.1.1"), "range", {"c": GOOD, "d": static(**{"": 1})}, TOPICS, True
    )
    assert not later.owners
    assert len(later.notes) == 2


def test_what_an_unsupported_pattern_means_is_not_guessed() -> None:
    with pytest.raises(AssignmentError, match="is not supported"):
        owners("1.1.1", wildcard(r"(a|b)*\1"))


@pytest.mark.parametrize("text", ["0.7.2", "2.0.0", "1.2.0", "1.1", "1.1.1.1", "", "one", "0.8.x"])
def test_other_versions_are_refused(text: str) -> None:
    with pytest.raises(AssignmentError, match="no old consumer of version"):
        JvmVersion.parse(text)


@pytest.mark.parametrize("text", ["0.8.0", "0.8.1.1", "0.8.2.2", "0.9.0.0", "0.11.0.3", "1.0.1"])
def test_a_version_shows_itself_as_it_was_given(text: str) -> None:
    assert str(JvmVersion.parse(text)) == text


def test_strategies_by_version() -> None:
    for text in ("0.8.0", "0.8.1.1"):
        assert JvmVersion.parse(text).strategy("roundrobin") == "range"
    assert JvmVersion.parse("0.8.2.2").strategy("roundrobin") == "roundrobin"
    assert JvmVersion.parse("0.8.2.2").strategy("sticky") == "range"
    with pytest.raises(AssignmentError, match="no assignor 'sticky'"):
        JvmVersion.parse("0.9.0.0").strategy("sticky")
