"""How a group comes from one generation to the next, and who is counted out on the way."""

from __future__ import annotations

from typing import Any

from pyspark_zkgroup.kafka import error_codes as codes
from tests.fakes.broker_group import Group, GroupLooker, GroupMember, Reply
from tests.fakes.group_answers import joined, not_joined, synced
from tests.fakes.zookeeper import Time


class GroupRounds:
    def __init__(self, time: Time, first_join_s: float) -> None:
        self.time = time
        self.first_join_s = first_join_s
        self.group = Group()
        self.written = Group()
        self.looker: GroupLooker | None = None
        self._promised: dict[str, int] = {}
        """Member ids that were given out, and who was given each; they have not joined yet."""
        self._is_first = False
        self._round = 0

    def _rebalance(self) -> None:
        group = self.group
        if group.state == "preparing":
            self._complete_if_all_are_here()
            return
        for member in group.members.values():
            member.assignment = b""
            if member.sync is not None:
                sync, member.sync = member.sync, None
                sync(synced(codes.REBALANCE_IN_PROGRESS))
                self._rest(member)
        self._round += 1
        self._is_first = group.state == "empty"
        group.state = "preparing"
        group.unsynced.clear()
        this = self._round
        self.time.after(self._patience_s, lambda: self._complete(this))
        self._complete_if_all_are_here()

    @property
    def _patience_s(self) -> float:
        if self._is_first:
            return self.first_join_s
        return max((m.rebalance_s for m in self.group.members.values()), default=0.0)

    def _complete_if_all_are_here(self) -> None:
        waits = self._is_first or self._promised
        if not waits and all(m.join is not None for m in self.group.members.values()):
            self._complete(self._round)

    def _complete(self, this: int) -> None:
        group = self.group
        if this != self._round or group.state != "preparing":
            return
        for member in list(group.members.values()):
            if member.join is None:
                # A static one keeps its place, but is of no generation any more.
                if member.instance is None:
                    del group.members[member.id]
                self._removed(member, "it did not join in time")
        here = [m.id for m in group.members.values() if m.join is not None]
        if group.members and not here:
            # Static members alone, until their sessions end.
            self.time.after(self._patience_s or 1.0, lambda: self._complete(this))
            return
        self._round += 1
        self._is_first = False
        group.generation += 1
        if not group.members:
            group.state, group.leader, group.protocol = "empty", "", ""
            self.written = group.kept()
            return
        group.state = "completing"
        if group.leader not in here:
            group.leader = here[0]
        group.unsynced = set(group.members)
        for member in list(group.members.values()):
            join, member.join = member.join, None
            self._rest(member)
            if join is not None:
                join(joined(self.group, member))
        round_ = self._round
        self.time.after(self._patience_s, lambda: self._end_unsynced(round_))

    def _end_unsynced(self, this: int) -> None:
        group = self.group
        if this != self._round or not group.unsynced:
            return
        for name in sorted(group.unsynced & group.members.keys()):
            self._remove(group.members[name], "it did not ask for its share in time")

    def _rest(self, member: GroupMember) -> None:
        """Restart its session. A member that waits for our answer does not count as dead."""
        member.turn += 1
        this, group = member.turn, self.group

        def end() -> None:
            is_here = self.group is group and group.members.get(member.id) is member
            if not is_here or member.turn != this:
                return
            if member.join is None and member.sync is None:
                self._remove(member, "its session has ended")

        self.time.after(member.session_s, end)

    def _remove(self, member: GroupMember, why: str) -> None:
        group = self.group
        del group.members[member.id]
        group.unsynced.discard(member.id)
        if group.leader == member.id:
            group.leader = next(iter(group.members), "")
        self._drop(member, codes.UNKNOWN_MEMBER_ID)
        self._removed(member, why)
        self._rebalance()

    def _drop(self, member: GroupMember, code: int) -> None:
        """Whatever it waits for ends."""
        join, member.join = member.join, None
        sync, member.sync = member.sync, None
        if join is not None:
            join(not_joined(code, member.id))
        if sync is not None:
            sync(synced(code))

    def _complete_if_waiting(self) -> None:
        if self.group.state == "preparing":
            self._complete_if_all_are_here()

    def _joining(self, member: GroupMember, reply: Reply) -> Reply:
        client = member.client

        def told(response: Any) -> None:
            self._told(client, "join", response.error_code)
            reply(response)

        return told

    def _told(self, client: int, kind: str, code: int) -> None:
        if self.looker is not None:
            self.looker.answered(client, kind, code)

    def _removed(self, member: GroupMember, why: str) -> None:
        if self.looker is not None:
            self.looker.removed(member, why)
