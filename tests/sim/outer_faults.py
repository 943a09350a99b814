"""Faults around the drivers: the servers, the topics, the operator, JVM members, all of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark_zkgroup.group.ops import Delete, SetData
from pyspark_zkgroup.model import TopicPartition
from tests.sim.driver_faults import Fault, any_driver, drain, timeout_s

if TYPE_CHECKING:
    from tests.sim.scene import Scene


def zookeeper(scene: Scene) -> bool:
    if not scene.server.up:
        return False
    seconds = scene.rng.choice([0.2, 1.0, timeout_s(scene) * 0.6, timeout_s(scene) * 2])
    scene.world.tell(f"** ZooKeeper is down for {seconds:.1f} s")
    scene.zookeeper_down()
    scene.world.after(seconds, scene.zookeeper_up)
    return True


def rolling(scene: Scene) -> bool:
    scene.world.tell("** rolling deploy")
    drained = scene.rng.random() < 0.5
    for place, query in enumerate(list(scene.cast.queries)):

        def replace(query: object = query) -> None:
            for driver in scene.cast.running:
                if driver.query is query:
                    if drained:
                        drain(scene, driver)
                    else:
                        driver.stop()

        scene.world.after(place * 3.0, replace)
    return True


def joiners(scene: Scene) -> bool:
    count = scene.rng.choice([2, 3, 5])
    if len(scene.cast.queries) + count > 9:
        return False
    scene.world.tell(f"** {count} join at once")
    for _ in range(count):
        scene.new_query(delay=scene.rng.random() * 0.01)
    return True


def grow(scene: Scene) -> bool:
    topic = scene.rng.choice(scene.config.topics)
    partitions = scene.kafka.partitions_of(topic)
    if not partitions or len(scene.kafka.logs) > 30:
        return False
    to = len(partitions) + scene.rng.choice([1, 2, 5])
    scene.world.tell(f"** {topic} grows to {to} partitions")
    scene.kafka.grow(topic, to)
    tell_zookeeper(scene, topic)
    return True


def tell_zookeeper(scene: Scene, topic: str) -> None:

    path = f"/brokers/topics/{topic}"
    if path in scene.server.leader.nodes:
        scene.server.write(SetData(path, scene.kafka.topic_node(topic), -1))
    else:
        scene.server.make(path, scene.kafka.topic_node(topic))


def recreate(scene: Scene) -> bool:
    topic = scene.rng.choice(scene.config.topics)
    if {"lost", "rolled back"} & scene.checkers.allowed_faults:
        return False
    count = len(scene.kafka.partitions_of(topic))
    if not count:
        return False
    scene.checkers.allowed_faults.add("recreated")
    scene.world.tell(f"** {topic} is deleted")
    old = scene.kafka.partitions_of(topic)
    scene.kafka.delete_topic(topic)
    scene.server.delete_tree(f"/brokers/topics/{topic}")

    def make() -> None:
        if scene.world.over:
            return
        scene.world.tell(f"** {topic} is recreated")
        scene.kafka.make_topic(topic, count)
        tell_zookeeper(scene, topic)
        # The operator knows the effect, and sets the offsets at once.
        for partition in old:
            scene.operator.set_offset(partition, 0)

    scene.world.after(scene.rng.choice([0.5, 3.0]), make)
    return True


def reset(scene: Scene) -> bool:
    """Not after a rollback: a fence that comes again may overwrite it (docs/operations.md)."""
    if not scene.kafka.logs or "rolled back" in scene.checkers.allowed_faults:
        return False
    partition = scene.rng.choice(sorted(scene.kafka.logs))
    log = scene.kafka.logs[partition]
    if scene.paths.offset(partition) not in scene.server.leader.nodes:
        return False
    scene.checkers.allowed_faults.add("reset")
    scene.world.tell(f"** the operator sets {partition}")
    scene.operator.set_offset(partition, scene.rng.randrange(log.earliest, log.latest + 1))
    return True


def delete_and_import(scene: Scene) -> bool:
    """`--delete` and an import: the same nodes with the same versions in another life."""
    saved = scene.operator.offset_nodes()
    if not saved or {"lost", "rolled back"} & scene.checkers.allowed_faults:
        return False
    scene.checkers.allowed_faults.add("import")
    scene.world.tell("** the group's offsets are deleted and imported")
    lower = scene.rng.random() < 0.5
    scene.server.delete_tree(scene.paths.offsets)

    def again() -> None:
        if scene.world.over:
            return
        for path, data in saved.items():
            value = int(data) // 2 if lower else int(data)
            topic, number = path.split("/")[-2:]
            log = scene.kafka.logs.get(TopicPartition(topic, int(number)))
            value = max(value, log.earliest if log else 0)
            if path in scene.server.leader.nodes:
                scene.server.write(SetData(path, b"%d" % value, -1))
            else:
                scene.server.make(path, b"%d" % value)

    again()
    return True


def lost_group(scene: Scene) -> bool:
    """All that ZooKeeper had of the group is gone; the members' sessions are not."""
    saved = scene.operator.offset_nodes()
    if len(saved) < len(scene.kafka.logs) or scene.checkers.allowed_faults - {"leader"}:
        # What an operator has just set and no member has seen yet, no member can restore.
        return False
    if scene.config.starting == "latest":
        # To a member that knows nothing of it this is a new group.
        return False
    scene.world.tell("** the group's nodes are lost")
    scene.checkers.allowed_faults.add("lost")
    scene.server.delete_tree(scene.paths.root)
    return True


