"""Logs once why a member reads nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.model import TopicPartition

_PATIENCE_S = 10.0
_SAID_EVERY_S = 30.0
_log = logging.getLogger("pyspark_zkgroup.group")


class Emptiness:
    def __init__(self, group: str, clock: Clock) -> None:
        self.group = group
        self._clock = clock
        self._said = ""
        self._untold_since: float | None = None
        self._said_at = float("-inf")

    def look(
        self,
        mine: Collection[TopicPartition],
        missing: Collection[str],
        subscribed: Callable[[], Collection[TopicPartition]],
        why: Callable[[], tuple[str, str]] | None = None,
    ) -> None:
        """At each rebalance: what is assigned to this member, which topics of its subscription do
        not exist, and `why` nothing is assigned, with the remedy.
        """
        self._untold_since = None
        before, self._said = self._said, "; ".join(missing)
        if self._said and self._said != before:
            _log.warning(catalogue.warning("ZKG-182", missing=self._said, group=self.group))
        elif not mine and not self._said:
            self._said = (
                f"all {len(subscribed())} partitions of its topics are assigned to other members"
            )
            if why is not None:
                self._said = ". ".join(why())
            if self._said != before:
                _log.info("Nothing to read in group %s: %s", self.group, self._said)

    def untold(self) -> None:
        """At each boundary of a member that a coordinator should tell what to read, and has not."""
        now = self._clock.monotonic()
        if self._untold_since is None:
            self._untold_since = now
        waited_s = now - self._untold_since
        if waited_s < _PATIENCE_S or now - self._said_at < _SAID_EVERY_S:
            return
        self._said_at = now
        _log.warning(catalogue.warning("ZKG-183", group=self.group, waited_s=waited_s))
