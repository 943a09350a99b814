"""What `json.loads` would take silently, refused: a key that is there twice, and NaN."""

from __future__ import annotations

from typing import Any, NoReturn


class KeyTwiceError(Exception):
    """Not a ValueError: the text is JSON, of which each reader keeps another value."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads(object_pairs_hook=...)`, which by itself keeps the last value of a key."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KeyTwiceError(key)
        found[key] = value
    return found


def no_constant(name: str) -> NoReturn:
    """For `json.loads(parse_constant=...)`: NaN and Infinity are no JSON."""
    raise ValueError(f"{name} is no value")
