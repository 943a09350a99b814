"""The copy in Kafka when brokers do not accept it: what waits, how long, and what continues."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.model import BrokerMember, CommitRefused, StoredOffset, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from tests.fakes.still_clock import StillClock
from tests.harness.given_options import LEAST

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)


class Store:
    """Takes what it is given, but for what a test lets it refuse."""

    def __init__(self) -> None:
        self.timeout_s = 2.0
        self.taken: dict[TopicPartition, int] = {}
        self.asked: list[set[TopicPartition]] = []
        self.refuses: set[TopicPartition] = set()
        self.is_away = False

    def group_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, StoredOffset]:
        raise AssertionError(f"no test here claims: {partitions}")

    def commit_group_offsets(
        self, offsets: Mapping[TopicPartition, int], note: str, *, timeout_s: float
    ) -> Mapping[TopicPartition, CommitRefused]:
        assert (note, timeout_s) == ("zkgroup us", self.timeout_s)
        self.asked.append(set(offsets))
        if self.is_away:
            raise ServerError("No broker answers", "Wait")
        self.taken.update((p, n) for p, n in offsets.items() if p not in self.refuses)
        return {p: CommitRefused("No (29)") for p in offsets if p in self.refuses}

    def group_members(self, *, timeout_s: float) -> Collection[BrokerMember]:
        raise AssertionError(f"no consumer is live: {timeout_s}")

    def live_namesakes(self, *, timeout_s: float) -> Collection[BrokerMember]:
        raise AssertionError(f"who keeps offsets there asks for members: {timeout_s}")


class Scene:
    def __init__(self, **options: str) -> None:
        self.store, self.clock = Store(), StillClock()
        self.copy = KafkaCopy(
            parse({**LEAST, "offsets.storage": "kafka", **options}),
            self.store,
            cast(Any, self.clock),
        )
        self.holdings = Holdings()
        self.commit({P: 0, Q: 0})

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, offset in offsets.items():
            self.holdings.held[partition] = Held(0, 1)
            self.holdings.known[partition] = Known(NodeVersion(1, offset), offset, offset)

    def write(self, *, last: bool = False) -> None:
        context = cast(MemberContext, SimpleNamespace(holdings=self.holdings, consumer="us"))
        self.copy.write(context, has_lease=True, last=last)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_what_is_refused_for_itself_does_not_hold_up_the_rest(scene: Scene) -> None:
    scene.store.refuses = {P}
    scene.write()
    assert scene.copy.setbacks.trouble == "No (29) for t-0"
    scene.commit({P: 5, Q: 5})
    scene.write()
    assert scene.store.asked == [{P, Q}, {Q}]
    assert scene.copy.setbacks.trouble
    scene.clock.now += 1.0
    scene.store.refuses = set()
    scene.write()
    assert scene.store.asked[-1] == {P}
    assert (scene.store.taken, scene.copy.setbacks.trouble) == ({P: 5, Q: 5}, "")


def test_pauses_grow_to_a_minute_and_restart(scene: Scene) -> None:
    scene.store.is_away = True
    pauses = []
    for _ in range(8):
        scene.write()
        began, tries = scene.clock.now, len(scene.store.asked)
        while len(scene.store.asked) == tries:
            scene.clock.now += 0.5
            scene.write()
        pauses.append(scene.clock.now - began)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    scene.store.is_away = False
    scene.clock.now += 60.0
    scene.write()
    assert scene.copy.setbacks.trouble == ""
    scene.store.is_away = True
    scene.commit({P: 9})
    scene.write()
    scene.clock.now += 1.0
    tries = len(scene.store.asked)
    scene.write()
    assert len(scene.store.asked) == tries + 1


def test_the_last_one_does_not_wait(scene: Scene) -> None:
    scene.store.is_away = True
    scene.write()
    scene.write()
    assert len(scene.store.asked) == 1
    scene.store.is_away = False
    scene.write(last=True)
    assert scene.store.taken == {P: 0, Q: 0}


def test_a_commit_in_doubt_and_one_of_a_partition_that_is_gone_are_not_copied(
    scene: Scene,
) -> None:
    scene.holdings.known[P] = Known(NodeVersion(1, 0), 7, 0, doubt=7)
    scene.holdings.forget(Q)
    scene.write()
    assert scene.store.asked == []


@pytest.mark.parametrize(("timeout_ms", "write_s"), [("3000", 1.0), ("30000", 2.0)])
def test_a_copy_never_waits_for_so_long_that_the_session_ends(
    timeout_ms: str, write_s: float
) -> None:
    scene = Scene(**{"zookeeper.session.timeout.ms": timeout_ms})
    scene.store.timeout_s = write_s
    scene.write()
    assert scene.store.taken == {P: 0, Q: 0}
