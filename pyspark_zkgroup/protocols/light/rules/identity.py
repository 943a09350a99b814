"""The identity of a light member to its coordinator: a process, by a secret, and its caller.

The secret is sent over the stream only. ZooKeeper, which all members of the group may read, has a
hash that shows whether a process knows the secret.
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
    """The client of a stream. Its token admits it to `groups`, and to all others but `elsewhere`,
    unless that is None. `subject` is that of the certificate that it has shown.
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
        """Return its subject as a registration has it."""
        if len(self.subject) <= _SUBJECT_LENGTH_MAX:
            return self.subject
        return _SHOWN_AS + hashlib.sha256(self.subject.encode()).hexdigest()


def shown(group: str, consumer: str, incarnation: str) -> str:
    """Return the public hash. It depends on the name, so it does not link a process's names."""
    known = f"{group}\0{consumer}\0{incarnation}".encode("utf-8", "replace")
    return _SHOWN_AS + hashlib.sha256(known).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Compare in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def holds(seat: LightSeat, incarnation_shown: str, caller: Caller) -> bool:
    """Return whether the registration belongs to the process and the caller that show these."""
    return is_same(seat.incarnation, incarnation_shown) and is_same(seat.subject, caller.named)
