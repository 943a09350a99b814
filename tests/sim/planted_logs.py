"""Bugs in what faces the brokers, the same for every protocol: see tests/sim/planted.py."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup import log_watch
from pyspark_zkgroup.group.known_topics import Answer, KnownTopics
from tests.sim.planting import Bugs, Patches, put


def _one_brokers_word() -> Patches:
    """What a single answer does not name is deleted."""
    return [put(KnownTopics, "after", lambda _self, answer: _as_told(answer))]


def _as_told(answer: Answer) -> KnownTopics:
    return KnownTopics(dict(answer.topics))


def _epochs_tell_nothing() -> Patches:
    """A log is taken for the one that was seen, whatever its leader epoch."""
    return [put(log_watch, "change", lambda _seen, _told: "same")]


LOGS_CUT: Final[Bugs] = {"leader epochs tell nothing": _epochs_tell_nothing}
"""Only where simulated logs are cut: in scenes of `zookeeper`."""

BUGS: Final[Bugs] = {
    "one broker's word takes a topic away": _one_brokers_word,
}
