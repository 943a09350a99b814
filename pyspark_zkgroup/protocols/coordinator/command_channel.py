"""The member's end of its command channel: what it was told, and what it has answered.

A command is taken away and its answer put in place in one transaction: as long as the member lives
exactly one of the two is there, so neither is lost, and a coordinator that is elected in between
finds one or the other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.ops import Create, Delete, Done, InDoubt, Refused
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_command, encode
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Answer,
    Command,
    Holding,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.zk.port import DisconnectedError

_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(frozen=True, slots=True)
class CommandRead:
    """A command that stands in the channel, under its number."""

    number: str
    command: Command


class CommandChannel:
    """`start`: the newest one obeyed in this life. `share`: what is left of it after the stops."""

    def __init__(self, paths: CoordinatedPaths) -> None:
        self.paths = paths
        self.life = 0
        self.start: Start | None = None
        self.share: dict[TopicPartition, int] = {}
        self._newest = Generation(0)
        self._standing: list[CommandRead] = []
        self._numbers: list[str] = []
        self._answered = False

    def prepare(self, context: MemberContext) -> None:
        """Before the registration, so that a coordinator finds the channel of whom it finds."""
        context.store.ensure(
            [self.paths.channel(context.consumer), self.paths.answers], world_open=True
        )

    def begin(self, context: MemberContext) -> None:
        """A new registration is another life: what an earlier one was told is nothing to it."""
        (node,) = context.store.stats([self.paths.id(context.consumer)])
        self.live(0 if node is None else node.node.czxid)

    def live(self, life: int) -> None:
        if life != self.life:
            self._live(life)

    def _live(self, life: int) -> None:
        self.life = life
        self.start, self.share = None, {}
        self._newest = Generation(0)
        self._standing = []
        self._answered = False

    def listen(self, context: MemberContext) -> bool:
        """Which commands there are, and a watch for more. False where the channel is removed as
        often as it is made: then nothing is watched, and another look must follow by itself.
        """
        path = self.paths.channel(context.consumer)
        (listed,) = context.store.children([path], watch=True)
        if listed is None:
            # A coordinator has taken us for gone.
            self.prepare(context)
            (listed,) = context.store.children([path], watch=True)
            self._answered = False
        self._numbers = sorted(listed.names) if listed else []
        return listed is not None

    @property
    def echo(self) -> bool:
        """Nothing has come: the look is owed to our own last answer, which took a command away."""
        return self._answered and not self._numbers

    def obey(self, context: MemberContext) -> None:
        """Read them, and make them the share. Nothing is released or claimed here."""
        self._answered = False
        paths = [self.paths.command(context.consumer, number) for number in self._numbers]
        self._standing = []
        for number, at, node in zip(self._numbers, paths, context.store.nodes(paths), strict=True):
            if node is None:
                continue
            try:
                command = decode_command(at, node.data)
            except BadZnodeError as error:
                _log.warning("%s", error)
                continue
            self._standing.append(CommandRead(number, command))
            if command.life == self.life and command.generation >= self._newest:
                self._newest = command.generation
                self._apply(command)

    def _apply(self, command: Command) -> None:
        if isinstance(command, Start):
            self.start = command
            self.share = {p: assigned.thread for p, assigned in command.share.items()}
        elif isinstance(command, Stop):
            self.share = {p: n for p, n in self.share.items() if p not in command.partitions}

    def answer(self, context: MemberContext) -> None:
        """What is done by now. A stop is, when nothing of it is held, or may be, any more."""
        requests = []
        for read in self._standing:
            path = self.paths.command(context.consumer, read.number)
            if read.command.life != self.life:
                requests.append((Delete(path, 0),))
                continue
            answer = self._answer_to(context, read.command)
            if answer is not None:
                node = self.paths.answer(context.consumer, read.number)
                create = Create(node, encode(answer), ephemeral=True, world_open=True)
                requests.append((Delete(path, 0), create))  # type: ignore[arg-type]
        outcomes = context.store.commit(requests)
        self._answered = bool(outcomes) and all(isinstance(o, Done) for o in outcomes)
        for outcome in outcomes:
            if isinstance(outcome, InDoubt):
                raise DisconnectedError("an answer to a command was not answered")
            if isinstance(outcome, Refused) and outcome.reason != "missing":
                _log.warning("[ZKG-159] an answer to a command was refused: %s", outcome)

    def _answer_to(self, context: MemberContext, command: Command) -> Answer | None:
        generation, life = command.generation, command.life
        if isinstance(command, Start):
            return Started(generation, life)
        if not isinstance(command, Stop):
            return Holding(
                generation, life, _positions(context, dict.fromkeys(context.holdings.held))
            )
        busy = context.holdings.held.keys() | context.holdings.doubtful
        if command.partitions & busy:
            # Of an earlier epoch, and started again in this one: nobody waits for its answer.
            if generation.epoch == self._newest.epoch:
                return None
            return Stopped(generation, life)
        return Stopped(generation, life, _positions(context, dict.fromkeys(command.partitions)))


def _positions(
    context: MemberContext, partitions: Mapping[TopicPartition, None]
) -> dict[TopicPartition, int]:
    known = {p: context.holdings.position_of(p) for p in partitions}
    return {p: position for p, position in known.items() if position is not None}
