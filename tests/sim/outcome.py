"""What became of a scene."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    seed: int
    violation: str | None
    story: list[str]
    counts: Counter[str]
    shape: dict[str, int] = field(default_factory=dict)
    cpu_s: float = 0.0


def story(outcome: Outcome) -> str:
    found = outcome.violation or "no violation"
    head = f"seed {outcome.seed}: {found}; {json.dumps(outcome.shape)}"
    return "\n".join([*outcome.story, head])
