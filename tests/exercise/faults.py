"""Sets each fault, in its variants: from a healthy group to one that waits for its operator.

Each setter returns the fault and its remedy, for the key.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.exercise.cast import SESSION_MS, Running
from tests.exercise.scene import COORDINATOR, Scene
from tests.harness.retention import delete_records

# Of one partition, where nothing is wrong.
_PER_SECOND = 10.0


@dataclass(frozen=True)
class Answer:
    """What has been set, and what a good answer says."""

    fault: str
    remedy: str


def _well(scene: Scene, partitions: int, members: int, **options: str) -> list[Running]:
    """A group of one topic that reads, and has committed everywhere."""
    scene.topic(0, partitions, _PER_SECOND)
    found = [scene.member(**options) for _ in range(members)]
    scene.wait_owned(members)
    return found


def _consumer(scene: Scene, member: Running) -> str:
    scene.wait(f"{member.name} to report", lambda: scene.consumer(member))
    return scene.consumer(member)


# -- stuck owner


def node_without_member(scene: Scene) -> Answer:
    """A tool has made an owner node, in the name of a member of before."""
    members = _well(scene, 6, 2)
    topic, partition = scene.drawn.topics[0], scene.dice.randrange(6)
    gone = _consumer(scene, scene.dice.choice(members))
    names = scene.stop_members()
    path = scene.owner_path(topic, partition)
    scene.client.create(path, f"{gone}-0".encode(), makepath=True)
    for name in names:
        scene.start(name)
    scene.wait("the rest to be owned", lambda: len(scene.owners()) == 6)
    return Answer(
        f"{topic}-{partition} has a persistent owner node of {gone}, which is no member any more",
        f"delete {path} (or zkgroup members evict)",
    )


def session_of_no_member(scene: Scene) -> Answer:
    """Some process holds an owner node, and is registered nowhere."""
    members = _well(scene, 6, 2)
    topic, partition = scene.drawn.topics[0], scene.dice.randrange(6)
    gone = _consumer(scene, scene.dice.choice(members))
    names = scene.stop_members()
    path = scene.owner_path(topic, partition)
    client = scene.other_session()
    client.create(path, f"{gone}-0".encode(), ephemeral=True, makepath=True)
    for name in names:
        scene.start(name)
    scene.wait("the rest to be owned", lambda: len(scene.owners()) == 6)
    session = client.client_id[0]
    return Answer(
        f"{topic}-{partition} is owned in session {session:#x}, whose process is no member",
        "find the process of the session (cons) and end it",
    )


def member_that_hangs(scene: Scene) -> Answer:
    """Its batch never ends, its session lives; another one has joined and waits."""
    members = _well(scene, 6, 2)
    stuck = scene.dice.choice(members)
    consumer = _consumer(scene, stuck)
    topic, own = next(one for one, owner in sorted(scene.owners().items()) if consumer in owner)
    stuck.tell("hang")
    scene.wait("it to hang", lambda: _behind(scene, topic, own) > 8 * _PER_SECOND)
    newcomer = scene.member()
    others = [m for m in (*members, newcomer) if m is not stuck]

    def waited_for() -> bool:
        texts = [(scene.logs / f"{m.name}.log").read_text() for m in others]
        return any("ZKG-122" in text and consumer in text for text in texts)

    scene.wait("a member to wait for it", waited_for)
    return Answer(
        f"{consumer} ({stuck.name}) hangs in its batch: it keeps its partitions, commits nothing, "
        "and releases nothing",
        "end its process, or zkgroup members evict",
    )


# -- a member owning nothing


def more_threads(scene: Scene) -> Answer:
    options = {"threads": "2", "partition_assignment_strategy": "range"}
    _well(scene, 4, 2, **options)
    _consumer(scene, scene.member(**options))

    def idle() -> list[str]:
        owning = {text.rpartition("-")[0] for text in scene.owners().values()}
        return [consumer for consumer in scene.registered() if consumer not in owning]

    scene.wait("one member to own nothing", lambda: len(scene.owners()) == 4 and len(idle()) == 1)
    return Answer(
        f"{idle()[0]} owns nothing: range gives 4 partitions to the first 4 of 6 threads",
        "none needed (a spare); or the default strategy, more partitions, or fewer threads",
    )


def misspelt_topic(scene: Scene) -> Answer:
    _well(scene, 4, 1)
    topic = scene.drawn.topics[0]
    wrong = misspelt(topic, scene.dice)
    idle = scene.member(subscribe=wrong)
    consumer = _consumer(scene, idle)
    return Answer(
        f"{consumer} ({idle.name}) owns nothing: it subscribes to {wrong}, which is no topic",
        f"correct its subscribe: {topic}",
    )


def misspelt(topic: str, dice: random.Random) -> str:
    at = dice.randrange(1, len(topic) - 2)
    wrong = topic[:at] + topic[at + 1] + topic[at] + topic[at + 2 :]
    return topic[:-1] if wrong == topic else wrong


def small_topics(scene: Scene) -> Answer:
    """Range deals each topic alone: of one partition each, the first member gets all."""
    for index in range(3):
        scene.topic(index, 1, _PER_SECOND)
    members = [scene.member(partition_assignment_strategy="range") for _ in range(2)]
    scene.wait_owned(1)
    for member in members:
        _consumer(scene, member)
    owning = {text.rpartition("-")[0] for text in scene.owners().values()}
    idle = [c for c in map(scene.consumer, members) if c not in owning]
    return Answer(
        f"{', '.join(idle)} owns nothing: range gives the first member the one partition of each "
        "of 3 topics",
        "partition.assignment.strategy left at its default in all members (or more partitions)",
    )


# -- a lagging partition


def hot_partition(scene: Scene) -> Answer:
    hot = scene.dice.randrange(6)
    rates = dict.fromkeys(range(6), _PER_SECOND) | {hot: 400.0}
    topic = scene.topic(0, 6, rates)
    for _ in range(2):
        scene.member(maxOffsetsPerTrigger="300")
    scene.wait_owned(2)
    scene.wait("it to lag", lambda: _behind(scene, topic, hot) > 3000)
    return Answer(
        f"{topic}-{hot} lags: it gets 400 records a second, the others {_PER_SECOND:g}, and its "
        "member takes at most 300 in a batch",
        "spread the keys; a higher maxOffsetsPerTrigger (more tasks)",
    )


def slow_reader(scene: Scene) -> Answer:
    topic = scene.topic(0, 3, 60.0)
    members = [scene.member(maxOffsetsPerTrigger="600") for _ in range(3)]
    scene.wait_owned(3)
    slow = scene.dice.choice(members)
    consumer = _consumer(scene, slow)
    (own,) = [p for (_, p), owner in scene.owners().items() if consumer in owner]
    slow.tell("work 35")
    scene.wait("it to lag", lambda: _behind(scene, topic, own) > 1500)
    return Answer(
        f"{topic}-{own} lags: {consumer} ({slow.name}) takes some 35 ms for each record",
        "see what its batches spend their time on; the machine, the sink",
    )


def _behind(scene: Scene, topic: str, partition: int) -> int:
    return scene.load.sent(topic, partition) - scene.offset(topic, partition)


# -- lost offsets


def under_its_members(scene: Scene) -> Answer:
    _well(scene, 6, 2)
    topic = scene.drawn.topics[0]
    lost = sorted(scene.dice.sample(range(5), 2))
    paths = [scene.offset_path(topic, p) for p in lost]
    # Long enough after they were created to differ from the others.
    made_ms = scene.client.exists(paths[0]).ctime
    scene.wait("the nodes to age", lambda: time.time() * 1000 - made_ms > 15_000)
    for path in paths:
        scene.client.delete(path)
    scene.wait("them to be recreated", lambda: all(scene.text(path) for path in paths))
    named = ", ".join(f"{topic}-{p}" for p in lost)
    return Answer(
        f"the offset nodes of {named} were deleted; their members recreated them from their "
        "own progress",
        "nothing is lost; compare with a backup, find out who deletes nodes",
    )


def with_their_reader(scene: Scene) -> Answer:
    """The others do not know where it was: they wait a minute for it, then start over."""
    members = _well(scene, 6, 3)
    reader = scene.dice.choice(members)
    consumer = _consumer(scene, reader)
    lost = sorted(one for one, owner in scene.owners().items() if consumer in owner)
    reader.kill()
    for one in lost:
        scene.client.delete(scene.offset_path(*one))
    scene.wait(
        "the others to want them",
        lambda: any(
            "was lost" in (scene.logs / f"{m.name}.log").read_text()
            for m in members
            if m is not reader
        ),
    )
    named = ", ".join(f"{topic}-{p}" for topic, p in lost)
    return Answer(
        f"the offset nodes of {named} were deleted while {consumer} ({reader.name}), which read "
        "them, was dead: the others begin them at the logs' start after a minute",
        f"start {reader.name} again on its checkpoint within the minute; after it, records come "
        "twice: set the offsets from a backup (members stopped)",
    )


def by_retention(scene: Scene) -> Answer:
    """The group was stopped for longer than the topic keeps its records."""
    _well(scene, 6, 2)
    topic, partition = scene.drawn.topics[0], scene.dice.randrange(6)
    names = scene.stop_members()
    committed = scene.offset(topic, partition)
    scene.wait("more records", lambda: scene.load.sent(topic, partition) > committed + 100)
    delete_records(scene.sandbox.bootstrap_servers, topic, {partition: committed + 80})
    for member in [scene.start(name) for name in names]:
        scene.wait_ended(member)
    return Answer(
        f"{topic}-{partition}: records from {committed} to {committed + 80} were deleted before "
        "they were read, so every query that should read it ends with ZKG-013",
        "zkgroup offsets reset to the log's start, or failOnDataLoss=false; then start the queries",
    )


# -- a wrong assignor in one member


def the_last_one(scene: Scene) -> Answer:
    _well(scene, 6, 2)
    odd = scene.member(partition_assignment_strategy="roundrobin")
    scene.wait_ended(odd)
    return Answer(
        f"{odd.name} has partition.assignment.strategy=roundrobin, the others range: it was "
        "refused (ZKG-004) and has ended",
        f"set range in {odd.name}, and start it again",
    )


def the_first_one(scene: Scene) -> Answer:
    """The others are refused, though they are right."""
    (odd,) = _well(scene, 6, 1, partition_assignment_strategy="roundrobin")
    others = [scene.member() for _ in range(2)]
    for other in others:
        scene.wait_ended(other)
    return Answer(
        f"{odd.name} has partition.assignment.strategy=roundrobin and came first; "
        f"{others[0].name} and {others[1].name}, with range, were refused (ZKG-004) and have ended",
        f"set {odd.name} to range as the others (stop it, start all): one strategy in all",
    )


def after_a_pause(scene: Scene) -> Answer:
    """It was away for longer than its session when the others came, and is back."""
    (odd,) = _well(scene, 6, 1, partition_assignment_strategy="roundrobin")
    _consumer(scene, odd)
    odd.signal(signal.SIGSTOP)
    scene.wait("its session to end", lambda: not scene.registered())
    for _ in range(2):
        scene.member()
    scene.wait_owned(2)
    odd.signal(signal.SIGCONT)
    scene.wait("it to come back", lambda: len(scene.registered()) == 3)
    return Answer(
        f"{scene.consumer(odd)} ({odd.name}) assigns by roundrobin, the two others by range",
        f"stop {odd.name}, set range in it, start it again",
    )


# -- a dead coordinator


def _headless(scene: Scene, end: Callable[[Running], object]) -> Answer:
    arguments = ["--zookeeper", scene.connect, "--session-timeout-ms", str(SESSION_MS)]
    office = scene.process("tests.exercise.office", arguments, "coordinator")
    scene.wait("a coordinator in office", lambda: scene.text(COORDINATOR))
    told = {"protocol": "coordinator", "coordinator_candidate": "false"}
    members = _well(scene, 6, 2, **told)
    end(office)
    scene.wait("the office to be empty", lambda: not scene.text(COORDINATOR))
    if scene.dice.random() < 0.5:
        untold = scene.member(**told)
        scene.wait("it to register", lambda: len(scene.registered()) == 3)
        consequence = f"{untold.name}, which came after, reads nothing"
    else:
        dead = scene.dice.choice(members)
        dead.kill()
        scene.wait("its session to end", lambda: len(scene.registered()) == 1)
        consequence = f"what {dead.name}, which died after, has read, is not read"
    return Answer(
        f"the coordinator is gone and there is no other candidate; {consequence}",
        "start a candidate: zkgroup coordinator, or a query with coordinator.candidate=true",
    )


def killed(scene: Scene) -> Answer:
    return _headless(scene, Running.kill)


def ended(scene: Scene) -> Answer:
    return _headless(scene, Running.terminate)


def stopped(scene: Scene) -> Answer:
    return _headless(scene, lambda office: office.signal(signal.SIGSTOP))


SETTERS: dict[str, Callable[[Scene], Answer]] = {
    "node without a member": node_without_member,
    "member that hangs": member_that_hangs,
    "session of no member": session_of_no_member,
    "more threads": more_threads,
    "misspelt topic": misspelt_topic,
    "small topics": small_topics,
    "hot partition": hot_partition,
    "slow reader": slow_reader,
    "under its members": under_its_members,
    "with their reader": with_their_reader,
    "by retention": by_retention,
    "the last one": the_last_one,
    "the first one": the_first_one,
    "after a pause": after_a_pause,
    "killed": killed,
    "ended": ended,
    "stopped": stopped,
}
