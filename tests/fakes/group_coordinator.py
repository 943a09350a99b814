"""A broker's group coordinator without a broker: one group of the classic protocol.

States and answers are those of Kafka's: a join waits for all members, or for the longest rebalance
timeout among them; a sync waits for the leader; commits name a generation. What the coordinator
writes to `__consumer_offsets` outlives it, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.group.noted_requests import is_requests_group
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_group import GroupMember, Place, Reply, Stored
from tests.fakes.group_answers import (
    fetched,
    joined,
    not_joined,
    refused,
    synced,
)
from tests.fakes.group_commits import GroupCommits
from tests.fakes.group_refusals import Refusals, answered_with, word_of
from tests.fakes.group_rounds import GroupRounds
from tests.fakes.kafka import FakeKafka
from tests.fakes.noted_group import NotedGroup
from tests.fakes.zookeeper import Time


class FakeGroupCoordinator(GroupRounds):
    def __init__(self, time: Time, kafka: FakeKafka, *, first_join_s: float) -> None:
        super().__init__(time, first_join_s)
        self.place = Place()
        self.offsets: dict[TopicPartition, Stored] = {}
        self.noted = NotedGroup()
        self.late = False
        """The request was sent long ago: no client waits for its answer."""
        self.refusals = Refusals()
        self._commits = GroupCommits(
            self.refusals, kafka, of_member=self._of_member, put=self._put, told=self._told
        )
        self._names = 0
        self._handlers: dict[str, Callable[[int, Any, Reply], None]] = {
            "JoinGroupRequest": self._join,
            "SyncGroupRequest": self._sync,
            "HeartbeatRequest": self._heartbeat,
            "LeaveGroupRequest": self._leave,
            "OffsetFetchRequest": self._fetch,
        }

    # -- from outside

    @property
    def away(self) -> bool:
        return self.time.now < self.place.away_until

    def find(self, client: int) -> Any:
        code = codes.COORDINATOR_NOT_AVAILABLE if self.away else codes.NONE
        if client in self.refusals.groups:
            code = codes.GROUP_AUTHORIZATION_FAILED
            self._told(client, "find", code)
        return SimpleNamespace(error_code=code, node_id=-1 if code else self.place.node)

    def ask(self, client: int, node: int, request: Any, reply: Reply) -> None:
        """At once, or, for a join and a sync, when others have done their part."""
        kind, word = type(request).__name__, word_of(request)
        # What is asked of members concerns no answer that a test has prepared.
        is_noted = is_requests_group(request.group_id)
        odd = None if is_noted else self.refusals.take(client, word)
        code = codes.NONE
        if client in self.refusals.groups:
            code = codes.GROUP_AUTHORIZATION_FAILED
        elif node != self.place.node:
            code = codes.NOT_COORDINATOR
        elif self.time.now < self.place.loading_until:
            code = codes.COORDINATOR_LOAD_IN_PROGRESS
        elif odd is not None and not odd.executed and word != "commit":
            code = odd.code
        if code and (word != "commit" or code == codes.GROUP_AUTHORIZATION_FAILED):
            self._told(client, word, code)
            reply(refused(kind, request, code))
        elif is_noted:
            reply(self.noted.answer(word, request, self.refusals.denied(client)))
        elif word == "commit":
            reply(self._commits.answer(client, request, refused=code, odd=odd))
        elif odd is not None:
            self._told(client, f"executed {word}", odd.code)
            self._handlers[kind](client, request, answered_with(odd, request, reply))
        else:
            self._handlers[kind](client, request, reply)

    def move(self, *, away_s: float, loading_s: float) -> None:
        """Another broker has it, when it is back: only what is written."""
        group, self.group = self.group, self.written.kept()
        self.place = self.place.moved(self.time.now, away_s=away_s, loading_s=loading_s)
        self._round += 1
        self._promised.clear()
        for member in group.members.values():
            self._drop(member, codes.NOT_COORDINATOR)

        def load() -> None:
            for member in self.group.members.values():
                self._rest(member)

        # No member's time runs before.
        self.time.after(away_s + loading_s, load)
        if self.looker is not None:
            self.looker.loaded(self.group)

    def set_offset(self, partition: TopicPartition, offset: int) -> None:
        """Set an offset by a tool, which is possible while the group has no members."""
        if self.group.members:
            raise ValueError(f"the group has members: {sorted(self.group.members)}")
        self._put(0, partition, Stored(offset, ""))

    # -- joining

    def _join(self, client: int, request: Any, reply: Reply) -> None:
        group, instance, name = self.group, request.group_instance_id, request.member_id
        (offered,) = request.protocols
        if group.members and group.protocol not in ("", offered.name):
            self._answer_join(client, codes.INCONSISTENT_GROUP_PROTOCOL, name, reply)
            return
        statics = group.statics
        if not name and instance is None:
            name = self._name()
            self._promise(name, client, request.session_timeout_ms / 1000.0)
            self._answer_join(client, codes.MEMBER_ID_REQUIRED, name, reply)
        elif not name and instance in statics:
            self._replace(group.members[statics[instance]], client, request, reply)
        elif not name or name in self._promised:
            self._promised.pop(name, None)
            member = GroupMember.of(name or self._name(), client, request)
            group.members[member.id] = member
            group.protocol = offered.name
            member.join = self._joining(member, reply)
            self._rebalance()
        elif (code := self.group.known(name, instance)) != codes.NONE:
            self._answer_join(client, code, name, reply)
        else:
            self._join_again(group.members[name], client, request, reply)

    def _join_again(self, member: GroupMember, client: int, request: Any, reply: Reply) -> None:
        """A client that repeats a join has perhaps not received the answer, and gets it again."""
        group, subscription = self.group, bytes(request.protocols[0].metadata)
        same = subscription == member.subscription
        leads = group.leader == member.id
        if same and (group.state == "completing" or (group.state == "stable" and not leads)):
            member.client = client
            self._joining(member, reply)(joined(self.group, member))
            return
        member.update(client, request)
        member.join = self._joining(member, reply)
        self._rebalance()

    def _replace(self, old: GroupMember, client: int, request: Any, reply: Reply) -> None:
        """A static member is back: it gets another id, and the id of its predecessor is invalid."""
        group = self.group
        del group.members[old.id]
        self._removed(old, "fenced")
        self._drop(old, codes.FENCED_INSTANCE_ID)
        new = GroupMember.of(self._name(), client, request)
        new.assignment = old.assignment
        group.members[new.id] = new
        group.unsynced.discard(old.id)
        if group.leader == old.id:
            group.leader = new.id
        if group.state == "stable":
            self._rest(new)
            self.written = group.kept()
            self._joining(new, reply)(joined(self.group, new, skip=group.leader == new.id))
        else:
            new.join = self._joining(new, reply)
            self._rebalance()

    # -- the rest of a member's life

    def _sync(self, client: int, request: Any, reply: Reply) -> None:
        group = self.group
        code = self.group.standing(
            request.member_id, request.group_instance_id, request.generation_id
        )
        if code == codes.NONE and group.state == "preparing":
            code = codes.REBALANCE_IN_PROGRESS
        if code != codes.NONE:
            self._told(client, "sync", code)
            reply(synced(code))
            return
        member = group.members[request.member_id]

        def told(response: Any) -> None:
            self._told(client, "sync", response.error_code)
            reply(response)

        group.unsynced.discard(member.id)
        if group.state == "stable":
            self._rest(member)
            told(synced(codes.NONE, member.assignment))
            return
        member.sync = told
        if member.id != group.leader:
            return
        shares = {a.member_id: bytes(a.assignment) for a in request.assignments}
        group.state = "stable"
        for each in group.members.values():
            each.assignment = shares.get(each.id, b"")
        self.written = group.kept()
        for each in list(group.members.values()):
            if each.sync is not None:
                sync, each.sync = each.sync, None
                self._rest(each)
                sync(synced(codes.NONE, each.assignment))

    def _heartbeat(self, client: int, request: Any, reply: Reply) -> None:
        code = self.group.standing(
            request.member_id, request.group_instance_id, request.generation_id
        )
        if code == codes.NONE:
            self._rest(self.group.members[request.member_id])
            if self.group.state == "preparing":
                code = codes.REBALANCE_IN_PROGRESS
        self._told(client, "heartbeat", code)
        reply(SimpleNamespace(error_code=code))

    def _leave(self, client: int, request: Any, reply: Reply) -> None:
        (one,) = request.members
        code = self.group.known(one.member_id, one.group_instance_id)
        if one.member_id in self._promised:
            del self._promised[one.member_id]
            self._complete_if_waiting()
        elif code == codes.NONE:
            self._remove(self.group.members[one.member_id], "left")
        self._told(client, "leave", code)
        reply(SimpleNamespace(error_code=code))

    def _of_member(self, request: Any) -> int:
        group, generation = self.group, request.generation_id_or_member_epoch
        # A tool, which may commit while the group has no members.
        if generation < 0 and group.state == "empty":
            return codes.NONE
        code = self.group.standing(request.member_id, request.group_instance_id, generation)
        if code == codes.NONE:
            self._rest(group.members[request.member_id])
            if group.state == "completing":
                code = codes.REBALANCE_IN_PROGRESS
        return code

    def _fetch(self, client: int, request: Any, reply: Reply) -> None:
        denied = self.refusals.denied(client)
        if any(topic.name in denied for topic in request.topics):
            self._told(client, "fetch", codes.TOPIC_AUTHORIZATION_FAILED)
        reply(fetched(request, self.offsets, denied))

    # -- what all of them do

    def _put(self, client: int, partition: TopicPartition, after: Stored) -> None:
        before = self.offsets.get(partition)
        self.offsets[partition] = after
        if self.looker is not None:
            self.looker.committed(client, partition, before, after)

    def _name(self) -> str:
        self._names += 1
        return f"m{self._names}"

    def _promise(self, name: str, client: int, session_s: float) -> None:
        self._promised[name] = client

        def end() -> None:
            if self._promised.pop(name, None) is not None:
                self._complete_if_waiting()

        self.time.after(session_s, end)

    def _answer_join(self, client: int, code: int, name: str, reply: Reply) -> None:
        self._told(client, "join", code)
        reply(not_joined(code, name))
