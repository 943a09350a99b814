"""When an offset in Kafka counts, and what of the copy is to be written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription, encode_subscription
from pyspark_zkgroup.model import BrokerMember, CommitRefused, StoredOffset, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.rules.kafka_copy import (
    REFRESH_S,
    Copied,
    both_named,
    counting,
    due,
    is_behind,
    live_group,
    named,
    note_of,
    refusal_text,
    switched,
)
from tests.harness.given_options import LEAST

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
OURS = note_of("billing_host-1-0a")


@pytest.mark.parametrize(
    ("in_zookeeper", "stored", "dual", "expected"),
    [
        (None, None, True, None),
        (5, None, True, 5),
        (5, None, False, 5),
        (None, StoredOffset(7), True, 7),
        (None, StoredOffset(7, OURS), True, 7),
        # A copy never counts if ZooKeeper has an offset, whether it is behind or ahead of a rewind.
        (5, StoredOffset(7, OURS), True, 5),
        (5, StoredOffset(7, OURS), False, 5),
        (5, StoredOffset(3, OURS), False, 5),
        # An offset of another client does: the larger one, or Kafka's without dual commits.
        (5, StoredOffset(7), True, 7),
        (5, StoredOffset(3), True, 5),
        (5, StoredOffset(7), False, 7),
        (5, StoredOffset(3), False, 3),
        (5, StoredOffset(7, "zkgroups of my own"), True, 7),
        (0, StoredOffset(0), True, 0),
    ],
)
def test_which_offset_counts(
    in_zookeeper: int | None, stored: StoredOffset | None, dual: bool, expected: int | None
) -> None:
    assert counting(in_zookeeper, stored, dual=dual) == expected


def test_ignored_offsets_are_reported() -> None:
    assert is_behind(5, StoredOffset(3))
    assert not is_behind(5, StoredOffset(5))
    assert not is_behind(None, StoredOffset(3))
    assert not is_behind(5, StoredOffset(3, OURS))
    text = both_named([Q, P], {P: 5, Q: None}, {P: StoredOffset(3), Q: StoredOffset(7)})
    assert text == "t-0 at 3 (in ZooKeeper 5), t-1 at 7 (in ZooKeeper None)"
    many = [TopicPartition("t", n) for n in range(12)]
    some = both_named(many, dict.fromkeys(many, 5), dict.fromkeys(many, StoredOffset(3)))
    assert some.endswith("t-9 at 3 (in ZooKeeper 5) and 2 more partitions")


def test_what_is_due() -> None:
    copied = {P: Copied(5, 100.0), Q: Copied(7, 100.0)}
    later = 100.0 + REFRESH_S
    assert due({P: 5, Q: 7}, copied, later - 1) == {}
    assert due({P: 5, Q: 8}, copied, later - 1) == {Q: 8}
    assert due({P: 4, Q: 7}, copied, 100.0) == {P: 4}, "also backwards: a reset is followed"
    assert due({P: 5, Q: 7}, copied, later) == {P: 5, Q: 7}
    assert due({P: 0}, {}, 0.0) == {P: 0}


def test_a_live_group_names_its_members() -> None:
    members = [BrokerMember("app", "/10.0.0.7")] * 12
    text = str(live_group("billing", members))
    assert "a group named 'billing' (app at /10.0.0.7, " in text
    assert "and 2 more" in text
    assert named([BrokerMember("app")]) == "app"


def test_zkgroup_members_of_a_brokers_group_are_recognised() -> None:
    ours = encode_subscription(MemberSubscription(("t",), is_zkgroup=True))
    plain = encode_subscription(MemberSubscription(("t",)))
    others = [
        BrokerMember("app", "", plain),
        BrokerMember("joining"),
        BrokerMember("odd", "", b"?"),
    ]
    assert switched("billing", others) is None
    refusal = switched("billing", [*others, BrokerMember("spark-1", "/10.0.0.7", ours)])
    assert "Group billing has live members with protocol=kafka (spark-1 at /10.0.0.7)" in str(
        refusal
    )


def test_a_refusal_is_reported_for_one_partition() -> None:
    why = CommitRefused("GroupAuthorizationFailed (30)")
    assert refusal_text({Q: why, P: why}) == (
        "GroupAuthorizationFailed (30) for t-0 and 1 more partition"
    )
    assert refusal_text({P: why}) == "GroupAuthorizationFailed (30) for t-0"


@pytest.mark.parametrize("found", [[], [BrokerMember("app-1", "/10.0.0.7")]])
def test_a_group_of_the_same_name_in_kafka_is_named_once(
    found: list[BrokerMember], caplog: pytest.LogCaptureFixture
) -> None:
    store: Any = SimpleNamespace(live_namesakes=lambda timeout_s: found)
    copy = KafkaCopy(parse(LEAST), store, cast(Any, None))
    copy.refuse_live_group()
    assert ["ZKG-178" in m and "app-1 at /10.0.0.7" in m for m in caplog.messages] == [True] * len(
        found
    )


def test_offsets_that_differ_are_taken_over_and_those_behind_are_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ahead, equal, behind = P, Q, TopicPartition("t", 2)
    stored = {ahead: StoredOffset(7), equal: StoredOffset(5), behind: StoredOffset(3)}
    store: Any = SimpleNamespace(group_offsets=lambda _partitions: stored)
    copy = KafkaCopy(parse({**LEAST, "offsets.storage": "kafka"}), store, cast(Any, None))
    assert copy.counting({ahead: 5, equal: 5, behind: 5}) == {ahead: 7}
    taken_over, reported = caplog.messages
    assert "ZKG-135" in taken_over
    assert "ZKG-136" in reported
    assert [str(p) in taken_over for p in stored] == [True, False, False]
    assert [str(p) in reported for p in stored] == [False, False, True]