def leaderless(scene: Scene) -> bool:
    logs = scene.rng.sample(sorted(scene.kafka.logs), min(4, len(scene.kafka.logs)))
    scene.checkers.allowed_faults.add("leader")
    scene.world.tell(f"** no leader: {', '.join(map(str, logs))}")
    for partition in logs:
        scene.kafka.logs[partition].has_leader = False

    def heal() -> None:
        for partition in logs:
            if partition in scene.kafka.logs:
                scene.kafka.logs[partition].has_leader = True

    scene.world.after(scene.rng.choice([1.0, 5.0, 15.0]), heal)
    return True


def retention(scene: Scene) -> bool:
    """Takes what is committed: more would be a loss that no member can prevent."""
    done = False
    # A zombie, or a replay of its batch, may still want what others have read and committed.
    scene.checkers.allowed_faults.add("retention")
    for path, data in scene.operator.offset_nodes().items():
        topic, number = path.split("/")[-2:]
        log = scene.kafka.logs.get(TopicPartition(topic, int(number)))
        if log is not None and data.isdigit():
            log.earliest = max(log.earliest, min(int(data), log.latest))
            done = True
    return done


def vandal(scene: Scene) -> bool:
    """An operator deletes an owner node."""
    owned = sorted(scene.checkers.owner)
    if not owned:
        return False
    partition = scene.rng.choice(owned)
    scene.world.tell(f"** an operator deletes the owner node of {partition}")

    scene.server.write(Delete(scene.paths.owner(partition), -1))
    return True


def vandal_among_joiners(scene: Scene) -> bool:
    """Shares change, an owner node is deleted under a member in a long batch, and shares change
    back before it looks.
    """
    driver = any_driver(scene)
    if driver is None:
        return False
    driver.query.overlong_next_s = 4.0
    leaving = scene.new_query()
    leaving.available_now = False

    def go() -> None:
        for other in scene.cast.running:
            if other.query is leaving:
                leaving.ended = True
                other.stop()

    def delete() -> None:
        session = driver.membership.keeper.session
        mine = [p for p, s in sorted(scene.checkers.owner.items()) if session and s == session.id]
        for partition in scene.rng.sample(mine, min(3, len(mine))):
            scene.world.tell(f"** an operator deletes the owner node of {partition}")
            scene.server.write(Delete(scene.paths.owner(partition), -1))

    scene.world.tell(f"** shares change under {driver.name}")
    scene.world.after(1.0 + scene.rng.random(), delete)
    scene.world.after(2.5 + scene.rng.random(), go)
    return True


def twin(scene: Scene) -> bool:
    """A paused driver and its replacement: two on one checkpoint."""
    driver = any_driver(scene)
    if driver is None or driver.query.available_now:
        return False
    query = driver.query
    query.twins = True
    scene.world.tell(f"** a second driver of {query.name}")
    driver.process.pause(timeout_s(scene) * scene.rng.choice([0.3, 1.0, 3.0]))
    scene.world.after(scene.rng.random() * 2.0, lambda: scene.launch(query))
    return True


def jvm_joins(scene: Scene) -> bool:
    if len(scene.cast.jvms) >= 3:
        return False
    scene.new_jvm()
    return True


def each_jvm(name: str, act: Callable[[Scene, object], None]) -> Fault:
    def fault(scene: Scene) -> bool:
        alive = [j for j in scene.cast.jvms if not j.gone]
        if not alive:
            return False
        jvm = scene.rng.choice(alive)
        scene.world.tell(f"** {name}: {jvm.name}")
        act(scene, jvm)
        return True

    return fault


def jvm_dies(scene: Scene, jvm: object) -> None:
    jvm.process.kill()  # type: ignore[attr-defined]


def jvm_sleeps(scene: Scene, jvm: object) -> None:
    jvm.process.pause(timeout_s(scene) * scene.rng.choice([0.5, 2.0, 3.0]))  # type: ignore[attr-defined]


def jvm_stops(scene: Scene, jvm: object) -> None:
    jvm.stop()  # type: ignore[attr-defined]
