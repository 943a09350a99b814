"""Detects offsets that other clients set, of what is held, while nothing is planned.

An operator sets the offsets of a group that has read everything. Its members plan nothing, so they
prove nothing, and would notice it only when the next record comes. So a resting member watches the
offset nodes of what it holds: once armed, a watch costs nothing until a client writes. The member's
own commits are such writes, so between batches it arms none.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned import commits
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper
from pyspark_zkgroup.zk.port import DisconnectedError, SessionLostError

# Nothing to read for this long is a rest. Queries with small batches pause for less after each.
_REST_S = 2.0


class OffsetWatch:
    """`every_s`: how often to look if there are no watches."""

    def __init__(self, keeper: SessionKeeper, every_s: float = float("inf")) -> None:
        self._keeper = keeper
        self._agenda = keeper.agenda
        self._clock = keeper.member.clock
        self._every_s = every_s
        self._not_before = 0.0
        self._again_at = 0.0
        self._watched: frozenset[TopicPartition] = frozenset()

    def committed(self, done: Mapping[TopicPartition, int]) -> None:
        if done:  # A batch has ended: this was no rest.
            self._not_before = self._clock.monotonic() + _REST_S

    def touched(self) -> bool:
        """Give up partitions whose offset was set, to claim them again at the group's new
        offset.
        """
        keeper = self._keeper
        context, session = keeper.context, keeper.session
        if context is None or session is None or not session.connected or not self._is_due(context):
            return False
        try:
            found = self._found(context)
            if found:
                commits.reconsider(context, found)
                self._agenda.stir("an offset was set while nothing was read")
            return bool(found)
        except SessionLostError:
            keeper.lose()
            return True
        except DisconnectedError as error:
            # Whether it was read or watched or not: repeat it, but not at once.
            self._agenda.offsets_written = True
            self._not_before = self._clock.monotonic() + _REST_S
            keeper.note_offline(error)
            return False

    def _is_due(self, context: MemberContext) -> bool:
        now = self._clock.monotonic()
        is_new = self._agenda.offsets_written or context.holdings.held.keys() != self._watched
        return now >= self._not_before and (is_new or now >= self._again_at)

    def _found(self, context: MemberContext) -> list[TopicPartition]:
        partitions = sorted(context.holdings.held)
        # Before the nodes are read: a write that comes in between fires the watch once more.
        self._agenda.offsets_written = False
        nodes = context.store.stats([context.paths.offset(p) for p in partitions], watch=True)
        self._watched = frozenset(partitions)
        self._again_at = self._clock.monotonic() + self._every_s
        return [
            p
            for p, node in zip(partitions, nodes, strict=True)
            if node is None or node.node != context.holdings.known[p].fence
        ]
