"""Where a member starts in topics that were recreated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.ranges.positions import StartingOffsets
from pyspark_zkgroup.zk.port import Children
from tests.fakes.brokers import FakeBrokers

P0 = TopicPartition("t", 0)


class Brokers(FakeBrokers):
    away = True

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        if self.away:
            raise ServerError("away")
        return super().earliest(partitions)


def test_a_reported_loss_is_not_reported_again_after_brokers_were_away() -> None:
    """The topic's id shows the loss, once. If it were asked before the brokers, their error would
    lose the answer, and the next attempt would report a second loss.
    """
    told = {P0}

    def old_ends(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int | None]:
        before = set(told)
        told.clear()
        return {p: None for p in partitions if p not in before}

    brokers = Brokers({"t": 1})
    losses = Losses(str, fail=True)
    losses.old_ends = old_ends
    first = FirstOffsets(StartingOffsets("earliest"), brokers, losses)
    context: Any = SimpleNamespace(holdings=SimpleNamespace(known={}))
    waiting: dict[TopicPartition, str] = {}
    assert first.begin_anew(context, {P0: 20}, waiting) == {}
    assert "away" in waiting[P0]
    brokers.away = False
    assert first.begin_anew(context, {P0: 20}, {}) == {P0: 20}
    assert losses.events == 0


def test_a_topic_of_which_the_group_has_offsets_is_known_and_not_asked_for_again() -> None:
    """If its nodes are lost later, `startingOffsets` must not apply to it."""
    asked: list[list[str]] = []

    def children(paths: list[str]) -> list[Children]:
        asked.append(paths)
        return [Children(frozenset({"0"}), 1, 1)]

    paths = GroupPaths("g")
    context: Any = SimpleNamespace(
        store=SimpleNamespace(children=children),
        paths=paths,
        holdings=SimpleNamespace(lost_topics=set()),
    )
    first = FirstOffsets(StartingOffsets("latest"), FakeBrokers({"t": 1}), Losses(str, fail=True))
    first.topics, first.fresh = {"t": (0,)}, frozenset({"t"})
    first.note_group(context)
    assert first.lost.seen == {P0}
    first.note_group(context)
    assert asked == [[paths.offset_topic("t")]]
