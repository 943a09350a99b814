"""Bugs in what faces the brokers, the same for every protocol: see tests/sim/planted.py."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Final

from pyspark_zkgroup.kafka import fetch, log_check, offsets, outcome, wire
from pyspark_zkgroup.kafka.known_topics import Answer, KnownTopics
from pyspark_zkgroup.kafka.leader_cache import Leaders
from pyspark_zkgroup.model import NO_MARK
from pyspark_zkgroup.plan import Plan, TaskInput, task_inputs
from pyspark_zkgroup.planning import cluster_view, log_watch, planner
from tests.sim.planting import Bugs, Patches, put


def _one_brokers_word() -> Patches:
    """What a single answer does not name is deleted."""
    return [put(KnownTopics, "after", lambda _self, answer: _as_told(answer))]


def _as_told(answer: Answer) -> KnownTopics:
    return KnownTopics(dict(answer.topics))


def _epochs_tell_nothing() -> Patches:
    """A log is taken for the one that was seen, whatever its leader epoch."""
    return [put(log_watch, "change", lambda _seen, _told: "same")]


def _known_permanently() -> list[Any]:
    return [put(Leaders, "is_fresh", lambda self, partition, _now: partition in self._known)]


def _a_leader_is_believed_permanently() -> Patches:
    """The leader is believed as long as it answers, whatever other brokers report."""
    return [*_known_permanently(), put(cluster_view, "_IDS_AGE_MAX_S", float("inf"))]


def _a_short_log_has_ended() -> Patches:
    """The task waits for it to grow, and skips what is missing, though another leader has it."""
    real = outcome.judge

    def judge(fetched: Any, **given: Any) -> Any:
        found = real(fetched, **given)
        if isinstance(found, outcome.Again) and found.log_end is not None:
            return replace(found, leader_moved=False)
        return found

    return [
        *_known_permanently(),
        put(fetch, "judge", judge),
        put(Leaders, "expect", lambda _self, _partition, _mark: None),
    ]


def _tasks_know_no_marks() -> Patches:
    def inputs(plan: Plan, included: frozenset[Any]) -> list[TaskInput]:
        return [
            replace(task, ranges=tuple(replace(one, mark=NO_MARK) for one in task.ranges))
            for task in task_inputs(plan, included)
        ]

    return [put(planner, "task_inputs", inputs)]


def _tasks_compare_no_epochs() -> Patches:
    def examine(_cluster: Any, leaders: Collection[Any], *_given: Any, **_named: Any) -> Any:
        return dict.fromkeys(leaders, log_check.Whole(is_certain=False))

    return [put(log_check, "examine", examine)]


def _plan_what_is_open() -> Patches:
    """Of transactions, whatever the isolation."""
    real: Callable[..., Any] = wire.offsets_request

    def request(partitions: Any, _isolation: Any, epochs: Any) -> Any:
        return real(partitions, "read_uncommitted", epochs)

    return [put(offsets, "offsets_request", request)]


BUGS: Final[Bugs] = {
    "one broker's word takes a topic away": _one_brokers_word,
    "leader epochs tell nothing": _epochs_tell_nothing,
    "a leader is believed permanently": _a_leader_is_believed_permanently,
    "a short log has ended": _a_short_log_has_ended,
    "tasks know no marks": _tasks_know_no_marks,
    "tasks compare no epochs": _tasks_compare_no_epochs,
    "plan what is open": _plan_what_is_open,
}

ON_THE_WIRE: Final = BUGS.keys() - {"one broker's word takes a topic away"}
"""They show only in scenes whose members send their requests: see tests/sim/wired.py."""
