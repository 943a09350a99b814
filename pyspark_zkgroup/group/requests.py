"""An operator's request to one member and the member's answer, both in one node.

A request is for the process with the session that it names. A static member has the same consumer
id after a restart, and a request to its predecessor must not keep it from joining.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

Kind = Literal["drain", "stop"]
KINDS: tuple[Kind, ...] = ("drain", "stop")
# How long to keep the answer of a process that has ended: a process between two sessions must not
# lose its request.
_KEPT_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Request:
    """`drain`: commit, leave the group and stay outside. `stop`: also end the query."""

    kind: Kind
    by: str
    at_ms: int
    session: int
    answer: str | None = None
    answered_ms: int = 0

    def __str__(self) -> str:
        return f"{self.kind}, asked by {self.by}"

    def answered(self, text: str, at_ms: int) -> Request:
        return replace(self, answer=text, answered_ms=at_ms)


def encode_request(request: Request) -> bytes:
    value = {
        "version": 1,
        "request": request.kind,
        "by": request.by,
        "at_ms": request.at_ms,
        "session": f"{request.session:#x}",
        "answer": request.answer,
        "answered_ms": request.answered_ms,
    }
    return json.dumps(value).encode()


def decode_request(data: bytes) -> Request | None:
    """Decode what `encode_request` has written; anything else is no request."""
    try:
        value: dict[str, Any] = json.loads(data)
        kind, answer = value["request"], value["answer"]
        if kind not in KINDS or not isinstance(answer, str | None):
            return None
        return Request(
            cast(Kind, kind),
            str(value["by"]),
            _moment(value["at_ms"]),
            int(value["session"], 16),
            answer,
            _moment(value["answered_ms"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _moment(value: object) -> int:
    """Return a time in milliseconds. A float may be infinite."""
    if not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} is no time")
    return value


def in_force(request: Request | None, own_sessions: Collection[int]) -> Request | None:
    """Return the request if it is for the process that had these sessions."""
    return request if request is not None and request.session in own_sessions else None


def is_over(request: Request, *, registered: bool, resting: bool, now_ms: int) -> bool:
    """Return whether the process that the request was for has ended, so that its node can go."""
    return (
        request.answer is not None
        and not registered
        and not resting
        and now_ms - request.answered_ms > _KEPT_MS
    )
