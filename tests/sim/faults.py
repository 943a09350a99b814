"""What can befall a scene. Each fault is drawn a time; many then wait for a certain step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark_zkgroup.group.ops import Delete, SetData
from pyspark_zkgroup.model import TopicPartition
from tests.sim.process import Process, Trigger
from tests.sim.query import Driver

if TYPE_CHECKING:
    from tests.sim.scene import Scene

Fault = Callable[["Scene"], bool]

_ANY = ""
_POINTS = (
    _ANY,
    _ANY,
    "spark planned",
    "spark logged",
    "spark partitions",
    "spark read",
    "spark sunk",
    "spark finished",
    "multi",
    "answer",
    "sync",
    "children",
    "nodes",
    "open",
    "kafka",
)


def draw(scene: Scene) -> None:
    rng = scene.rng
    for _ in range(rng.choice([3, 5, 6, 7, 8, 10])):
        name = rng.choices(list(FAULTS), [weight for weight, _ in FAULTS.values()])[0]
        scene.world.after(0.5 + rng.random() * 25.0, lambda name=name: _befall(scene, name))  # type: ignore[misc]


def _befall(scene: Scene, name: str) -> None:
    if scene.world.over or scene.healing:
        return
    if FAULTS[name][1](scene):
        scene.faults += 1
        scene.counts[f"fault: {name}"] += 1


def _driver(scene: Scene) -> Driver | None:
    running = [d for d in scene.running if not d.process.access.paused]
    return scene.rng.choice(running) if running else None


def _at(scene: Scene, driver: Driver, act: Callable[[], None], name: str) -> None:
    """At one of its next steps."""
    point = scene.rng.choice(_POINTS)
    skip = scene.rng.choice([0, 0, 1, 2, 4, 8])

    def told() -> None:
        if not scene.healing and not scene.world.over and not driver.gone:
            scene.world.tell(f"** {name}: {driver.name} (at {point or 'any step'})")
            act()

    driver.process.triggers.append(Trigger(lambda what: what.startswith(point), skip, told))


def _each(name: str, act: Callable[[Scene, Driver], None]) -> Fault:
    def fault(scene: Scene) -> bool:
        driver = _driver(scene)
        if driver is None:
            return False
        _at(scene, driver, lambda: act(scene, driver), name)
        return True

    return fault


def _at_claim(name: str, act: Callable[[Scene, Driver], None]) -> Fault:
    """Just before the next claims of one member: a member that joins makes some soon."""

    def fault(scene: Scene) -> bool:
        driver = _driver(scene)
        if driver is None:
            return False

        def told() -> None:
            if not scene.healing and not scene.world.over and not driver.gone:
                scene.world.tell(f"** {name}: {driver.name}")
                act(scene, driver)

        driver.process.triggers.append(
            Trigger(lambda what: what.startswith(f"multi Create {scene.paths.owners}"), 0, told)
        )
        return True

    return fault


def _timeout(scene: Scene) -> float:
    return scene.session_ms / 1000.0


def _kill(scene: Scene, driver: Driver) -> None:
    driver.process.kill()


def _kill_planner(scene: Scene, driver: Driver) -> None:
    driver.process.kill(planner_only=True)


def _kill_in_replay(scene: Scene, driver: Driver) -> None:
    """Killed now, and its successor at one of the first steps of the replay."""
    driver.process.kill()

    def again() -> None:
        following = driver.query.driver
        if following is driver or following is None or following.gone:
            return
        _at_once(scene, following.process, lambda: following.process.kill(), "killed in its replay")

    for delay in (0.2, 1.0, 3.0):
        scene.world.after(delay, again)


def _at_once(scene: Scene, process: Process, act: Callable[[], None], name: str) -> None:
    if process.triggers or process.driver_dead:
        return

    def told() -> None:
        if not scene.healing:
            scene.world.tell(f"** {name}: {process.name}")
            act()

    process.triggers.append(Trigger(lambda _what: True, scene.rng.randrange(0, 12), told))


def _pause(share: float) -> Callable[[Scene, Driver], None]:
    def act(scene: Scene, driver: Driver) -> None:
        driver.process.pause(_timeout(scene) * share * (0.5 + scene.rng.random()))

    return act


def _expire(scene: Scene, driver: Driver) -> None:
    session = driver.membership.keeper.session
    if session is not None:
        session.expire()  # type: ignore[attr-defined]


def _cut(share: float, silent: bool) -> Callable[[Scene, Driver], None]:
    def act(scene: Scene, driver: Driver) -> None:
        seconds = _timeout(scene) * share * (0.5 + scene.rng.random())
        driver.process.cut(seconds, silent=silent)

    return act


def _cut_kafka(scene: Scene, driver: Driver) -> None:
    driver.process.cut_kafka(scene.rng.choice([1.0, 5.0, 30.0]))


def _lose_then_join(scene: Scene, driver: Driver) -> None:
    """A claim is executed and not answered, and what it claimed is another's by the next look."""
    driver.process.access.lose_next = "executed"
    for _ in range(2):
        if len(scene.queries) < 9:
            scene.new_query(delay=0.01)


