"""Sets each fault of a group that the brokers coordinate, in its variants.

Each setter returns the fault and its remedy, for the key.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.exercise.brokered_scene import BrokeredScene
from tests.exercise.cast import Running
from tests.exercise.faults import Answer, misspelt
from tests.harness.retention import delete_records

_PER_SECOND = 10.0


def _well(scene: BrokeredScene, partitions: int, members: int, **options: str) -> list[Running]:
    """A group of one topic that reads, and has committed everywhere."""
    scene.topic(0, partitions, _PER_SECOND)
    found = [scene.member(**options) for _ in range(members)]
    scene.wait_shared(members)
    return found


def _consumer(scene: BrokeredScene, member: Running) -> str:
    scene.wait(f"{member.name} to report", lambda: scene.consumer(member))
    return scene.consumer(member)


def _behind(scene: BrokeredScene, topic: str, partition: int) -> int:
    return scene.load.sent(topic, partition) - scene.offset(topic, partition)


# -- a member without partitions


def more_members(scene: BrokeredScene) -> Answer:
    scene.topic(0, 2, _PER_SECOND)
    for _ in range(3):
        scene.member()
    group = scene.wait_shared(3, idle=1)
    (idle,) = (member.id for member in group.members if not member.assigned)
    return Answer(
        f"{idle} owns nothing: 3 members for 2 partitions",
        "none needed (a spare); or more partitions, or stop it",
    )


def misspelt_topic(scene: BrokeredScene) -> Answer:
    _well(scene, 4, 1)
    topic = scene.drawn.topics[0]
    wrong = misspelt(topic, scene.dice)
    idle = scene.member(subscribe=wrong)
    scene.wait_shared(2, idle=1)
    return Answer(
        f"{_consumer(scene, idle)} ({idle.name}) owns nothing: it subscribes to {wrong}, which is "
        "no topic",
        f"correct its subscribe: {topic}",
    )


# -- a lagging partition


def hot_partition(scene: BrokeredScene) -> Answer:
    hot = scene.dice.randrange(6)
    topic = scene.topic(0, 6, dict.fromkeys(range(6), _PER_SECOND) | {hot: 400.0})
    for _ in range(2):
        scene.member(maxOffsetsPerTrigger="300")
    scene.wait_shared(2)
    scene.wait("it to lag", lambda: _behind(scene, topic, hot) > 3000)
    return Answer(
        f"{topic}-{hot} lags: it gets 400 records a second, the others {_PER_SECOND:g}, and its "
        "member takes at most 300 in a batch",
        "spread the keys; a higher maxOffsetsPerTrigger (more tasks)",
    )


def slow_reader(scene: BrokeredScene) -> Answer:
    return _one_is_slow(scene, "work 35", "takes some 35 ms for each record")


def stuck_reader(scene: BrokeredScene) -> Answer:
    return _one_is_slow(
        scene, "hang", "hangs in its batch: it keeps its partition, commits nothing"
    )


def _one_is_slow(scene: BrokeredScene, order: str, what: str) -> Answer:
    topic = scene.topic(0, 3, 60.0)
    members = [scene.member(maxOffsetsPerTrigger="600") for _ in range(3)]
    group = scene.wait_shared(3)
    slow = scene.dice.choice(members)
    consumer = _consumer(scene, slow)
    (own,) = (p.partition for m in group.members if m.id == consumer for p in m.assigned)
    slow.tell(order)
    scene.wait("it to lag", lambda: _behind(scene, topic, own) > 1500)
    return Answer(
        f"{topic}-{own} lags: {consumer} ({slow.name}) {what}",
        "see what its batches spend their time on; the machine, the sink",
    )


# -- offsets outside the log


def beyond_the_end(scene: BrokeredScene) -> Answer:
    """A tool has set offsets of another cluster."""
    members = _well(scene, 4, 2)
    topic, lost = scene.drawn.topics[0], scene.dice.randrange(4)
    names = scene.stop_members()
    scene.wait("the group to be empty", lambda: not scene.seen().members)
    scene.set_offsets(topic, {lost: 4_000_000})
    for name in names:
        scene.start(name)
    scene.wait("one to end", lambda: any(not m.is_alive for m in scene.running[len(members) :]))
    return Answer(
        f"the offset of {topic}-{lost} is 4,000,000, beyond the end of its log: the query "
        "that gets the partition ends",
        "zkgroup offsets reset to where reading is to continue; start the queries again",
    )


def by_retention(scene: BrokeredScene) -> Answer:
    """The group was stopped for longer than the topic keeps its records."""
    _well(scene, 4, 2)
    topic, lost = scene.drawn.topics[0], scene.dice.randrange(4)
    scene.stop_members()
    scene.wait("records to come", lambda: _behind(scene, topic, lost) > 100)
    start = scene.offset(topic, lost) + 60
    delete_records(scene.servers, topic, {lost: start})
    return Answer(
        f"{topic}-{lost}: retention deleted the records up to {start} before they were read",
        "reset its offset, or failOnDataLoss=false; start the queries again",
    )


# -- a rebalance storm


def restarted_again_and_again(scene: BrokeredScene) -> Answer:
    _well(scene, 4, 2)
    scene.plain("reports", "--habit", "restarts")
    scene.wait_said_often("reports", "started", 3)
    return Answer(
        "the client 'reports' joins, reads a little and leaves, again and again",
        "find out in its log why it ends; stop what restarts it",
    )


def slow_to_poll(scene: BrokeredScene) -> Answer:
    _well(scene, 4, 2)
    scene.plain("reports", "--habit", "dawdles")
    scene.wait_said_often("reports", "poll", 2)
    return Answer(
        "the client 'reports' works for longer than its max.poll.interval.ms, so that it leaves "
        "and joins again and again",
        "raise its max.poll.interval.ms, or let it take fewer records",
    )


# -- mixed assignors


def refused(scene: BrokeredScene) -> Answer:
    _well(scene, 4, 2)
    odd = scene.member(partition_assignment_strategy="range")
    scene.wait_said(odd, "assign")
    return Answer(
        f"{odd.name} has partition.assignment.strategy=range, the others cooperative-sticky: it "
        "cannot join",
        f"remove the option in {odd.name}, start it again",
    )


def eager_in_all(scene: BrokeredScene) -> Answer:
    scene.topic(0, 4, _PER_SECOND)
    scene.plain("reports", "--assignor", "range")
    scene.member(partition_assignment_strategy="range")
    scene.wait_shared(2)
    return Answer(
        "the plain consumer 'reports' offers range alone, so that the group is eager: each "
        "rebalance takes everything from all",
        "cooperative-sticky in the plain consumer, then in the query",
    )


# -- classic members in a group of the consumer protocol (KIP-848)


def _java_first(scene: BrokeredScene) -> None:
    """The protocol is that of the first member: brokers do not convert a group with queries."""
    scene.java("billing", "consumer")
    scene.wait_shared(1)


def queries_are_classic(scene: BrokeredScene) -> Answer:
    scene.topic(0, 4, _PER_SECOND)
    _java_first(scene)
    member = scene.member()
    scene.wait_shared(2)
    return Answer(
        f"the group uses the consumer protocol (KIP-848); {_consumer(scene, member)} "
        f"({member.name}) still joins by the classic one",
        "none needed for a query of zkgroup; it has no other protocol",
    )


def a_plain_consumer_is_classic(scene: BrokeredScene) -> Answer:
    scene.topic(0, 4, _PER_SECOND)
    _java_first(scene)
    scene.plain("reports")
    scene.wait_shared(2)
    return Answer(
        "the group uses the consumer protocol (KIP-848); the client 'reports' joins by the classic "
        "one",
        "group.protocol=consumer in 'reports', where its library has it",
    )


SETTERS: dict[str, Callable[[BrokeredScene], Answer]] = {
    "more members": more_members,
    "misspelt topic": misspelt_topic,
    "hot partition": hot_partition,
    "slow reader": slow_reader,
    "stuck reader": stuck_reader,
    "beyond the end": beyond_the_end,
    "by retention": by_retention,
    "restarted again and again": restarted_again_and_again,
    "slow to poll": slow_to_poll,
    "refused": refused,
    "eager in all": eager_in_all,
    "queries": queries_are_classic,
    "a plain consumer": a_plain_consumer_is_classic,
}
