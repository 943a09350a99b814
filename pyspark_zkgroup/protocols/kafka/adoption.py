"""How a member takes over its newest assignment: what must move goes first, then it claims."""

from __future__ import annotations

from pyspark_zkgroup.protocols.emptiness import Emptiness
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.rules.member import Member
from pyspark_zkgroup.protocols.kafka.topics import KafkaTopics

# What was not complete is tried again after so long, not at each of Spark's idle triggers.
_AGAIN_S = 0.5


class KafkaAdoption:
    def __init__(self, claims: KafkaClaims, topics: KafkaTopics, patience_s: float) -> None:
        """`patience_s`: after so long without progress the group is asked for another leader."""
        self.claims = claims
        self.holdings = claims.holdings
        self.kept = claims.requests.kept
        self.topics = topics
        self.emptiness = Emptiness(self.kept.group, self.kept.clock)
        self.has_begun = False
        """An assignment has come, now or earlier."""
        self._patience_s = patience_s
        self._adopted = (-1, -1)
        self._again_at = float("-inf")
        self._incomplete_since = float("inf")

    def is_complete(self, member: Member) -> bool:
        return self._adopted == (member.life, member.generation)

    def is_due(self, member: Member) -> bool:
        """Whether another try may complete what is not."""
        open_ = member.phase == "stable" and not self.is_complete(member)
        return (open_ or self.holdings.unsettled) and self.kept.clock.monotonic() >= self._again_at

    def put_off(self) -> None:
        self._again_at = self.kept.clock.monotonic() + _AGAIN_S

    def adopt(self, member: Member) -> bool:
        """Give back what is committed, then claim; the rest at a later time. False where the next
        join is due.
        """
        self.has_begun = True
        moving = self.holdings.held - member.assigned
        if any(self.holdings.known[p].unsettled for p in moving) and not (
            self.claims.commit_finished(member)
        ):
            self.put_off()
            return True
        for partition in moving:
            self.holdings.give_back(partition)
        led = self.claims.lead(member, self.kept.led.ours)
        self.claims.claim(member, member.assigned - self.holdings.held)
        now = self.kept.clock.monotonic()
        if led and not self.holdings.waiting:
            self._adopted = (member.life, member.generation)
            self._incomplete_since = float("inf")
            self.emptiness.look(member.assigned, self.topics.missing(), self.topics.subscribed)
        else:
            self._again_at = now + _AGAIN_S
            self._incomplete_since = min(self._incomplete_since, now)
        if now - self._incomplete_since > self._patience_s:
            # Perhaps the leader is a static member that came back and leads no more.
            self._incomplete_since = float("inf")
            self.kept.ask_to_join("some partitions cannot be claimed under this leader")
        if moving:
            self.kept.ask_to_join(f"{len(moving)} partitions were given back")
            return False
        return True
