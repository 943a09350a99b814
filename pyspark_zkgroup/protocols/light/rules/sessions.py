"""The sessions of light members as their coordinator keeps them: when each one ends.

ZooKeeper has no session for them: their nodes are persistent, and the coordinator deletes those of
a member that was silent for its timeout. A newly elected coordinator has heard from no member: each
registered member gets its full timeout, from the moment when it is first read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.protocols.light.rules.lease import counted_dead_at


@dataclass(frozen=True, order=True, slots=True)
class Life:
    """One registration: `number` is its node's czxid. 0: nodes without a registration."""

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
        """Return the newest; 0 if none is known."""
        return max(
            (
                life.number
                for life in self.heard
                if (life.group, life.consumer) == (group, consumer)
            ),
            default=0,
        )

    def following(self, life: Life) -> float:
        """Return the next life under its name: what was made later does not belong to this one."""
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
    """Add registrations that were read, with their timeouts.

    Known ones stay unchanged: the existence of a node proves nothing about its member.
    """
    new = {life: Heard(now, timeout_s) for life, timeout_s in lives.items()}
    return Sessions({**new, **sessions.heard})


def heard(sessions: Sessions, life: Life, now: float) -> Sessions:
    """Note a message of that life. A life that was given up stays given up."""
    before = sessions.heard.get(life)
    if before is None or now <= before.at:
        return sessions
    return Sessions({**sessions.heard, life: replace(before, at=now)})


def gone(sessions: Sessions, lives: Collection[Life]) -> Sessions:
    """Their nodes are deleted."""
    return Sessions({life: h for life, h in sessions.heard.items() if life not in lives})
