"""The sessions of light members as their coordinator keeps them: who lives until when.

ZooKeeper keeps no session for them: their nodes are persistent, and the coordinator deletes those
of a member it has not heard of for its timeout. One that was elected just now has heard nobody: it
gives each member that is registered its full timeout from the moment it first reads of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.protocols.light.rules.lease import counted_dead_at


@dataclass(frozen=True, order=True, slots=True)
class Life:
    """One registration: `number` is its node's czxid. 0: nodes of a member that has none."""

    group: str
    consumer: str
    number: int


@dataclass(frozen=True, slots=True)
class Heard:
    at: float
    timeout_s: float

    @property
    def dead_at(self) -> float:
        return counted_dead_at(self.at, self.timeout_s)


@dataclass(frozen=True, slots=True)
class Sessions:
    heard: Mapping[Life, Heard] = field(default_factory=dict)

    def life_of(self, group: str, consumer: str) -> int:
        """The newest; 0 where none is known."""
        return max(
            (
                life.number
                for life in self.heard
                if (life.group, life.consumer) == (group, consumer)
            ),
            default=0,
        )

    def following(self, life: Life) -> float:
        """The next life under its name: what was made later is not its own."""
        return min(
            (
                other.number
                for other in self.heard
                if (other.group, other.consumer) == (life.group, life.consumer)
                and other.number > life.number
            ),
            default=float("inf"),
        )

    def expired(self, now: float) -> tuple[Life, ...]:
        return tuple(sorted(life for life, heard in self.heard.items() if now >= heard.dead_at))

    def next_end(self) -> float:
        return min((heard.dead_at for heard in self.heard.values()), default=float("inf"))


def seen(sessions: Sessions, lives: Mapping[Life, float], now: float) -> Sessions:
    """Registrations that were read, with their timeouts. What is known of them already stays: that
    a node is there proves nothing about its member.
    """
    new = {life: Heard(now, timeout_s) for life, timeout_s in lives.items()}
    return Sessions({**new, **sessions.heard})


def heard(sessions: Sessions, life: Life, now: float) -> Sessions:
    """A message of that life has come in. One that was given up stays so."""
    before = sessions.heard.get(life)
    if before is None or now <= before.at:
        return sessions
    return Sessions({**sessions.heard, life: replace(before, at=now)})


def gone(sessions: Sessions, lives: Collection[Life]) -> Sessions:
    """Their nodes are deleted."""
    return Sessions({life: h for life, h in sessions.heard.items() if life not in lives})
