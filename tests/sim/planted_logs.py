"""Bugs in what faces the brokers, the same for every protocol: see tests/sim/planted.py."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.group.known_topics import Answer, KnownTopics
from tests.sim.planting import Bugs, Patches, put


def _one_brokers_word() -> Patches:
    """What a single answer does not name is deleted."""
    return [put(KnownTopics, "after", lambda _self, answer: _as_told(answer))]


def _as_told(answer: Answer) -> KnownTopics:
    return KnownTopics(dict(answer.topics))


BUGS: Final[Bugs] = {
    "one broker's word takes a topic away": _one_brokers_word,
}
