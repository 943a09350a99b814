"""When a member joins a rebalance, what it gives up for that, and how long a boundary waits."""

from __future__ import annotations

from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.keeper import GroupKeeper
from pyspark_zkgroup.protocols.kafka.rules.member import Member
from pyspark_zkgroup.protocols.kafka.topics import KafkaTopics


class KafkaJoining:
    def __init__(
        self, keeper: GroupKeeper, holdings: KafkaHoldings, topics: KafkaTopics, wait_s: float
    ) -> None:
        self.keeper = keeper
        self.kept = keeper.kept
        self.holdings = holdings
        self.topics = topics
        self.wait_s = wait_s
        self._until = float("-inf")

    @property
    def is_cooperative(self) -> bool:
        return self.keeper.settings.is_cooperative

    def notice_topics(self, member: Member) -> None:
        """The leader assigns what it knows of: it looks after the topics of all members."""
        if tuple(self.topics.own()) != self.kept.joined_topics:
            self.kept.ask_to_join("the topics that match the subscription have changed")
        led = self.kept.led.topics
        if (
            member.leads
            and led is not None
            and any(self.topics.numbers.get(t, ()) != numbers for t, numbers in led.items())
        ):
            self.kept.ask_to_join("partitions have appeared or gone")

    def begin(self, member: Member) -> None:
        """What is not settled by now stays known, and settles what comes back untouched."""
        if not self.is_cooperative:
            for partition in list(self.holdings.held):
                self.holdings.give_back(partition)
        if self.keeper.begin_join(member, frozenset(self.holdings.held), self.topics.own()):
            self._until = self.kept.clock.monotonic() + self.wait_s

    def wait(self, wait_until: float) -> None:
        """The same join is waited for once; then boundaries continue with what is held."""
        until = min(wait_until, self._until)
        while (member := self.kept.member).phase == "rebalancing" and not member.fatal:
            left_s = until - self.kept.clock.monotonic()
            if left_s <= 0:
                return
            self.kept.await_change(member, left_s)
