"""A text that is never shown: not by repr, not in a message that holds it by accident."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    text: str

    def __repr__(self) -> str:
        return "'*****'"


NO_SECRET = Secret("")
