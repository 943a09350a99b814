"""A number of things, and their names, in words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN_MAX = 200


def listed(names: Iterable[str]) -> str:
    return cut(", ".join(sorted(names)) or "none")


def cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


def similar_names(name: str, there: Iterable[str]) -> str:
    """Follows a message that `name` is not there."""
    near = get_close_matches(name, list(there))
    return f" (similar names: {listed(near)})" if near else ""
