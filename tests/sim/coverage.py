"""Counts what the scenes reach: every outcome of the pure core, and every request's.

The core's functions are wrapped where the shells call them; requests are distinguished by their
operations, as the server gets them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from pyspark_zkgroup.group import claim, replay, settle
from pyspark_zkgroup.group.ops import (
    Check,
    Create,
    Delete,
    Done,
    Op,
    Outcome,
    Refused,
    SetData,
    Transaction,
)
from pyspark_zkgroup.group.settle import NotHeld, Verdict
from pyspark_zkgroup.protocols.owned import first_offsets, registrations
from tests.fakes.store import FakeStore

counts: Counter[str] = Counter()

_SHAPES = {
    "Co So Sf": "claim",
    "Co So Kf": "claim for a replay",
    "Do Co So Kf": "take-over",
    "Ko Ki Sf": "commit",
    "Co Sf Do": "settle, unowned",
    "Kf Do": "release",
    "Ko Kf": "proof",
    "Kf So": "change of thread",
    "Do": "own node deleted",
    "Sf": "fence moved in a replay",
    "Kf": "left out in a replay",
    "Ci": "registration",
    "Di Ci": "registration taken over",
    "Ci Di": "nudge",
}
_REASONS = ("another member has taken it since", "owns it", "still owns it", "was lost")

EXPECTED = tuple(
    [f"resolve: {v.name}" for v in Verdict]
    + [f"settle, not held: {v.name}" for v in NotHeld]
    + ["settle, not held: request of an unowned", "settle, not held: request under a predecessor"]
    + [
        f"moves: {m}"
        for m in ("vanished", "release", "rethread", "adopt", "claim", "wait", "remove")
    ]
    + ["claim starts: own progress", "claim starts: group's offset"]
    + [
        "replay: include by a claim",
        "replay: include, ours already",
        "replay: wait for the predecessor",
        "replay: left out, another member has taken it since",
        "replay: left out, owns it",
        "replay: left out, was lost",
    ]
    + [f"{kind}: done" for kind in _SHAPES.values() if kind != "nudge"]
    + ["claim: in doubt", "commit: in doubt", "release: in doubt", "proof: in doubt"]
    + ["claim: refused, exists", "claim: refused, version", "commit: refused, version"]
    + ["release: refused, version", "proof: refused, version", "commit: refused, missing"]
    + ["proof: refused, missing"]
    + ["first positions", "first positions: the topic is known", "took over from its predecessor"]
    + ["gave up for a silent driver"]
)


def watch() -> None:
    """Wrap once; the wrappers only count."""
    if hasattr(settle.resolve, "__wrapped__"):
        return
    _wrap(settle, "resolve", lambda found, _: f"resolve: {found.verdict.name}")
    _wrap(settle, "settle_not_held", lambda found, _: f"settle, not held: {_settled(found)}")
    _wrap(claim, "moves", None)
    _wrap(claim, "claim_start", _start)
    _wrap(replay, "decide", lambda found, _: f"replay: {_decided(found)}")
    _wrap(first_offsets, "first_positions", _first)
    _wrap(
        registrations,
        "is_predecessor",
        lambda found, _: "took over from its predecessor" if found else "",
    )
    plain = FakeStore.commit

    def commit(self: FakeStore, transactions: Sequence[Transaction]) -> list[Outcome]:
        outcomes = plain(self, transactions)
        for transaction, outcome in zip(transactions, outcomes, strict=True):
            if transaction:
                counts[f"{_kind(transaction)}: {_told(outcome)}"] += 1
        return outcomes

    FakeStore.commit = commit  # type: ignore[assignment,method-assign]


def _wrap(owner: Any, name: str, label: Callable[[Any, tuple[Any, ...]], str] | None) -> None:
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def counted(*args: Any, **named: Any) -> Any:
        found = plain(*args, **named)
        if label is not None:
            if text := label(found, args):
                counts[text] += 1
        else:
            for move in ("vanished", "release", "rethread", "adopt", "claim", "wait", "remove"):
                if getattr(found, move):
                    counts[f"moves: {move}"] += 1
        return found

    setattr(owner, name, counted)


def _settled(found: Any) -> str:
    if isinstance(found, NotHeld):
        return found.name
    unowned = isinstance(found[0], Create)
    return "request of an unowned" if unowned else "request under a predecessor"


def _start(found: int | None, args: tuple[Any, ...]) -> str:
    known, offset = args
    if found is None:
        return "claim starts: no offset"
    own = known is not None and known.fence == offset.node
    return "claim starts: own progress" if own else "claim starts: group's offset"


def _decided(found: Any) -> str:
    if isinstance(found, replay.WaitFor):
        return "wait for the predecessor"
    if isinstance(found, replay.LeaveOut):
        reason = next((r for r in sorted(_REASONS, key=len, reverse=True) if r in found.reason), "")
        return f"left out, {reason}"
    if not found.request:
        return "include, ours already"
    return (
        "include by a claim" if isinstance(found.request[0], Create) else "include by a take-over"
    )


def _first(_found: Any, args: tuple[Any, ...]) -> str:
    return "first positions: the topic is known" if args[1] else "first positions"


def _kind(transaction: Transaction) -> str:
    # A node is rewritten as often as its version needs.
    shape = " ".join([one for one, _ in groupby(_operation(op) for op in transaction)])
    if shape in _SHAPES:
        return _SHAPES[shape]
    if set(shape.split()) == {"Cf"}:
        return "offsets made"
    return "parents made" if isinstance(transaction[0], Create) else shape


_LETTERS: dict[type[Op], str] = {Create: "C", SetData: "S", Check: "K", Delete: "D"}
_PLACES = {"owners": "o", "offsets": "f", "ids": "i"}


def _operation(op: Op) -> str:
    parts = op.path.split("/", 4)
    place = parts[3] if len(parts) > 4 else ""
    return _LETTERS[type(op)] + _PLACES.get(place, "-")


def _told(outcome: Outcome) -> str:
    if isinstance(outcome, Done):
        return "done"
    return f"refused, {outcome.reason}" if isinstance(outcome, Refused) else "in doubt"


# Two drivers of one static member, the older of which has a commit refused just then; a JVM member
# that claims between a batch's end and the settling of it; a reset between a crash and its replay
# by a member that owns the partition again; all of a group's nodes lost between the two.
RARE = (
    "proof: refused, missing",
    "resolve: FENCED",
    "settle, not held: LATER",
    "replay: left out, owns it",
    "replay: left out, was lost",
    "fence moved in a replay: done",
)


def missing(total: Counter[str], rare: bool) -> list[str]:
    return [name for name in EXPECTED if not total[name] and (rare or name not in RARE)]
