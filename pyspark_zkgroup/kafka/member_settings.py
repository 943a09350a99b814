"""How a member deals with the broker's group coordinator."""

from __future__ import annotations

from dataclasses import dataclass

COOPERATIVE_STICKY = "cooperative-sticky"
ASSIGNORS = (COOPERATIVE_STICKY, "range", "roundrobin")


@dataclass(frozen=True, slots=True)
class KafkaGroupSettings:
    assignor: str = COOPERATIVE_STICKY
    session_timeout_ms: int = 10_000
    """Without a heartbeat for so long the coordinator takes the member for dead."""
    heartbeat_interval_ms: int = 3_333

    @property
    def is_cooperative(self) -> bool:
        """Whether what is held may be kept through a join."""
        return self.assignor == COOPERATIVE_STICKY
