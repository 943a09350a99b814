"""Decides which logs certainly end below their position: only an end that lasts counts."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.model import LogEnd, TopicPartition
from pyspark_zkgroup.protocols.port import Brokers

# A leader that was just elected may not know yet how far the log is committed, and returns an end
# that is too low.
_BEYOND_S = 5.0
# Before 2.2 such a leader does not report this, and followers that lag delay it by up to
# replica.lag.time.max.ms (10 s by default then, 30 s later).
_BEYOND_OLD_S = 35.0
_log = logging.getLogger("pyspark_zkgroup.planner")


def patience_s(end: LogEnd) -> float:
    return _BEYOND_OLD_S if end.may_lag else _BEYOND_S


class ShortLogs:
    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._since: dict[TopicPartition, float] = {}
        self._open_until: dict[TopicPartition, float] = {}
        self._patience_s = _BEYOND_S

    def expect(self, ends: Mapping[TopicPartition, LogEnd]) -> None:
        """Wait as long as the brokers that returned these ends may lag."""
        self._patience_s = max(map(patience_s, ends.values()), default=_BEYOND_S)

    def is_unsure(self, now: float) -> bool:
        """Return whether a log ends below its position, and may not be known to for long enough."""
        too_late = now - 2 * self._patience_s
        return any(since > too_late for since in self._since.values())

    def lasting(
        self,
        positions: Mapping[TopicPartition, int],
        beyond: Mapping[TopicPartition, int],
        log_ends: Mapping[TopicPartition, LogEnd],
        now: float,
    ) -> dict[TopicPartition, int]:
        """Return the logs that ended below their position before, and still do.

        What is readable may also end before the log does, at an open transaction: another member,
        which could read further, has committed behind it.
        """
        if not beyond:
            self._since, self._open_until = {}, {}
            return {}
        self._since = {p: at for p, at in self._since.items() if p in beyond}
        self._open_until = {p: at for p, at in self._open_until.items() if p in beyond and at > now}
        asked = [
            p
            for p in sorted(beyond)
            if p not in self._open_until
            and now - self._since.get(p, float("-inf")) >= patience_s(log_ends[p])
        ]
        ends = self._brokers.ends(asked) if asked else {}
        lasting: dict[TopicPartition, int] = {}
        for partition, end in ends.items():
            if positions[partition] <= end:
                self._open_until[partition] = now + _BEYOND_S
                self._since.pop(partition, None)
            elif partition in self._since:
                lasting[partition] = end
            else:
                self._since[partition] = now
                _log.warning(
                    catalogue.warning(
                        "ZKG-112",
                        partition=partition,
                        end=end,
                        offset=positions[partition],
                        wait_s=patience_s(log_ends[partition]),
                    )
                )
        return lasting
