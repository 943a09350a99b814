"""One thing that `zkgroup doctor` has looked at: its state, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["well", "note", "ill"]


@dataclass(frozen=True)
class Finding:
    thing: str
    state: State
    text: str
    remedy: str = ""
