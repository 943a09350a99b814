"""What a member still knows after it has lost its membership."""

from __future__ import annotations

from pyspark_zkgroup.model import Fence, TopicPartition
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupProgress

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_lost_membership_is_counted_and_leaves_what_is_known() -> None:
    progress = GroupProgress(Fence("1a-0.7"), value=5, done=9)
    holdings = KafkaHoldings({P0: progress, P1: progress}, {P0, P1}, {P0: "why"}, {P1})
    for life in (1, 2):
        holdings.lose(life)
        assert (holdings.life, holdings.dropped) == (life, 2)
    assert holdings.known == {P0: progress, P1: progress}
    assert not holdings.held | holdings.replayed | holdings.waiting.keys()


def test_what_is_given_back_is_forgotten_unless_it_is_not_committed() -> None:
    settled, unsettled = (GroupProgress(Fence("1a-0.7"), 5, n) for n in (5, 9))
    holdings = KafkaHoldings({P0: settled, P1: unsettled}, {P0, P1}, replayed={P0, P1})
    for partition in (P0, P1):
        holdings.give_back(partition)
    assert holdings.known == {P1: unsettled}
    assert not holdings.held | holdings.replayed
