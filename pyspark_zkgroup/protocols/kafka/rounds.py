"""What a member of a brokers' group does at a boundary, in rounds until nothing is left to do.

Order within a round: commit what is done, join if need be, give back what must move, claim what is
ours. docs/protocol-kafka.md has the rules, and what goes wrong without them.
"""

from __future__ import annotations

import logging

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.protocols.kafka.adoption import KafkaAdoption
from pyspark_zkgroup.protocols.kafka.departure import KafkaDeparture
from pyspark_zkgroup.protocols.kafka.joining import KafkaJoining
from pyspark_zkgroup.protocols.kafka.lease import KafkaLease
from pyspark_zkgroup.protocols.kafka.rules.member import Member

_REPEATED_S = 30.0
_ROUNDS_MAX = 4
_log = logging.getLogger("pyspark_zkgroup.group")


class KafkaRounds:
    def __init__(self, lease: KafkaLease, joining: KafkaJoining, adoption: KafkaAdoption) -> None:
        self.lease = lease
        self.joining = joining
        self.adoption = adoption
        self.claims = adoption.claims
        self.holdings = adoption.holdings
        self.topics = adoption.topics
        self.kept = adoption.kept
        self.is_new_query = True
        self.notes: tuple[str, ...] = ()
        self._told_at = 0.0

    def is_due(self) -> bool:
        member = self.kept.member
        if member.fatal or member.life != self.holdings.life or member.needs_join:
            return True
        if self.topics.is_due(self.claims.unknown_to_brokers):
            return True
        return self.adoption.is_due(member)

    def run(self) -> None:
        wait_until = self.kept.clock.monotonic() + self.joining.wait_s
        try:
            self.refresh_topics()
            for _ in range(_ROUNDS_MAX):
                if self.step(wait_until):
                    break
            self.notes = ()
        except ServerError as error:
            # In a new query a wrong address is the user's to correct; else it is the network.
            if self._is_first or self.kept.member.fatal:
                raise
            self._say(error)

    def step_out(self, departure: KafkaDeparture) -> None:
        """On an operator's request. Finished work in a topic that was deleted cannot be committed,
        and must not keep the member in the group.
        """
        self.lease.check(self.kept.member)
        if self.claims.unknown_to_brokers:
            try:
                self.refresh_topics()
            except ServerError as error:
                self._say(error)
        departure.step_out()

    def step(self, wait_until: float) -> bool:
        """One round: whether there is nothing left to do at this boundary."""
        member = self.kept.member
        self.lease.check(member)
        committed = self.claims.commit_finished(member)
        self.joining.notice_topics(member)
        member = self.kept.member
        if member.life != self.holdings.life:
            # The answer to the commit said so. A join from here would list what we have just lost,
            # and its leader wait for us to give it back.
            return False
        if member.needs_join:
            if self.claims.is_put_off and not self.joining.is_cooperative:
                return False
            self.joining.begin(member)
        if self.kept.member.phase == "rebalancing":
            self.joining.wait(wait_until)
        self.lease.renew()
        member = self.kept.member
        if member.life != self.holdings.life or member.needs_join:
            return False
        adopted = self.adoption.is_complete(member)
        if member.phase != "stable" or (adopted and member.assigned <= self.holdings.held):
            if not committed:
                self.adoption.put_off()
            return True
        return self.adoption.adopt(member)

    def rejoin(self) -> Member:
        """For a replay: join whatever rebalance there is, and look a little later."""
        member = self.kept.member
        self.lease.check(member)
        if member.needs_join:
            self.joining.begin(member)
        return self.kept.member

    def refresh_topics(self) -> None:
        doubted = self.claims.unknown_to_brokers
        if not self.topics.is_due(doubted):
            return
        gone = self.topics.look(doubted)
        if gone:
            self.claims.give_up_on(gone)
        if self._is_first:
            self.claims.fresh = self.topics.check_start()

    def _say(self, error: ServerError) -> None:
        now = self.kept.clock.monotonic()
        if not self.notes or now - self._told_at >= _REPEATED_S:
            self._told_at = now
            _log.warning("%s", error)
        self.notes = (f"{error}",)

    @property
    def _is_first(self) -> bool:
        return self.is_new_query and not self.adoption.has_begun
