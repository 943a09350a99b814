"""Batch reads in Spark, compared with those of Spark's own Kafka source: the same rows.

What is refused, and what becomes of losses, is tried without Spark in tests/broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence

import pytest
from kazoo.client import KazooClient

from tests.harness.retention import delete_records
from tests.spark.peer import BatchRead, Peer, Sent, differences
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

T0_MS = 1_700_000_000_000
PARTITIONS, EACH = 3, 100
# Neither ascending in time nor alike in all partitions.
ORDER = 37


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    made = Peer(tmp_path_factory.mktemp("peer"))
    yield made
    made.close()


class Topic:
    def __init__(self, sandbox: Sandbox, peer: Peer) -> None:
        self.sandbox, self.peer = sandbox, peer
        self.name = f"batch-{uuid.uuid4().hex[:8]}"
        sandbox.create_topic(self.name, PARTITIONS)
        records = [
            Sent(
                self.name,
                partition,
                b"k%d" % n,
                b"v%d-%d" % (partition, n),
                (("h", b"%d" % n),) if n % 2 else (),
                T0_MS + 1000 * (n * ORDER % EACH),
            )
            for partition in range(PARTITIONS)
            for n in range(EACH)
        ]
        peer.produce(sandbox.bootstrap_servers, records)

    def ours(
        self, options: Mapping[str, str], where: Sequence[str] = (), *, pushed: bool = False
    ) -> BatchRead:
        given = {
            "zookeeper.connect": self.sandbox.kafka_zookeeper_connect,
            "subscribe": self.name,
            "threads": "1",
            **({"pushFilters": "true"} if pushed else {}),
            **options,
        }
        name = f"zkgroup-{uuid.uuid4().hex[:8]}"
        return self.peer.read_batch("zkgroup", given, name, where, pushed=pushed)

    def theirs(self, options: Mapping[str, str], where: Sequence[str] = ()) -> BatchRead:
        given = {
            "kafka.bootstrap.servers": self.sandbox.bootstrap_servers,
            "subscribe": self.name,
            **options,
        }
        return self.peer.read_batch("kafka", given, f"kafka-{uuid.uuid4().hex[:8]}", where)

    def json(self, *values: int) -> str:
        numbers = ", ".join(f'"{n}": {value}' for n, value in enumerate(values))
        return f'{{"{self.name}": {{{numbers}}}}}'


@pytest.fixture(scope="module")
def topic(sandbox: Sandbox, peer: Peer) -> Topic:
    return Topic(sandbox, peer)


def test_the_whole_topic_with_headers(topic: Topic) -> None:
    options = {"includeHeaders": "true"}
    ours, theirs = topic.ours(options), topic.theirs(options)
    assert list(differences(ours, theirs)) == []
    assert len(ours.rows) == PARTITIONS * EACH


def test_given_starts_and_ends(topic: Topic) -> None:
    for options in (
        {"startingOffsets": topic.json(10, -2, 99), "endingOffsets": topic.json(-1, 50, 100)},
        {
            "startingTimestamp": str(T0_MS + 90_000),
            "endingOffsetsByTimestamp": topic.json(T0_MS + 99_000, T0_MS + 500_000, T0_MS + 99_000),
        },
    ):
        ours, theirs = topic.ours(options), topic.theirs(options)
        assert list(differences(ours, theirs)) == []
        assert 0 < len(ours.rows) < PARTITIONS * EACH


def test_the_groups_offsets_decide_and_stay_as_they_are(topic: Topic) -> None:
    group = f"g{uuid.uuid4().hex[:8]}"
    offsets = f"/consumers/{group}/offsets/{topic.name}"
    client = KazooClient(topic.sandbox.kafka_zookeeper_connect)
    client.start()
    try:
        for partition, offset in ((0, b"90"), (1, b"100")):
            client.create(f"{offsets}/{partition}", offset, makepath=True)
        ours = topic.ours({"group.id": group})
        found = sorted((row["partition"], row["offset"]) for row in ours.rows)
        assert found == [*((0, n) for n in range(90, 100)), *((2, n) for n in range(100))]
        assert client.get_children(f"/consumers/{group}") == ["offsets"]
        assert client.get(f"{offsets}/0")[0] == b"90"
        assert not client.exists(f"{offsets}/2")
    finally:
        client.stop()
        client.close()


CONDITIONS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("offset between 20 and 29",), 30),
    (("partition = 1", "offset >= 95"), 5),
    (("partition in (0, 2)", "offset < 3", "topic like 'batch-%'"), 6),
    (("offset in (7, 8, 9)", "partition <> 0"), 6),
    # Only the hull of these is read, and Spark picks.
    (("offset in (7, 9)",), 9),
    (("topic = 'another'",), 0),
    (("offset > 5 and offset < 3",), 0),
    # Where reading begins; the records behind it are not in the order of their times.
    ((f"timestamp >= timestamp_millis({T0_MS + 99_000})",), 3 * (EACH - 27)),
)


def test_filters_are_pushed_down_and_change_no_row(topic: Topic) -> None:
    for where, most in CONDITIONS:
        pushed = topic.ours({}, where, pushed=True)
        theirs = topic.theirs({}, where)
        print(f"{where}: {len(pushed.rows)} rows, {pushed.received} received\n{pushed.plan}")
        assert list(differences(pushed, theirs)) == [], where
        assert pushed.received <= most, where
    where = CONDITIONS[0][0]
    assert topic.ours({}, where).received == PARTITIONS * EACH


def test_filters_without_sparks_configuration_are_refused_by_spark(topic: Topic) -> None:
    with pytest.raises(AssertionError, match="DATA_SOURCE_PUSHDOWN_DISABLED"):
        topic.ours({"pushFilters": "true"})


def test_when_a_frame_looks_again(sandbox: Sandbox, peer: Peer) -> None:
    """Spark asks a Python source once for the tasks of a frame, and keeps them; its own Kafka
    source, and ours where filters are pushed, are asked at each action.
    """
    topic = Topic(sandbox, peer)
    ours = {"zookeeper.connect": sandbox.kafka_zookeeper_connect, "subscribe": topic.name}
    theirs = {"kafka.bootstrap.servers": sandbox.bootstrap_servers, "subscribe": topic.name}
    peer.frame("zkgroup", ours, "ours")
    peer.frame("zkgroup", {**ours, "pushFilters": "true"}, "pushed", where="offset >= 1")
    peer.frame("kafka", theirs, "theirs")
    view = "create temporary view looked using zkgroup options ({})".format(
        ", ".join(f"`{name}` '{value}'" for name, value in ours.items())
    )
    asked = "select count(*) from looked"

    def looks() -> dict[str, list[int]]:
        return {
            "ours": [peer.act("ours", action) for action in ("count", "collect", "union")],
            "pushed": [peer.act("pushed", "count", pushed=True)],
            "theirs": [peer.act("theirs", action) for action in ("count", "collect", "union")],
        }

    n = PARTITIONS * EACH
    before = looks()
    assert peer.sql(view, asked) == [[n]]
    peer.produce(sandbox.bootstrap_servers, [Sent(topic.name, 0, None, b"more")] * 10)
    after = looks()
    viewed = peer.sql(asked)
    print(f"{before}, then {after}; view {viewed}")
    assert before == {"ours": [n, n, 2 * n], "pushed": [n - 3], "theirs": [n, n, 2 * n]}
    assert after["theirs"] == [n + 10, n + 10, 2 * (n + 10)]
    assert after["ours"] == before["ours"]
    assert after["pushed"] == [n + 10 - 3]
    assert viewed == [[n]]
    peer.frame("zkgroup", ours, "ours")
    assert peer.act("ours", "count") == n + 10, "who loads again looks again"


def test_a_table_in_sql(topic: Topic) -> None:
    rows = topic.peer.sql(
        f"""create temporary view events using zkgroup options (
            `zookeeper.connect` '{topic.sandbox.kafka_zookeeper_connect}',
            subscribe '{topic.name}', endingOffsets '{topic.json(10, 10, 10)}')""",
        "select partition, count(*), max(cast(value as string)) from events group by 1 order by 1",
    )
    assert rows == [[n, 10, f"v{n}-9"] for n in range(PARTITIONS)]


def test_errors_are_shown_in_spark_too(sandbox: Sandbox, peer: Peer) -> None:
    topic = Topic(sandbox, peer)
    for options, said in (
        ({"startingOffsets": "latest"}, "a batch read that starts at latest reads nothing"),
        ({"endingOffsets": "earliest"}, "would leave nothing to read"),
        ({"member.id": "one"}, "a batch read joins no group"),
    ):
        with pytest.raises(AssertionError, match=said):
            topic.ours(options)
    delete_records(sandbox.bootstrap_servers, topic.name, {0: 40})
    starts = {"startingOffsets": topic.json(30, 0, 0), "endingOffsets": topic.json(50, 0, 0)}
    with pytest.raises(AssertionError, match=r"ZKG-013.*10 records are gone"):
        topic.ours(starts)
    rows = topic.ours({**starts, "failOnDataLoss": "false"}).rows
    assert sorted(row["offset"] for row in rows) == list(range(40, 50))
