"""What all members of the group in a scene have in common."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass
class GroupConfig:
    kraft: bool
    strategy: str
    order: str
    starting: str
    session_ms: int
    topics: list[str]

    @classmethod
    def drawn(cls, seed: int, rng: Random) -> GroupConfig:
        kraft = rng.random() < 0.15
        strategy = rng.choice(["range", "roundrobin"])
        # Drawn apart: it changes nothing of what else is drawn.
        if strategy == "range" and Random(f"{seed} balanced").random() < 0.5:
            strategy = "balanced"
        return cls(
            kraft,
            strategy,
            order=rng.choice(["old", "new"]),
            starting=rng.choice(["earliest", "earliest", "latest"]),
            session_ms=rng.choice([2000, 4000, 6000]),
            topics=[f"t{n}" for n in range(rng.choice([1, 2, 2, 3]))],
        )

    def reading(self, rng: Random) -> dict[str, str]:
        """Draw how a member names the topics, and how much it reads at once."""
        by_name = rng.random() < 0.85
        found = {"subscribe": ",".join(self.topics)} if by_name else {"subscribePattern": "t.*"}
        if rng.random() < 0.5:
            found["maxOffsetsPerTrigger"] = str(rng.choice([5, 20, 100]))
        return found