def _lose(fate: str) -> Callable[[Scene, Driver], None]:
    def act(scene: Scene, driver: Driver) -> None:
        driver.process.access.lose_next = fate  # type: ignore[assignment]

    return act


def _stop(scene: Scene, driver: Driver) -> None:
    driver.stop()


def _stop_group(scene: Scene, driver: Driver) -> None:
    driver.stop_group(scene.rng.randrange(0, 6))


def _drain(scene: Scene, driver: Driver) -> None:
    """`pyspark_zkgroup.stop(query)`."""
    driver.drain.asked = True

    def look() -> None:
        if driver.gone or scene.world.over:
            return
        if driver.drain.acknowledged:
            scene.world.tell(f"{driver.name} is drained")
            driver.stop()
        else:
            scene.world.after(0.2, look)

    look()


def _slow(scene: Scene, driver: Driver) -> None:
    """A batch of hours; one at a time, or the scene ends before the second one."""
    if scene.world.lazy:
        return
    driver.query.slow_next_s = scene.rng.choice([30.0, 3600.0, 7200.0])


def _zookeeper(scene: Scene) -> bool:
    if not scene.server.up:
        return False
    seconds = scene.rng.choice([0.2, 1.0, _timeout(scene) * 0.6, _timeout(scene) * 2])
    scene.world.tell(f"** ZooKeeper is down for {seconds:.1f} s")
    scene.zookeeper_down()
    scene.world.after(seconds, scene.zookeeper_up)
    return True


def _rolling(scene: Scene) -> bool:
    scene.world.tell("** rolling deploy")
    drained = scene.rng.random() < 0.5
    for place, query in enumerate(list(scene.queries)):

        def replace(query: object = query) -> None:
            for driver in scene.running:
                if driver.query is query:
                    if drained:
                        _drain(scene, driver)
                    else:
                        driver.stop()

        scene.world.after(place * 3.0, replace)
    return True


def _joiners(scene: Scene) -> bool:
    count = scene.rng.choice([2, 3, 5])
    if len(scene.queries) + count > 9:
        return False
    scene.world.tell(f"** {count} join at once")
    for _ in range(count):
        scene.new_query(delay=scene.rng.random() * 0.01)
    return True


def _grow(scene: Scene) -> bool:
    topic = scene.rng.choice(scene.topics)
    partitions = scene.kafka.partitions_of(topic)
    if not partitions or len(scene.kafka.logs) > 30:
        return False
    to = len(partitions) + scene.rng.choice([1, 2, 5])
    scene.world.tell(f"** {topic} grows to {to} partitions")
    scene.kafka.grow(topic, to)
    _tell_zookeeper(scene, topic)
    return True


def _tell_zookeeper(scene: Scene, topic: str) -> None:

    path = f"/brokers/topics/{topic}"
    if path in scene.server.leader.nodes:
        scene.server.write(SetData(path, scene.kafka.topic_node(topic), -1))
    else:
        scene.server.make(path, scene.kafka.topic_node(topic))


def _recreate(scene: Scene) -> bool:
    topic = scene.rng.choice(scene.topics)
    if "lost" in scene.checkers.allowed_faults:
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
        scene.world.tell(f"** {topic} is made anew")
        scene.kafka.make_topic(topic, count)
        _tell_zookeeper(scene, topic)
        # The operator knows what this takes, and sets the offsets at once.
        for partition in old:
            scene.set_offset(partition, 0)

    scene.world.after(scene.rng.choice([0.5, 3.0]), make)
    return True


def _reset(scene: Scene) -> bool:
    if not scene.kafka.logs:
        return False
    partition = scene.rng.choice(sorted(scene.kafka.logs))
    log = scene.kafka.logs[partition]
    if scene.paths.offset(partition) not in scene.server.leader.nodes:
        return False
    scene.checkers.allowed_faults.add("reset")
    scene.world.tell(f"** the operator sets {partition}")
    scene.set_offset(partition, scene.rng.randrange(log.earliest, log.latest + 1))
    return True


def _import(scene: Scene) -> bool:
    """`--delete` and an import: the same nodes with the same versions in another life."""
    saved = scene.group_nodes()
    if not saved or "lost" in scene.checkers.allowed_faults:
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


def _lost_group(scene: Scene) -> bool:
    """All that ZooKeeper had of the group is gone; the members' sessions are not."""
    saved = scene.group_nodes()
    if len(saved) < len(scene.kafka.logs) or scene.checkers.allowed_faults - {"leader"}:
        # What somebody has just set and no member has seen yet, none can restore.
        return False
    if scene.starting == "latest":
        # To a member that knows nothing of it this is a new group.
        return False
    scene.world.tell("** the group's nodes are lost")
    scene.checkers.allowed_faults.add("lost")
    scene.server.delete_tree(scene.paths.root)
    return True


