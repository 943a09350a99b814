"""Identifies a decision and its coordinator: later decisions compare greater."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEXT = re.compile(r"(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, order=True, slots=True)
class Generation:
    """`epoch` grows with every election, `number` with every decision about the group."""

    epoch: int
    number: int = 0

    def __post_init__(self) -> None:
        if self.epoch < 0 or self.number < 0:
            raise ValueError(f"not a generation: {self.epoch}.{self.number}")

    @property
    def next(self) -> Generation:
        return Generation(self.epoch, self.number + 1)

    def __str__(self) -> str:
        return f"{self.epoch}.{self.number}"

    @classmethod
    def parse(cls, text: str) -> Generation | None:
        match = _TEXT.fullmatch(text)
        return cls(int(match[1]), int(match[2])) if match else None
