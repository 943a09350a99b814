"""The interface through which a coordinator's term of office serves members without ZooKeeper.

The light protocol implements it. A coordinator that does not listen still keeps, and ends, the
sessions of members that other coordinators have admitted.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from typing import Protocol

from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.coordinator.rules.decisions import Answered
from pyspark_zkgroup.zk.port import NodeStore

ANSWERS = "light members"
"""The path of the event that a member has answered."""


class Desk(Protocol):
    whereabouts: Callable[[], Candidacy | None]
    answers: queue.SimpleQueue[Answered]

    def begin(self, store: NodeStore, epoch: int, wake: Callable[[], None]) -> None:
        """Begin a term of office; call `wake` when there is an answer."""

    def end(self) -> None: ...

    def note(self, group: str, registered: Mapping[str, tuple[int, float]]) -> None:
        """Note the light members in the group's registry: life and timeout of each."""

    def tell(self, group: str, consumer: str, command: Command) -> bool:
        """Send a command. False if the member is not served here."""

    def due_in_s(self) -> float: ...

    def expire(self) -> bool:
        """End the sessions that are over; False if there is none."""
