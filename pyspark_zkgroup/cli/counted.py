"""A number of things, and their names, in words."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN_MAX = 200


def listed(names: Iterable[str]) -> str:
    return cut(", ".join(sorted(names)) or "none")


def cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."
