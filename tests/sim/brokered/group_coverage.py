"""What scenes of brokered groups must reach, and the counting of what only the product knows."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from pyspark_zkgroup.protocols.kafka import claims as kafka_claims
from pyspark_zkgroup.protocols.kafka import kept_member
from pyspark_zkgroup.protocols.kafka import replay as kafka_replay
from tests.sim.coverage import counts

EXPECTED = (
    *(f"boundary: {phase}" for phase in ("unjoined", "rebalancing", "stable")),
    *("join: NONE", "join: MEMBER_ID_REQUIRED", "join: UNKNOWN_MEMBER_ID"),
    *("sync: NONE", "sync: REBALANCE_IN_PROGRESS", "sync: ILLEGAL_GENERATION"),
    *("heartbeat: NONE", "heartbeat: REBALANCE_IN_PROGRESS", "heartbeat: UNKNOWN_MEMBER_ID"),
    *("heartbeat: ILLEGAL_GENERATION", "heartbeat: FENCED_INSTANCE_ID", "leave: NONE"),
    *("heartbeat: NOT_COORDINATOR", "heartbeat: COORDINATOR_LOAD_IN_PROGRESS"),
    *("commit: NONE", "commit: REBALANCE_IN_PROGRESS", "commit: UNKNOWN_MEMBER_ID"),
    *("commit: ILLEGAL_GENERATION", "fatal: FencedError", "a generation was forgotten"),
    *("a removal was forgotten", "left on request"),
    *("removed: left", "removed: fenced", "removed: its session has ended"),
    "removed: it did not join in time",
    *("replayed: include", "replayed: leave out", "replayed: wait"),
    *("continues at: first position", "continues at: own progress", "continues at: group's offset"),
    *("phase: unjoined", "phase: rebalancing", "phase: stable"),
    *("set back by a late request", "left without a last commit"),
    *("heartbeat: GROUP_AUTHORIZATION_FAILED", "find: GROUP_AUTHORIZATION_FAILED"),
    *("commit: UNKNOWN_TOPIC_OR_PARTITION", "part of a commit: UNKNOWN_TOPIC_OR_PARTITION"),
    *("fatal: AccessError", "fatal: ServerError", "two faults at once"),
    *("logged range: a replay accepts it", "excused deliveries"),
    "logged range: moved by another since the proof",
    *("a generation was missed", "executed heartbeat: 9999"),
)
RARE = (
    "set back by a late request",
    "a generation was missed",
    "executed heartbeat: 9999",
    "logged range: moved by another since the proof",
)


def watch() -> None:
    """Wrap once; the wrappers only count."""
    if hasattr(vars(kafka_replay)["replayed"], "__wrapped__"):
        return
    _wrap(kafka_replay, "replayed", lambda found, _: f"replayed: {found}")
    _wrap(kafka_claims, "position", _position)
    for step in ("join_answered", "sync_answered", "heartbeat_answered"):
        _wrap(kept_member, step, lambda found, _: f"phase: {found.member.phase}")


def missing(total: Counter[str], rare: bool) -> list[str]:
    return [name for name in EXPECTED if not total[name] and (rare or name not in RARE)]


def _wrap(owner: Any, name: str, label: Callable[[Any, tuple[Any, ...]], str]) -> None:
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def counted(*args: Any, **named: Any) -> Any:
        found = plain(*args, **named)
        counts[label(found, args)] += 1
        return found

    setattr(owner, name, counted)


def _position(found: int | None, args: tuple[Any, ...]) -> str:
    known, committed = args
    if found is None:
        return "continues at: first position"
    if known is not None and known.is_untouched(committed):
        return "continues at: own progress"
    return (
        "continues at: group's offset" if committed.offset is not None else "continues at: rebuilt"
    )
