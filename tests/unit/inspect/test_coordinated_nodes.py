"""Where the nodes of a coordinated group lie, what its members register, and how tools see it."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.balance import STICKY
from pyspark_zkgroup.group.paths import CoordinatedPaths, GroupPaths
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, report
from pyspark_zkgroup.jvm.registration import (
    Registration,
    Subscription,
    encode_registration,
    parse_registration,
)
from pyspark_zkgroup.model import TopicPartition


def test_owners_and_offsets_lie_where_every_tool_looks() -> None:
    coordinated, plain = CoordinatedPaths("g"), GroupPaths("g")
    partition = TopicPartition("t", 1)
    assert coordinated.owner(partition) == plain.owner(partition)
    assert coordinated.offset(partition) == plain.offset(partition)
    assert coordinated.id("c") == "/consumers/groups/g/ids/c"
    assert coordinated.other_ids == plain.ids
    assert coordinated.command("c", "0000000007") == "/consumers/groups/g/channel/c/0000000007"
    assert coordinated.command("c") == "/consumers/groups/g/channel/c/"
    assert coordinated.answer("c", "7") == "/consumers/groups/g/answers/c-7"


@pytest.mark.parametrize("name", ["", "a/b", "groups", "coordinator"])
def test_a_group_cannot_have_the_name_of_a_sibling_node(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a coordinated group"):
        CoordinatedPaths(name)


def test_a_registration_says_whether_its_pattern_means_internal_topics() -> None:
    plain = Registration(Subscription.white_list("a.*", 2), "5", strategy=STICKY)
    internal = Registration(Subscription.white_list("a.*", 2), "5", strategy=STICKY, internal=True)
    assert encode_registration(plain) == (
        b'{"version":1,"subscription":{"a.*":2},"pattern":"white_list","timestamp":"5",'
        b'"zkgroup":{"strategy":"sticky","order":"","static":"false"}}'
    )
    assert b'"internal":"true"' in encode_registration(internal)
    for each in (plain, internal):
        assert parse_registration("/p", encode_registration(each)).internal is each.internal


def test_a_report_shows_as_owned_what_a_coordinator_would_leave_where_it_is() -> None:
    data = encode_registration(Registration(Subscription.static({"t": 1}), "5", strategy=STICKY))
    owners = {TopicPartition("t", n): Seen(b"a-0" if n else b"b-0", 7, 0) for n in range(3)}
    ids = {name: Seen(data, 7, 0) for name in "ab"}
    seen = report(GroupFacts("g", ids, {"t": (0, 1, 2, 3)}, owners), {})
    assert [(row.state, row.wanted_by) for row in seen.partitions] == [
        ("owned", "b-0"),
        ("owned", "a-0"),
        ("owned", "a-0"),
        ("free", "b-0"),
    ]
