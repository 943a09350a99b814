"""Rows that reach a sink more than once, and the faults that explain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from pyspark_zkgroup.model import TopicPartition
from tests.sim.ledger import Delivery
from tests.sim.query import Batch
from tests.sim.world import World


class Duplicates:
    """`is_another`: the record did not exist when the batch was planned. `was_set_back`: between
    the two deliveries the group's offset was. `excused` receives what faults explain.
    """

    def __init__(
        self,
        world: World,
        counts: Counter[str],
        *,
        is_another: Callable[[Batch, TopicPartition, int], bool],
        was_set_back: Callable[[TopicPartition, Delivery, Delivery], bool],
        excused: Callable[[TopicPartition, Batch, list[str], int], None],
    ) -> None:
        self._world = world
        self._counts = counts
        self._is_another = is_another
        self._was_set_back = was_set_back
        self._excused = excused

    def judge(
        self, partition: TopicPartition, life: int, mine: Delivery, earlier: Sequence[Delivery]
    ) -> None:
        again = [
            other
            for other in reversed(earlier)
            if other.start < mine.until
            and mine.start < other.until
            and not self._is_expected(partition, mine, other, life)
        ]
        self._explain(partition, mine, again)

    def _is_expected(
        self,
        partition: TopicPartition,
        mine: Delivery,
        other: Delivery,
        life: int,
    ) -> bool:
        """Return whether these rows come twice for a reason outside of our members."""
        self._counts["duplicate"] += 1
        if mine.batch is None or other.batch is None:
            self._counts["duplicate of a JVM member"] += 1
        elif mine.epoch != other.epoch or mine.epoch == -1:
            self._counts["duplicate by a reset"] += 1
        elif self._is_another(other.batch, partition, life):
            self._counts["duplicate of a recreated topic"] += 1
        elif self._was_set_back(partition, mine, other):
            self._counts["duplicate by a JVM zombie"] += 1
        else:
            return False
        return True

    def _explain(self, partition: TopicPartition, mine: Delivery, again: list[Delivery]) -> None:
        """Allow each row as many further deliveries as faults have met batches of it in flight. A
        fault of the last batch that was planned with it explains nothing yet, unless that batch
        itself was delivered before.
        """
        edges = sorted(
            {mine.start, mine.until, *(d.start for d in again), *(d.until for d in again)}
        )
        for start, until in pairwise(edges):
            here = [d.batch for d in again if d.batch and d.start <= start and until <= d.until]
            if not here or not mine.start <= start < mine.until or mine.batch is None:
                continue
            last = max({*here, mine.batch}, key=lambda batch: batch.proved_at)
            met = {*here, mine.batch} - (set() if [*here, mine.batch].count(last) > 1 else {last})
            faults = sum(len(batch.excuses.get(partition, ())) for batch in met)
            if len(here) > faults:
                self._world.fail(
                    f"P3: {partition} [{start}, {until}) comes {len(here) + 1} times with "
                    f"{faults} faults: in {', '.join(map(str, here))}, and in {mine.by}"
                )
                return
            self._counts["duplicate by a fault"] += 1
            one = next(b for b in (*here, mine.batch) if b in met and b.excuses.get(partition))
            self._excused(partition, one, one.excuses[partition], until - start)
