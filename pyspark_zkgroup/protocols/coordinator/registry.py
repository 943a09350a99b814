"""Groups as their registries show them. Watches are armed before what they watch is read."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.ops import Delete
from pyspark_zkgroup.group.ownership import thread_of
from pyspark_zkgroup.group.paths import COORDINATED, CoordinatedPaths
from pyspark_zkgroup.group.snapshot import read_registrations
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_answer, decode_command
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Start
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import GroupRead, Member
from pyspark_zkgroup.zk.port import Children, Node, NodeStore, partitions_below

_ANY_VERSION = -1
# The timeout for owner nodes whose member's registration, which would name it, is gone.
_LEFT_TIMEOUT_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.coordinator")


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """`answer` is None if the node has none."""

    path: str
    consumer: str
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Registered:
    """A registry as it was listed, and those of its registrations that could be read."""

    listed: Children
    nodes: Mapping[str, Node]


class Registry:
    """Reads groups. `members_of` and `answers_of` map each watched path to its group.

    Of the group that was read last, `light` has the lives and timeouts of the light members, and
    `left` those whose owner nodes exist without their registration.
    """

    def __init__(self, store: NodeStore) -> None:
        self.store = store
        self.members_of: dict[str, str] = {}
        self.answers_of: dict[str, str] = {}
        self.light: dict[str, tuple[int, float]] = {}
        self.left: dict[str, tuple[int, float]] = {}
        self._said: set[str] = set()
        self._known: dict[str, Registered] = {}

    def groups(self) -> frozenset[str]:
        (listed,) = self._watched([COORDINATED])
        return frozenset(filter(_is_group, listed.names)) if listed else frozenset()

    def read(self, group: str, *, first: bool) -> GroupRead:
        """Read a group. `first`: also read the owners and the starts that are not obeyed yet.

        The starts come first: one that is obeyed between the two reads has made its node by then.
        """
        paths = CoordinatedPaths(group)
        self.members_of[paths.ids] = self.members_of[paths.other_ids] = group
        ids, others = self._watched([paths.ids, paths.other_ids])
        members = self._members(paths, ids)
        (channels,) = self.store.children([paths.channels])
        known = channels.names if channels else frozenset()
        self._clean(paths, known - (ids.names if ids else frozenset()))
        owned: dict[TopicPartition, ThreadId] = {}
        if first:
            owned = self._told(paths, members, known)
            owned.update(self._owned(paths))
        return GroupRead(group, members, owned, tuple(sorted(others.names)) if others else ())

    def answers(self, group: str) -> list[AnswerRead]:
        paths = CoordinatedPaths(group)
        self.answers_of[paths.answers] = group
        (listed,) = self._watched([paths.answers])
        names = sorted(listed.names) if listed else []
        nodes = [f"{paths.answers}/{name}" for name in names]
        found: list[AnswerRead] = []
        for name, path, node in zip(names, nodes, self.store.nodes(nodes), strict=True):
            if node is None:
                continue
            answer: Answer | None = None
            try:
                answer = decode_answer(path, node.data)
            except BadZnodeError as error:
                _log.warning("%s", error)
            found.append(AnswerRead(path, name.rpartition("-")[0], answer))
        return found

    def take_away(self, answers: Collection[AnswerRead]) -> None:
        """Delete the answers. Those that are gone already went with their member's session."""
        self.store.commit([(Delete(answer.path, _ANY_VERSION),) for answer in answers])

    def _watched(self, paths: Sequence[str]) -> list[Children | None]:
        """List nodes with watches. For a missing node the watch waits for its creation."""
        listed = self.store.children(paths, watch=True)
        missing = [p for p, found in zip(paths, listed, strict=True) if found is None]
        made = self.store.stats(missing, watch=True) if missing else []
        if any(node is not None for node in made):
            return self._watched(paths)
        return listed

    def _members(self, paths: CoordinatedPaths, ids: Children | None) -> dict[str, Member]:
        """Return the members, and read only registrations that are new or may be new.

        A registration does not change while it exists.
        """
        before = self._known.pop(paths.group, None)
        same = surely_the_same(before.listed, ids) if before and ids else frozenset[str]()
        known = {c: n for c, n in before.nodes.items() if c in same} if before else {}
        others = sorted(ids.names - known.keys()) if ids else []
        nodes = self.store.nodes([paths.id(c) for c in others])
        found = {c: n for c, n in zip(others, nodes, strict=True) if n is not None}
        present = dict(sorted({**known, **found}.items()))
        read, skipped = read_registrations(paths.id, {c: n.data for c, n in present.items()})
        if ids is not None:
            self._known[paths.group] = Registered(ids, {c: present[c] for c in read})
        for consumer, reason in skipped.items():
            if consumer not in self._said:
                self._said.add(consumer)
                _log.warning(catalogue.warning("ZKG-154", member=consumer, reason=reason))
        self.light = {
            consumer: (present[consumer].node.czxid, registration.light.timeout_ms / 1000.0)
            for consumer, registration in read.items()
            if registration.light is not None and not present[consumer].ephemeral_owner
        }
        self.left = {}
        return {
            consumer: Member(
                present[consumer].node.czxid, registration.subscription, registration.internal
            )
            for consumer, registration in read.items()
        }

    def _clean(self, paths: CoordinatedPaths, gone: Collection[str]) -> None:
        """Delete the channels of members that are gone.

        A member that is about to register, and finds its channel deleted, makes it again.
        """
        if not gone:
            return
        channels = [paths.channel(consumer) for consumer in sorted(gone)]
        commands = [
            f"{channel}/{name}"
            for channel, listed in zip(channels, self.store.children(channels), strict=True)
            if listed is not None
            for name in listed.names
        ]
        self.store.commit([(Delete(path, _ANY_VERSION),) for path in commands])
        self.store.commit([(Delete(path, _ANY_VERSION),) for path in channels])

    def _told(
        self, paths: CoordinatedPaths, members: dict[str, Member], channels: Collection[str]
    ) -> dict[TopicPartition, ThreadId]:
        """Return the threads of starts that were not taken yet: they may be obeyed at any
        moment.
        """
        consumers = sorted(channels & members.keys())
        listed = self.store.children([paths.channel(c) for c in consumers])
        commands = [
            (c, paths.command(c, name))
            for c, found in zip(consumers, listed, strict=True)
            if found is not None
            for name in sorted(found.names)
        ]
        told: dict[TopicPartition, ThreadId] = {}
        nodes = self.store.nodes([path for _, path in commands])
        for (consumer, path), node in zip(commands, nodes, strict=True):
            if node is None:
                continue
            try:
                command = decode_command(path, node.data)
            except BadZnodeError as error:
                _log.warning("%s", error)
                continue
            if isinstance(command, Start) and command.life == members[consumer].life:
                told |= {p: ThreadId(consumer, a.thread) for p, a in command.share.items()}
        return told

    def _owned(self, paths: CoordinatedPaths) -> dict[TopicPartition, ThreadId]:
        (listed,) = self.store.children([paths.owners])
        topics = sorted(listed.names) if listed else []
        below = self.store.children([paths.owner_topic(t) for t in topics])
        partitions = sorted(partitions_below(topics, below))
        nodes = self.store.nodes([paths.owner(p) for p in partitions])
        owned: dict[TopicPartition, ThreadId] = {}
        for partition, node in zip(partitions, nodes, strict=True):
            thread = None if node is None else thread_of(node.data.decode("utf-8", "replace"))
            if node is None or thread is None:
                continue
            owned[partition] = thread
            life, timeout_s = self.light.get(thread.consumer, (0, _LEFT_TIMEOUT_S))
            is_light = not node.ephemeral_owner and node.node.version > 0
            if is_light and (not life or node.node.czxid < life):
                self.left[thread.consumer] = 0, timeout_s
        return owned


def surely_the_same(before: Children, now: Children) -> frozenset[str]:
    """Return the names below which the node is certainly the same as before.

    Servers count each child that comes or goes. A child that went and came back under its name
    counts twice, and no name shows it.
    """
    count = now.children_version - before.children_version
    if now.czxid != before.czxid or count != len(now.names ^ before.names):
        return frozenset()
    return now.names & before.names


def _is_group(name: str) -> bool:
    try:
        CoordinatedPaths(name)
    except ValueError:
        return False
    return True
