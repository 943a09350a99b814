"""Members, a registry, channels and a coordinator as values, for tests of the core alone.

Everything that takes time in the world (watches, reads, commands, answers) lies in a list until the
test lets it happen, in any order that ZooKeeper allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules import decisions as core
from pyspark_zkgroup.protocols.coordinator.rules.command_json import (
    decode_answer,
    decode_command,
    encode,
)
from pyspark_zkgroup.protocols.coordinator.rules.commands import Start, Started, Stop, Stopped
from pyspark_zkgroup.protocols.coordinator.rules.decisions import (
    Answered,
    Event,
    GroupsSeen,
    MembersChanged,
    TopicsSeen,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import GroupRead, Member


@dataclass
class Seat:
    """One registered member: its channel, and what it reads, with the thread of each."""

    member: Member
    channel: list[bytes] = field(default_factory=list)
    reading: dict[TopicPartition, int] = field(default_factory=dict)
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    newest: Generation = field(default_factory=lambda: Generation(0))


class World:
    def __init__(self) -> None:
        self.clock = 0
        self.topics: dict[str, tuple[int, ...]] = {}
        self.groups: dict[str, dict[str, Seat]] = {}
        self.watches: list[Event] = []
        self.reads: list[GroupRead] = []
        self.answers: list[tuple[str, str, bytes]] = []
        self.offsets: dict[tuple[str, TopicPartition], int] = {}
        self.stops = self.starts = 0
        self.coordinator = core.elected(0)
        self.elect()

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    # -- what happens to the world

    def elect(self) -> None:
        """The last coordinator is dead: what it was reading is lost, what it told is not."""
        self.coordinator = core.elected(self.tick())
        self.watches, self.reads = [], []
        self.feed(TopicsSeen(dict(self.topics)))
        self.feed(GroupsSeen(frozenset(self.groups)))

    def set_topic(self, topic: str, partitions: int) -> None:
        if partitions:
            self.topics[topic] = tuple(range(partitions))
        else:
            self.topics.pop(topic, None)
        self.watches.append(TopicsSeen({}))

    def join(self, group: str, consumer: str, subscription: Subscription) -> None:
        """Join, or come back before its absence was noticed."""
        self.groups.setdefault(group, {})[consumer] = Seat(Member(self.tick(), subscription))
        self.watches += [GroupsSeen(frozenset()), MembersChanged(group)]

    def die(self, group: str, consumer: str) -> None:
        if self.groups.get(group, {}).pop(consumer, None) is not None:
            self.watches.append(MembersChanged(group))

    # -- what the coordinator's shell does

    def feed(self, event: Event) -> None:
        self.coordinator, group, commands = core.step(self.coordinator, event)
        for consumer, command in commands:
            seat = self.groups.get(group, {}).get(consumer)
            self.stops += isinstance(command, Stop)
            self.starts += isinstance(command, Start)
            if seat is not None:
                seat.channel.append(encode(command))

    def notice(self, index: int) -> None:
        """A watch's event arrives; what it stands for is read now."""
        event = self.watches.pop(index % len(self.watches))
        if isinstance(event, TopicsSeen):
            event = TopicsSeen(dict(self.topics))
        elif isinstance(event, GroupsSeen):
            event = GroupsSeen(frozenset(self.groups))
        self.feed(event)

    def take(self) -> bool:
        self.coordinator, group = core.take(self.coordinator)
        if group is None:
            return False
        seats = self.groups.get(group, {})
        owned: dict[TopicPartition, ThreadId] = {}
        for consumer, seat in seats.items():
            shares = [dict(seat.reading)]
            for data in seat.channel:
                command = decode_command("channel", data)
                if isinstance(command, Start) and command.life == seat.member.life:
                    shares.append({p: a.thread for p, a in command.share.items()})
            owned |= {p: ThreadId(consumer, n) for share in shares for p, n in share.items()}
        self.reads.append(GroupRead(group, {c: s.member for c, s in seats.items()}, owned))
        return True

    def bring_back(self, index: int) -> None:
        self.feed(self.reads.pop(index % len(self.reads)))

    def hear(self, index: int) -> None:
        group, consumer, data = self.answers.pop(index % len(self.answers))
        self.feed(Answered(group, consumer, decode_answer("answers", data)))

    # -- what a member does

    def boundary(self, group: str, consumer: str) -> None:
        """All commands in their order; each is done at once. Nothing may be started that another
        live member reads.
        """
        seat = self.groups.get(group, {}).get(consumer)
        if seat is None:
            return
        channel, seat.channel = seat.channel, []
        for data in channel:
            command = decode_command("channel", data)
            if command.life != seat.member.life or command.generation < seat.newest:
                continue
            seat.newest = command.generation
            if isinstance(command, Stop):
                offsets = {p: self.offsets.get((group, p), 0) for p in command.partitions}
                for partition in command.partitions:
                    seat.reading.pop(partition, None)
                answer: Stopped | Started = Stopped(command.generation, command.life, offsets)
            else:
                assert isinstance(command, Start)
                self._start(group, consumer, seat, command)
                answer = Started(command.generation, command.life)
            self.answers.append((group, consumer, encode(answer)))
        for partition in seat.reading:
            self.offsets[group, partition] = self.offsets.get((group, partition), 0) + 1

    def _start(self, group: str, consumer: str, seat: Seat, start: Start) -> None:
        for other, beside in self.groups[group].items():
            both = start.share.keys() & beside.reading.keys()
            assert other == consumer or not both, f"{consumer} has {both}, {other} reads them"
        for partition, assigned in start.share.items():
            if assigned.offset is not None and partition not in seat.reading:
                assert assigned.offset <= self.offsets.get((group, partition), 0)
        seat.reading = {p: assigned.thread for p, assigned in start.share.items()}
        seat.topics = start.topics

    def readers(self, group: str) -> dict[TopicPartition, list[str]]:
        found: dict[TopicPartition, list[str]] = {}
        for consumer, seat in self.groups.get(group, {}).items():
            for partition in seat.reading:
                found.setdefault(partition, []).append(consumer)
        return found

    def settle(self, *frozen: str) -> None:
        """Let everything happen; `frozen` members reach no boundary any more."""
        for _ in range(1000):
            busy = False
            while self.watches:
                busy = True
                self.notice(0)
            while self.take():
                busy = True
            while self.reads:
                busy = True
                self.bring_back(0)
            for group, seats in self.groups.items():
                for consumer in seats:
                    if consumer not in frozen and seats[consumer].channel:
                        busy = True
                        self.boundary(group, consumer)
            while self.answers:
                busy = True
                self.hear(0)
            if not busy:
                return
        raise AssertionError("the group never settles")
