"""Compares with Kafka's own assignors, in one JVM: the same shares where Kafka decides them, and
bytes that both sides read.
"""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from random import Random

import pytest

from pyspark_zkgroup.kafka.consumer_protocol import (
    MemberSubscription,
    decode_subscription,
    encode_subscription,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember, assign, cooperative_sticky
from tests.interop.consumer_program import command

pytestmark = pytest.mark.interop

GROUPS = 200
Counts = dict[str, tuple[int, ...]]


class Java:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            command("ConsumerAssignors"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def assign(
        self, name: str, members: list[GroupMember], counts: Counts
    ) -> dict[str, frozenset[TopicPartition]]:
        topics = ",".join(f"{t}={len(numbers)}" for t, numbers in counts.items()) or "-"
        words: list[str] = []
        for member in members:
            sent = base64.b64encode(encode_subscription(member.subscription)).decode()
            words += [member.id, member.instance or "-", sent]
        found = {}
        for word in self.ask(name, topics, *words).split():
            member_id, _, owned = word.partition("=")
            parts = [each.rpartition("-") for each in owned.split(",") if each]
            found[member_id] = frozenset(TopicPartition(t, int(n)) for t, _, n in parts)
        return found


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    started = Java()
    yield started
    assert started.process.stdin is not None
    started.process.stdin.close()
    started.process.wait(30)
    if started.process.stdout is not None:
        started.process.stdout.close()


def random_group(rng: Random) -> tuple[list[GroupMember], Counts]:
    counts = {
        t: tuple(range(rng.randrange(1, 8))) for t in rng.sample("abcde", rng.randrange(1, 5))
    }
    members = []
    for number in range(rng.randrange(1, 6)):
        name = f"{rng.choice('xyz')}{number}"
        topics = tuple(rng.sample(sorted(counts), rng.randrange(1, len(counts) + 1)))
        instance = f"i{rng.randrange(10, 99)}{number}" if rng.random() < 0.4 else None
        members.append(GroupMember(name, MemberSubscription(topics, generation=-1), instance))
    return members, counts


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_the_shares_are_those_of_java(java: Java, name: str) -> None:
    rng = Random(7)
    for _ in range(GROUPS):
        members, counts = random_group(rng)
        assert assign(name, members, counts) == java.assign(name, members, counts), (
            members,
            counts,
        )


def test_java_subscriptions_are_read(java: Java) -> None:
    sent = base64.b64decode(java.ask("subscription", "b,a", "a-0,a-2,b-1", "7"))
    owned = frozenset({TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)})
    assert decode_subscription(sent) == MemberSubscription(("a", "b"), owned, 7)


def test_a_java_leader_honours_what_our_members_own(java: Java) -> None:
    """Its next assignment gives nothing of ours to another, whichever member made the last one."""
    rng = Random(11)
    for generation in range(1, GROUPS):
        members, counts = random_group(rng)
        owned = cooperative_sticky(members, counts)
        joined = [
            GroupMember(
                m.id, MemberSubscription(m.subscription.topics, owned[m.id], generation), m.instance
            )
            for m in members
        ]
        newcomer = GroupMember("w", MemberSubscription(tuple(counts), generation=-1))
        now = java.assign("cooperative-sticky", [*joined, newcomer], counts)
        for member in joined:
            for other, share in now.items():
                if other != member.id:
                    assert not share & member.subscription.owned
