"""Records that are gone, in a group of the brokers: an error that ends the query, or a warning and
a count.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

from pyspark_zkgroup.errors import DataLossError, OffsetBeyondEndError
from pyspark_zkgroup.group import gaps
from pyspark_zkgroup.group.gaps import Gap
from pyspark_zkgroup.membership.kafka_holdings import KafkaHoldings

_NAMED_MAX = 10
_log = logging.getLogger("pyspark_zkgroup.group")


class KafkaLosses:
    def __init__(self, group: str, *, fail: bool) -> None:
        self.group = group
        self.fail = fail
        self.events = 0
        self.records = 0

    def skip(self, found: Collection[Gap], holdings: KafkaHoldings) -> None:
        """Where losses are allowed the next boundary commits the new position; else an error."""
        if found and self.fail:
            raise self._refusal(list(found))
        for gap in found:
            known = holdings.known.get(gap.partition)
            if gap.kind != "deleted" and known is not None and known.done == gap.position:
                holdings.known[gap.partition] = replace(known, done=gap.start)
            self.events += 1
            self.records += gap.lost
            _log.warning("[ZKG-101] %s; failOnDataLoss is false: %s", gap.what, gap.going_on)

    def _refusal(self, found: list[Gap]) -> DataLossError | OffsetBeyondEndError:
        what = "; ".join(gap.what for gap in found[:_NAMED_MAX])
        if len(found) > _NAMED_MAX:
            what += f"; and {len(found) - _NAMED_MAX} partitions more"
        kind = OffsetBeyondEndError if found[0].kind == "beyond" else DataLossError
        first = found[0].partition
        return kind(what, gaps.remedy(found[0], f"the offset of {first} in group {self.group!r}"))
