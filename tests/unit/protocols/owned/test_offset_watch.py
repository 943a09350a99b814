"""When a member that rests looks at the offset nodes of what it holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.offset_watch import OffsetWatch
from pyspark_zkgroup.zk.port import DisconnectedError, SessionLostError

P = TopicPartition("t", 0)


class Member:
    """One that holds a partition; of its looks those are not answered that `silent` has."""

    def __init__(self) -> None:
        self.now, self.looks, self.silent, self.told = 0.0, 0, False, 0
        known = {P: SimpleNamespace(fence=NodeVersion(7, 1))}
        context = SimpleNamespace(
            holdings=SimpleNamespace(held={P: None}, known=known),
            paths=SimpleNamespace(offset=str),
            store=SimpleNamespace(stats=self._stats),
        )
        clock = SimpleNamespace(monotonic=lambda: self.now)
        self.agenda = SimpleNamespace(offsets_written=True)
        keeper = SimpleNamespace(
            member=SimpleNamespace(clock=clock),
            agenda=self.agenda,
            context=context,
            session=SimpleNamespace(connected=True),
            note_offline=self._note_offline,
        )
        self.watch = OffsetWatch(cast(Any, keeper))

    def _stats(self, paths: list[str], *, watch: bool) -> list[Any]:
        assert watch
        self.looks += 1
        if self.silent:
            raise DisconnectedError("no answer in time")
        return [SimpleNamespace(node=NodeVersion(7, 1)) for _ in paths]

    def _note_offline(self, _: Exception) -> None:
        self.told += 1


def test_a_watched_node_is_not_read_before_it_is_written() -> None:
    member = Member()
    assert [member.watch.touched() for _ in range(3)] == [False] * 3
    assert member.looks == 1
    member.agenda.offsets_written = True
    member.watch.touched()
    assert member.looks == 2


def test_a_batch_is_no_rest_until_two_seconds_later() -> None:
    member = Member()
    member.watch.committed({P: 1})
    member.watch.touched()
    assert member.looks == 0
    member.now = 2.0
    member.watch.touched()
    assert member.looks == 1


def test_a_look_that_was_not_answered_is_made_again_and_not_at_once() -> None:
    """The connection may survive, so no event would repeat the look: an offset that was written
    meanwhile would not be noticed before the next record.
    """
    member = Member()
    member.watch.touched()
    member.agenda.offsets_written = member.silent = True
    assert [member.watch.touched() for _ in range(2)] == [False, False]
    assert (member.looks, member.told) == (2, 1)
    member.now, member.silent = 2.0, False
    member.watch.touched()
    assert member.looks == 3


def test_a_session_that_ends_during_a_look_is_a_reason_for_a_boundary() -> None:
    member, lost = Member(), []
    keeper = cast(Any, member.watch)._keeper
    keeper.lose = lambda: lost.append(True)

    def ended(*_: Any, **__: Any) -> list[Any]:
        raise SessionLostError("ended")

    keeper.context.store.stats = ended
    assert member.watch.touched()
    assert lost == [True]


def test_without_watches_the_nodes_are_read_now_and_again() -> None:
    member = Member()
    member.watch._every_s = 5.0
    for now, looks in ((0.0, 1), (4.9, 1), (5.0, 2), (6.0, 2), (10.0, 3)):
        member.now = now
        member.watch.touched()
        assert member.looks == looks
