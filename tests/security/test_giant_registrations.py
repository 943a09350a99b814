"""Registrations and commands that name too much: their readers continue, within limits."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup.errors import BadZnodeError, SubscriptionError
from pyspark_zkgroup.group.balance import balanced
from pyspark_zkgroup.group.snapshot import (
    GROUP_THREADS_MAX,
    PLACES_MAX,
    Snapshot,
    expand,
    read_snapshot,
)
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import (
    REGISTRATION_THREADS_MAX,
    THREADS_MAX,
    Subscription,
    parse_registration,
)
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.command_json import PARTITIONS_MAX, decode_command
from tests.security.spent import MIB, spent_on

ORDERS = TopicPartition("orders", 0)
# Several times what they take: these tell bounded from unbounded, not fast from slow.
SECONDS_MAX = 15.0


def registration(threads: dict[str, int], pattern: str = "static") -> bytes:
    value = {"version": 1, "subscription": threads, "pattern": pattern, "timestamp": "1"}
    return json.dumps(value, separators=(",", ":")).encode()


HONEST = registration({"orders": 2})


def test_one_registration_of_a_kilobyte_costs_its_readers_nothing() -> None:
    # 27 s and 562 MiB before there were bounds.
    giant = registration({f"a-topic-that-is-absent-{n}": 100_000 - n for n in range(60)})
    assert len(giant) < 2500

    def read() -> None:
        snapshot = read_snapshot("g", {"honest": HONEST, "giant": giant}, {"orders": (0,)})
        assert set(snapshot.skipped) == {"giant"}
        assert target(snapshot, "range", "new", True) == {ORDERS: ThreadId("honest", 0)}

    spent = spent_on(read)
    assert spent.peak_bytes < MIB, spent
    assert spent.seconds < 1.0, spent


def test_no_thread_is_made_for_a_topic_that_does_not_exist() -> None:
    absent = registration({f"t{n}": 9000 + n for n in range(11)})

    def read() -> None:
        snapshot = read_snapshot("g", {"honest": HONEST, "absent": absent}, {"orders": (0,)})
        assert snapshot.skipped == {}
        assert set(expand(snapshot, True)) == {"orders"}

    assert spent_on(read).peak_bytes < MIB


@pytest.mark.parametrize(
    "threads",
    [
        {"t": THREADS_MAX + 1},
        {f"t{n}": THREADS_MAX for n in range(REGISTRATION_THREADS_MAX // THREADS_MAX + 1)},
    ],
)
def test_a_registration_beyond_the_bounds_is_an_unreadable_one(threads: dict[str, int]) -> None:
    with pytest.raises(BadZnodeError, match="threads"):
        parse_registration("/p", registration(threads))
    with pytest.raises(SubscriptionError, match="threads"):
        Subscription.static(threads)


def test_the_largest_members_are_left_out_where_the_group_has_too_many_threads() -> None:
    giants = {f"a{n}": registration({"orders": THREADS_MAX - n}) for n in range(12)}
    snapshot = read_snapshot("g", {**giants, "z-honest": HONEST}, {"orders": (0,)})
    assert "z-honest" in snapshot.members
    assert set(snapshot.skipped) == {"a0", "a1"}
    assert f"more than {GROUP_THREADS_MAX}" in snapshot.skipped["a0"]
    assert "/consumers/g/ids/a0" in snapshot.skipped["a0"]


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky"])
def test_members_within_their_bounds_cost_no_more_together(strategy: str) -> None:
    """Two that name each topic with another number of threads, and patterns that match all."""
    topics = {f"t{n}": (0, 1) for n in range(1000)} | {"orders": (0,)}
    ids = {
        "first": registration({f"t{n}": n for n in range(1, 440)}),
        "second": registration({f"t{n}": n // 5 + 1 for n in range(900)}),
        **{f"w{n}": registration({".*": 9000 - n}, "white_list") for n in range(11)},
        "honest": HONEST,
    }

    def read() -> None:
        snapshot = read_snapshot("g", ids, topics)
        assert snapshot.skipped == {}
        if strategy == "sticky":
            threads = expand(snapshot, True)
            assert balanced({t: topics[t] for t in threads}, threads, {})
        else:
            assert len(target(snapshot, strategy, "new", True)) == 2001

    # Its memory is that of the places, which the next test counts: 20 to 100 MiB.
    spent = spent_on(read, memory=False)
    assert spent.seconds < SECONDS_MAX, spent


def test_where_threads_are_cut_off_members_with_few_keep_theirs() -> None:
    topics = {f"t{n}": (0, 1) for n in range(1000)}
    ids = {
        "first": registration({f"t{n}": n for n in range(1, 440)}),
        **{f"w{n}": registration({".*": 9000}, "white_list") for n in range(11)},
        "honest": registration({".*": 4}, "white_list"),
    }
    threads = expand(read_snapshot("g", ids, topics), True)
    assert sum(len(takers) for takers in set(threads.values())) <= PLACES_MAX
    for takers in threads.values():
        assert [t.number for t in takers if t.consumer == "honest"] == [0, 1, 2, 3]


def test_a_snapshot_of_one_member_with_a_deep_value_is_read() -> None:
    deep = b'{"pattern":"static","subscription":{"t":' + b"[" * 900 + b"]" * 900 + b"}}"
    snapshot = read_snapshot("g", {"deep": deep, "honest": HONEST}, {"orders": (0,)})
    assert isinstance(snapshot, Snapshot)
    assert set(snapshot.members) == {"honest"}
    assert len(snapshot.skipped["deep"]) < 1000


def test_a_command_names_no_more_partitions_than_a_cluster_has() -> None:
    # 20 topics of a million partitions, each within the bound that there was, took 785 MB.
    runs = {f"t{n}": [[0, PARTITIONS_MAX // 2]] for n in range(200)}
    start = {
        "version": 1,
        "command": "start",
        "generation": "1.1",
        "life": 1,
        "partitions": {},
        "topics": runs,
    }
    data = json.dumps(start).encode()

    def read() -> None:
        with pytest.raises(BadZnodeError, match="partitions"):
            decode_command("/p", data)

    spent = spent_on(read)
    assert spent.peak_bytes < 32 * MIB, spent


@pytest.mark.parametrize("partition", ["0", "4294967296"])
def test_a_command_names_threads_and_partitions_that_can_be(partition: str) -> None:
    share = {"t": {partition: {"thread": 0 if partition != "0" else THREADS_MAX}}}
    start = {"version": 1, "command": "start", "generation": "1.1", "life": 1, "topics": {}}
    with pytest.raises(BadZnodeError, match="no number"):
        decode_command("/p", json.dumps({**start, "partitions": share}).encode())
