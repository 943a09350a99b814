"""Takes the member across a boundary: commits the batch that is done, and learns what it holds."""

from __future__ import annotations

import logging
from collections.abc import Collection

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.planning.batch import Batch
from pyspark_zkgroup.planning.log_watch import LogWatch
from pyspark_zkgroup.protocols.port import Membership, Standing
from pyspark_zkgroup.ranges.gaps import Gap

LOOK_AGAIN_S = 0.2
_log = logging.getLogger("pyspark_zkgroup.planner")


class Boundary:
    """`is_idle`: at the last look nothing was left to read, and nothing has moved since."""

    def __init__(self, membership: Membership, logs: LogWatch, clock: EventClock) -> None:
        self.membership = membership
        self.logs = logs
        self.clock = clock
        self.batch = Batch()
        self.standing = Standing()
        self.is_idle = False
        membership.losses.old_ends = logs.old_ends

    def cross(self) -> None:
        """Commit what is done, if anything is, and let the group move."""
        done = self.batch.done
        before = self.standing.positions
        self.standing = self.membership.boundary(done)
        self.batch = self.batch.committed()
        now = self.standing.positions
        if any(before.get(p) != position for p, position in now.items()):
            self.is_idle = False
        gone = before.keys() - now.keys()
        if gone:
            gone -= set(self.membership.subscribed())
            self.logs.let_go({p: done.get(p, before[p].start) for p in gone})
        self.membership.skip(self.logs.deleted(now))

    def skip(self, found: Collection[Gap]) -> None:
        """Read on behind what is lost."""
        self.membership.skip(found)
        self.logs.told(found)
        self.cross()

    def look_again(self) -> None:
        self.membership.wait(LOOK_AGAIN_S)

    def wait_for_share(self, wait_ms: int) -> None:
        """A job that ends by itself must not leave out what an expiring member still holds."""
        give_up_at = self.clock.monotonic() + wait_ms / 1000.0
        while self._is_expecting() and self.clock.monotonic() < give_up_at:
            self.look_again()
            self.cross()
        if self._is_expecting():
            waiting = self.standing.waiting
            reasons = "; ".join(sorted(set(waiting.values()))[:3]) or self.standing.expected
            _log.warning(
                catalogue.warning(
                    "ZKG-109",
                    wait_ms=wait_ms,
                    count=len(waiting),
                    reasons=reasons or "the group is rebalancing",
                )
            )

    def _is_expecting(self) -> bool:
        return not self.standing.settled or bool(self.standing.expected)
