"""The member's end of its command channel: its commands and its answers.

One transaction deletes a command and writes its answer. As long as the member lives, exactly one of
the two exists, so neither is lost, and a newly elected coordinator finds one or the other.
"""

from __future__ import annotations

import logging
from typing import Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.ops import Create, Delete, Done, InDoubt, Refused, Transaction
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.protocols.coordinator.orders import Orders
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_command, encode
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.zk.port import DisconnectedError

_log = logging.getLogger("pyspark_zkgroup.group")


class Channel(Protocol):
    """`echo`: no command has come; the look is due to our own last answer."""

    orders: Orders

    @property
    def echo(self) -> bool: ...

    def prepare(self, context: MemberContext) -> None:
        """Make the channel before the registration, so it exists for each registered member."""

    def begin(self, context: MemberContext) -> None:
        """Note the registration: a new one is another life."""

    def live(self, life: int) -> None: ...

    def listen(self, context: MemberContext) -> bool:
        """List the commands. False if another look must follow without an event."""

    def obey(self, context: MemberContext) -> None:
        """Read the commands, and make them the share. Nothing is released or claimed here."""

    def answer(self, context: MemberContext) -> None:
        """Answer what is done by now."""


class CommandChannel:
    """The channel in nodes of ZooKeeper."""

    def __init__(self, paths: CoordinatedPaths) -> None:
        self.paths = paths
        self.orders = Orders()
        self._standing: list[tuple[str, Command]] = []
        self._numbers: list[str] = []
        self._answered = False

    def prepare(self, context: MemberContext) -> None:
        channel = self.paths.channel(context.consumer)
        context.store.ensure([channel, self.paths.answers], world_open=True)

    def begin(self, context: MemberContext) -> None:
        (node,) = context.store.stats([self.paths.id(context.consumer)])
        self.live(0 if node is None else node.node.czxid)

    def live(self, life: int) -> None:
        if self.orders.live(life):
            self._standing = []
            self._answered = False

    def listen(self, context: MemberContext) -> bool:
        """Arm a watch for more commands, unless the channel is removed as often as it is made."""
        path = self.paths.channel(context.consumer)
        (listed,) = context.store.children([path], watch=True)
        if listed is None:
            # A coordinator has removed the channel, as if we were gone.
            self.prepare(context)
            (listed,) = context.store.children([path], watch=True)
            self._answered = False
        self._numbers = sorted(listed.names) if listed else []
        return listed is not None

    @property
    def echo(self) -> bool:
        """Return whether our own answer has deleted a command."""
        return self._answered and not self._numbers

    def obey(self, context: MemberContext) -> None:
        self._answered = False
        paths = [self.paths.command(context.consumer, number) for number in self._numbers]
        self._standing = []
        nodes = context.store.nodes(paths)
        for number, at, node in zip(self._numbers, paths, nodes, strict=True):
            if node is None:
                continue
            try:
                command = decode_command(at, node.data)
            except BadZnodeError as error:
                _log.warning("%s", error)
                continue
            self._standing.append((number, command))
            self.orders.obey(command)

    def answer(self, context: MemberContext) -> None:
        requests: list[Transaction] = []
        for number, command in self._standing:
            path = self.paths.command(context.consumer, number)
            if command.life != self.orders.life:
                requests.append((Delete(path, 0),))
                continue
            answer = self.orders.answer_to(command, context.holdings)
            if answer is not None:
                node = self.paths.answer(context.consumer, number)
                create = Create(node, encode(answer), ephemeral=True, world_open=True)
                requests.append((Delete(path, 0), create))
        outcomes = context.store.commit(requests)
        self._answered = bool(outcomes) and all(isinstance(o, Done) for o in outcomes)
        for outcome in outcomes:
            if isinstance(outcome, InDoubt):
                raise DisconnectedError("an answer to a command was not answered")
            if isinstance(outcome, Refused) and outcome.reason != "missing":
                _log.warning(catalogue.warning("ZKG-159", outcome=outcome))
