"""How a member leaves a brokers' group: it commits a last time, then its connections end."""

from __future__ import annotations

import logging

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.keeper import GroupKeeper

_TRIES_S = 2.0
_COMMIT_AGAIN_S = 0.1
_log = logging.getLogger("pyspark_zkgroup.group")


class KafkaDeparture:
    def __init__(
        self, keeper: GroupKeeper, claims: KafkaClaims, consumer: str, *, is_static: bool
    ) -> None:
        """A static member does not leave: its share waits for it, for a session timeout."""
        self.keeper = keeper
        self.claims = claims
        self.consumer = consumer
        self.is_static = is_static
        self.has_begun = False

    def leave(self) -> None:
        self.has_begun = True
        requests = self.claims.requests
        try:
            if not self.commit_last():
                _log.warning(catalogue.warning("ZKG-127", error=requests.trouble))
        finally:
            requests.close()
            self.keeper.close(leave=not self.is_static)
            _log.info("Left group %s as %s", self.keeper.kept.group, self.consumer)

    def step_out(self) -> None:
        """On an operator's request. What cannot be committed now keeps the member in the group, and
        is tried again at the next boundary.
        """
        kept, holdings = self.keeper.kept, self.claims.holdings
        if kept.member.life != holdings.life:
            holdings.lose(kept.member.life)
        if kept.member.phase == "unjoined" or not self.commit_last():
            return
        held = len(holdings.held)
        for partition in list(holdings.held):
            holdings.give_back(partition)
        kept.step_out()
        holdings.lose(kept.member.life)
        _log.info("Left group %s, released %d partitions", kept.group, held)

    def commit_last(self) -> bool:
        """While the group is given its assignment commits are refused for a moment."""
        kept, holdings = self.keeper.kept, self.claims.holdings
        until = kept.clock.monotonic() + _TRIES_S
        while True:
            member = kept.member
            lost = member.life != holdings.life or bool(member.fatal)
            if lost or self.claims.commit_finished(member):
                return not holdings.unsettled
            if kept.clock.monotonic() >= until:
                return False
            kept.await_change(member, _COMMIT_AGAIN_S)
