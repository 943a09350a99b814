"""The commands that a member has obeyed in its present life, and its answers to them."""

from __future__ import annotations

from collections.abc import Collection

from pyspark_zkgroup.model import TopicPartition
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
from pyspark_zkgroup.protocols.owned.holdings import Holdings


class Orders:
    """`start` is the newest one obeyed in this life; `share` is what the stops have left of it."""

    def __init__(self) -> None:
        self.life = 0
        self.start: Start | None = None
        self.share: dict[TopicPartition, int] = {}
        self.newest = Generation(0)

    def live(self, life: int) -> bool:
        """Return whether that is another life: commands to an earlier one do not apply to it."""
        is_new = life != self.life
        if is_new:
            self.life = life
            self.start, self.share = None, {}
            self.newest = Generation(0)
        return is_new

    def obey(self, command: Command) -> None:
        if command.life == self.life and command.generation >= self.newest:
            self.newest = command.generation
            self.apply(command)

    def apply(self, command: Command) -> None:
        if isinstance(command, Start):
            self.start = command
            self.share = {p: assigned.thread for p, assigned in command.share.items()}
        elif isinstance(command, Stop):
            self.share = {p: n for p, n in self.share.items() if p not in command.partitions}

    def answer_to(self, command: Command, holdings: Holdings) -> Answer | None:
        """Answer. A stop is done when nothing of it is held, or may be held, any more."""
        generation, life = command.generation, command.life
        if isinstance(command, Start):
            return Started(generation, life)
        if not isinstance(command, Stop):
            return Holding(generation, life, _positions(holdings, holdings.held))
        busy = holdings.held.keys() | holdings.doubtful
        if command.partitions & busy:
            # The stop is of an earlier epoch, and this epoch has started the partitions again: no
            # coordinator waits for its answer.
            if generation.epoch == self.newest.epoch:
                return None
            return Stopped(generation, life)
        return Stopped(generation, life, _positions(holdings, command.partitions))


def _positions(
    holdings: Holdings, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    known = {p: holdings.position_of(p) for p in partitions}
    return {p: position for p, position in known.items() if position is not None}
