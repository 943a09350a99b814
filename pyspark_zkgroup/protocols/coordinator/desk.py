"""Where members without ZooKeeper are served, as a coordinator's term of office sees that place.

The light protocol has one. A coordinator that does not listen still keeps, and ends, the sessions
of members that others have let in.
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
        """A term of office; `wake` is called when there is an answer."""

    def end(self) -> None: ...

    def note(self, group: str, registered: Mapping[str, tuple[int, float]]) -> None:
        """What the group's registry shows of such members: life and timeout of each."""

    def tell(self, group: str, consumer: str, command: Command) -> bool:
        """False where the member is not served here."""

    def due_in_s(self) -> float: ...

    def expire(self) -> bool:
        """End the sessions that are over; False if none is."""
