"""A number of things, in words."""

from __future__ import annotations


def counted(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
