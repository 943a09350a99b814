"""Any order of events: nothing is started while another live member reads it, and in the end every
partition of the subscriptions has exactly one reader.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.decisions import MembersChanged
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import threads_of_group
from tests.harness.coordinated import World

GROUPS = ("g", "h")
CONSUMERS = ("a", "b", "c")
TOPICS = ("t", "u", "v")
SUBSCRIPTIONS = (
    Subscription.static({"t": 1}),
    Subscription.static({"t": 2, "u": 1}),
    Subscription.static({"u": 1, "v": 3}),
    Subscription.white_list("[tu]", 2),
    Subscription.black_list("t", 1),
)
SMALL = st.integers(0, 7)
GROUP, CONSUMER = st.sampled_from(GROUPS), st.sampled_from(CONSUMERS)
STEPS = st.one_of(
    st.tuples(st.just("join"), GROUP, CONSUMER, st.sampled_from(SUBSCRIPTIONS)),
    st.tuples(st.just("die"), GROUP, CONSUMER),
    st.tuples(st.just("set_topic"), st.sampled_from(TOPICS), st.integers(0, 5)),
    st.tuples(st.just("notice"), SMALL),
    st.tuples(st.just("take")),
    st.tuples(st.just("bring_back"), SMALL),
    st.tuples(st.just("boundary"), GROUP, CONSUMER),
    st.tuples(st.just("boundary"), GROUP, CONSUMER),
    st.tuples(st.just("hear"), SMALL),
    st.tuples(st.just("elect")),
    st.tuples(st.just("settle")),
)
POSSIBLE = {"notice": "watches", "bring_back": "reads", "hear": "answers"}


def run(world: World, step: tuple[object, ...]) -> None:
    name, *arguments = step
    needed = POSSIBLE.get(str(name))
    if needed is None or getattr(world, needed):
        getattr(world, str(name))(*arguments)


def one_reader_each(world: World) -> None:
    for group, seats in world.groups.items():
        members = {consumer: seat.member for consumer, seat in seats.items()}
        threads = threads_of_group(members, world.topics)
        wanted = {TopicPartition(t, n) for t in threads for n in world.topics[t]}
        readers = world.readers(group)
        assert set(readers) == wanted
        assert all(len(consumers) == 1 for consumers in readers.values())
        for consumer, seat in seats.items():
            told = {(t, n) for t, takers in threads.items() for n in takers}
            assert all((p.topic, ThreadId(consumer, n)) in told for p, n in seat.reading.items())


@settings(max_examples=3 * settings().max_examples)
@given(st.lists(STEPS, max_size=60))
def test_one_reader_for_each_partition_whatever_happens(steps: list[tuple[object, ...]]) -> None:
    world = World()
    for topic, partitions in zip(TOPICS, (3, 2, 4), strict=True):
        world.set_topic(topic, partitions)
    for step in steps:
        run(world, step)
    world.settle()
    one_reader_each(world)
    assert world.coordinator.rebalancing == frozenset()
    # Calm stays calm: the same look again moves nothing.
    before = world.stops, world.starts
    for group in world.groups:
        world.watches.append(MembersChanged(group))
    world.settle()
    assert (world.stops, world.starts) == before
