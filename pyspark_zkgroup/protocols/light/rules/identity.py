"""Who a light member is to its coordinator: the process, by a secret; and who has come with it.

The secret goes over the stream alone. In ZooKeeper, which all members of the group may read, lies
what shows that somebody knows it.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from pyspark_zkgroup.jvm.registration import LightSeat

INCARNATION_LENGTH_MIN = 32
_SHOWN_AS = "sha256:"
_SUBJECT_LENGTH_MAX = 300


@dataclass(frozen=True, slots=True)
class Caller:
    """`groups` that its token lets it into, and all others but `elsewhere`, unless that is None.
    `subject`: of the certificate that it has shown.
    """

    groups: frozenset[str] = frozenset()
    elsewhere: frozenset[str] | None = frozenset()
    subject: str = ""

    def may_enter(self, group: str) -> bool:
        if group in self.groups:
            return True
        return self.elsewhere is not None and group not in self.elsewhere

    @property
    def named(self) -> str:
        """Its subject as a registration has it."""
        if len(self.subject) <= _SUBJECT_LENGTH_MAX:
            return self.subject
        return _SHOWN_AS + hashlib.sha256(self.subject.encode()).hexdigest()


def shown(group: str, consumer: str, incarnation: str) -> str:
    """What may be read by all. It is of one name: nobody can tell by it what else a process is."""
    known = f"{group}\0{consumer}\0{incarnation}".encode("utf-8", "replace")
    return _SHOWN_AS + hashlib.sha256(known).hexdigest()


def is_same(one: str, other: str) -> bool:
    """In a time that tells nothing of where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def holds(seat: LightSeat, incarnation_shown: str, caller: Caller) -> bool:
    """Whether this registration is of the process that shows this, and of whom it has come as."""
    return is_same(seat.incarnation, incarnation_shown) and is_same(seat.subject, caller.named)
