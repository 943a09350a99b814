"""For how long a member may take what it holds for its own, and how it renews and proves that."""

from __future__ import annotations

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.refusals import refused
from pyspark_zkgroup.protocols.kafka.requests import GroupRequests
from pyspark_zkgroup.protocols.kafka.rules.member import Member


class KafkaLease:
    def __init__(self, holdings: KafkaHoldings, requests: GroupRequests) -> None:
        self.holdings = holdings
        self.requests = requests
        self.kept = requests.kept

    @property
    def is_valid(self) -> bool:
        return self.kept.member.life == self.holdings.life and not self._has_ended()

    def check(self, member: Member) -> None:
        """Raise what refused the member for good; drop what it held under an earlier life."""
        if member.fatal:
            raise refused(member, self.kept.group)
        if member.life != self.holdings.life:
            self.holdings.lose(member.life)

    def renew(self) -> None:
        """While a join or a sync is pending no heartbeats are sent: a boundary with nothing to
        commit would find the lease run out, and one whose join was lost, nothing for minutes.
        """
        member = self.kept.member
        if member.may_commit and not self.is_valid:
            self.requests.heartbeat(member)

    def prove(self) -> bool:
        member = self.kept.member
        if member.life != self.holdings.life or not member.may_commit:
            return False
        meaning = codes.meaning_of("heartbeat", self.requests.heartbeat(member))
        if meaning is Meaning.OLD_GENERATION and self.kept.member.life == member.life:
            # The next generation has begun while we join, and our join lists what we hold. But was
            # it lost, a static member is passed over, and others are given what it holds.
            return self.is_valid
        if meaning in (Meaning.DONE, Meaning.REBALANCE):
            return self.kept.member.life == member.life
        self.check(self.kept.member)
        return self.is_valid

    def silence(self) -> str:
        """A note for the progress, where the coordinator has not answered for too long."""
        if not self._has_ended():
            return ""
        return f"the group coordinator is silent: {self.requests.trouble}"

    def _has_ended(self) -> bool:
        return self.kept.clock.monotonic() >= self.kept.lease_ends