def _leaderless(scene: Scene) -> bool:
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


def _retention(scene: Scene) -> bool:
    """Takes what is committed: more would be a loss that no member can prevent."""
    done = False
    # A zombie, or a replay of its batch, may still want what others have read and committed.
    scene.checkers.allowed_faults.add("retention")
    for path, data in scene.group_nodes().items():
        topic, number = path.split("/")[-2:]
        log = scene.kafka.logs.get(TopicPartition(topic, int(number)))
        if log is not None and data.isdigit():
            log.earliest = max(log.earliest, min(int(data), log.latest))
            done = True
    return done


def _vandal(scene: Scene) -> bool:
    """Somebody deletes an owner node."""
    owned = sorted(scene.checkers.owner)
    if not owned:
        return False
    partition = scene.rng.choice(owned)
    scene.world.tell(f"** somebody deletes the owner node of {partition}")

    scene.server.write(Delete(scene.paths.owner(partition), -1))
    return True


def _twin(scene: Scene) -> bool:
    """A paused driver and its replacement: two on one checkpoint."""
    driver = _driver(scene)
    if driver is None or driver.query.available_now:
        return False
    query = driver.query
    query.twins = True
    scene.world.tell(f"** a second driver of {query.name}")
    driver.process.pause(_timeout(scene) * scene.rng.choice([0.3, 1.0, 3.0]))
    scene.world.after(scene.rng.random() * 2.0, lambda: scene.start(query))
    return True


def _jvm_joins(scene: Scene) -> bool:
    if len(scene.jvms) >= 3:
        return False
    scene.new_jvm()
    return True


def _jvm(name: str, act: Callable[[Scene, object], None]) -> Fault:
    def fault(scene: Scene) -> bool:
        alive = [j for j in scene.jvms if not j.gone]
        if not alive:
            return False
        jvm = scene.rng.choice(alive)
        scene.world.tell(f"** {name}: {jvm.name}")
        act(scene, jvm)
        return True

    return fault


def _jvm_dies(scene: Scene, jvm: object) -> None:
    jvm.process.kill()  # type: ignore[attr-defined]


def _jvm_sleeps(scene: Scene, jvm: object) -> None:
    jvm.process.pause(_timeout(scene) * scene.rng.choice([0.5, 2.0, 3.0]))  # type: ignore[attr-defined]


def _jvm_stops(scene: Scene, jvm: object) -> None:
    jvm.stop()  # type: ignore[attr-defined]


FAULTS: dict[str, tuple[int, Fault]] = {
    "kill": (8, _each("kill -9 of the driver", _kill)),
    "kill of the planner": (5, _each("kill -9 of the planner", _kill_planner)),
    "kill in the replay": (5, _each("kill -9, twice", _kill_in_replay)),
    "short pause": (3, _each("short pause", _pause(0.4))),
    "pause beyond the session": (6, _each("pause beyond the session", _pause(2.5))),
    "expiry": (6, _each("expiry", _expire)),
    "short cut to ZooKeeper": (3, _each("short cut to ZooKeeper", _cut(0.4, False))),
    "short silence of ZooKeeper": (3, _each("short silence", _cut(0.4, True))),
    "cut to ZooKeeper": (4, _each("cut to ZooKeeper", _cut(2.0, False))),
    "silence of ZooKeeper": (4, _each("silence of ZooKeeper", _cut(2.0, True))),
    "cut to Kafka": (3, _each("cut to Kafka", _cut_kafka)),
    "lost answer, executed": (7, _each("lost answer, executed", _lose("executed"))),
    "lost answer, not executed": (4, _each("lost answer, not executed", _lose("dropped"))),
    "lost claim, then joiners": (3, _at_claim("lost answer of a claim", _lose_then_join)),
    "lost answer of a claim": (3, _at_claim("lost answer of a claim", _lose("executed"))),
    "stop": (5, _each("query.stop()", _stop)),
    "SIGTERM to all": (4, _each("SIGTERM to all", _stop_group)),
    "drain": (4, _each("drain", _drain)),
    "slow batch": (2, _each("slow batch", _slow)),
    "ZooKeeper restart": (3, _zookeeper),
    "rolling deploy": (3, _rolling),
    "joiners": (3, _joiners),
    "topic growth": (3, _grow),
    "topic made anew": (2, _recreate),
    "offset reset": (3, _reset),
    "group deleted and imported": (2, _import),
    "group's nodes lost": (2, _lost_group),
    "leader loss": (2, _leaderless),
    "retention": (2, _retention),
    "owner node deleted": (2, _vandal),
    "two drivers on one checkpoint": (4, _twin),
    "JVM member joins": (2, _jvm_joins),
    "JVM member dies": (3, _jvm("JVM dies", _jvm_dies)),
    "JVM member sleeps": (3, _jvm("JVM sleeps", _jvm_sleeps)),
    "JVM member stops": (2, _jvm("JVM stops", _jvm_stops)),
}
