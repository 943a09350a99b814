"""A light member's end of its command channel: commands and answers are on the stream."""

from __future__ import annotations

from typing import cast

from pyspark_zkgroup.protocols.coordinator.orders import Orders
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.light.rules.messages import Told
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.owned.member_context import MemberContext


class StreamChannel:
    """Commands that are not answered come again on the next stream."""

    echo = False

    def __init__(self) -> None:
        self.orders = Orders()
        self._standing: list[Command] = []

    def prepare(self, context: MemberContext) -> None:
        """There is no node to make."""

    def begin(self, context: MemberContext) -> None:
        self.live(context.session)

    def live(self, life: int) -> None:
        if self.orders.live(life):
            self._standing = []

    def listen(self, _context: MemberContext) -> bool:
        """Commands arrive without a look."""
        return True

    def obey(self, context: MemberContext) -> None:
        commands = session_of(context).commands
        while not commands.empty():
            command = commands.get()
            if command not in self._standing:
                self._standing.append(command)
            self.orders.obey(command)

    def answer(self, context: MemberContext) -> None:
        """Answer. If the answer is lost with the stream, the next command asks for it again, or the
        same one does.
        """
        left: list[Command] = []
        for command in self._standing:
            if command.life != self.orders.life:
                continue
            answer = self.orders.answer_to(command, context.holdings)
            if answer is None:
                left.append(command)
            else:
                session_of(context).say(Told(answer))
        self._standing = left


def session_of(context: MemberContext) -> LightSession:
    return cast(LightSession, context.store.session)
