"""Faults of a group that a broker coordinates: of its members, the coordinator, the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark_zkgroup.group.noted_requests import NotedRequest, encode_note
from tests.sim import drawing
from tests.sim.brokered import refusal_faults
from tests.sim.brokered.member import brokered
from tests.sim.driver_faults import any_driver as any_one
from tests.sim.driver_faults import (
    at_any_step,
    cut,
    cut_kafka,
    drain,
    each,
    kill,
    kill_in_replay,
    kill_planner,
    lose,
    pause,
    stop,
    stop_group,
    timeout_s,
)
from tests.sim.outer_faults import grow, joiners, leaderless, rolling, twin
from tests.sim.query import Driver

if TYPE_CHECKING:
    from tests.sim.brokered.scene import BrokeredScene

Fault = Callable[["BrokeredScene"], bool]

_POINTS = (
    *("", "", "spark planned", "spark logged", "spark partitions", "spark read", "spark sunk"),
    *("spark finished", "group commit", "group commit", "group fetch", "group heartbeat"),
    *("answer", "answer", "kafka", "keeper ", "keeper group join", "keeper group sync"),
    *("keeper group heartbeat", "keeper group leave", "keeper answer"),
)


def draw(scene: BrokeredScene) -> None:
    drawing.draw(scene, FAULTS, (3, 5, 6, 7, 8, 10))


def _each(name: str, act: Callable[[BrokeredScene, Driver], None]) -> Fault:
    """At a step of any of its threads."""
    return each(name, act, _POINTS)


def _pause_beyond_poll(scene: BrokeredScene, driver: Driver) -> None:
    """The JVM is suspended and the planner lives: its calls stop, heartbeats do not."""
    driver.query.slow_next_s = min(scene.max_poll_ms / 1000.0 * 1.3, 90.0)


def _slow(scene: BrokeredScene, driver: Driver) -> None:
    driver.query.slow_next_s = scene.rng.choice([5.0, 12.0, 30.0])


def _slow_while_joining(scene: BrokeredScene) -> bool:
    """A rebalance that waits for a batch."""
    driver = any_one(scene)
    if driver is None or len(scene.cast.queries) > 6:
        return False
    _slow(scene, driver)
    scene.new_query(delay=scene.rng.random() * 4.0)
    return True


def coordinator_moves(scene: BrokeredScene) -> bool:
    rng = scene.rng
    away_s, loading_s = rng.choice([0.0, 0.1, 2.0, 8.0, 15.0]), rng.choice([0.0, 0.2, 2.0])
    scene.world.tell(f"** the coordinator moves: {away_s} s away, {loading_s} s loading")
    scene.coordinator.move(away_s=away_s, loading_s=loading_s)
    return True


def moves_in_rebalance(scene: BrokeredScene) -> bool:
    """Just when a generation has begun that is not written yet."""
    if len(scene.cast.queries) > 6:
        return False
    scene.new_query(delay=0.0)
    _move_when(scene, lambda: scene.coordinator.group.state == "completing")
    return True


def forgets_whom_it_removed(scene: BrokeredScene) -> bool:
    """One is cut off and removed without notice; the generation without it is not written."""
    driver = any_one(scene)
    if driver is None or scene.max_poll_ms > 60_000:
        return False
    group = scene.coordinator.group
    names = {m.id for m in group.members.values() if m.client == scene.checks.number_of(driver)}
    if not names:
        return False
    scene.world.tell(f"** {driver.name} is cut off until it is counted out")
    driver.query.slow_next_s = timeout_s(scene) * 1.5
    driver.process.cut(timeout_s(scene) * 1.5, silent=False)

    def is_out() -> bool:
        now = scene.coordinator.group
        return now.state == "completing" and not names & now.members.keys()

    _move_when(scene, is_out)
    return True


def _move_when(scene: BrokeredScene, is_time: Callable[[], bool]) -> None:
    began = scene.world.now

    def look() -> None:
        if scene.world.over or scene.healing or scene.world.now > began + 30.0:
            return
        if is_time():
            scene.world.tell("** the coordinator moves in the middle of a rebalance")
            scene.coordinator.move(away_s=scene.rng.choice([0.0, 1.0]), loading_s=0.1)
        else:
            scene.world.after(0.001, look)

    scene.world.after(0.3, look)


def reset(scene: BrokeredScene) -> bool:
    """All stop or are killed, an operator sets offsets when none is left, and all come back."""
    if scene.held_back or not scene.coordinator.offsets:
        return False
    scene.held_back = True
    scene.checks.allowed_faults.add("reset")
    are_killed = scene.rng.random() < 0.5
    scene.world.tell(f"** all are {'killed' if are_killed else 'stopped'}, for a reset")
    for driver in scene.cast.running:
        if are_killed:
            driver.process.kill()
        else:
            driver.stop()

    def look() -> None:
        if scene.world.over:
            return
        if scene.cast.running or scene.coordinator.group.members:
            scene.world.after(0.5, look)
            return
        partitions = sorted(scene.coordinator.offsets)
        for partition in scene.rng.sample(partitions, min(3, len(partitions))):
            log = scene.kafka.logs[partition]
            at = scene.coordinator.offsets[partition].offset
            # To where it is as well: only the token shows it.
            to = scene.rng.choice([at, scene.rng.randrange(log.earliest, log.latest + 1)])
            scene.coordinator.set_offset(partition, max(log.earliest, min(to, log.latest)))
        scene.held_back = False

    scene.world.after(0.5, look)
    return True


def retention(scene: BrokeredScene) -> bool:
    """Takes what is committed: more would be a loss that no member can prevent."""
    scene.checks.allowed_faults.add("retention")
    for partition, stored in scene.coordinator.offsets.items():
        log = scene.kafka.logs[partition]
        log.earliest = max(log.earliest, min(stored.offset, log.latest))
    return bool(scene.coordinator.offsets)


def suspend(scene: BrokeredScene, driver: Driver) -> None:
    """The machine sleeps, and its network is back later than its processes."""
    seconds = timeout_s(scene) * scene.rng.choice([0.5, 1.5, 3.0])
    driver.process.suspend(seconds)
    later_s = scene.rng.choice([0.0, 0.5, 3.0])
    if later_s:
        driver.process.cut(seconds + later_s, silent=scene.rng.random() < 0.5)


def twins_in_replay(scene: BrokeredScene) -> bool:
    """One is killed with a batch under way, and two come back. The first to be assigned the batch's
    partitions takes long over it; the second waits until it moves the fence.
    """
    driver = any_one(scene)
    if driver is None or driver.query.available_now:
        return False
    query = driver.query

    def act() -> None:
        query.twins = True
        query.slow_next_s = scene.rng.choice([20.0, 30.0])
        driver.process.kill()
        for _ in range(2):
            scene.world.after(scene.rng.random() * 4.0, lambda: scene.launch(query))

    points = ("spark logged", "spark partitions", "spark read")
    at_any_step(scene, driver, act, "kill -9, and two come back", points)
    return True


def two_at_once(scene: BrokeredScene) -> bool:
    """Any two faults: the second begins while the first one lasts."""
    names = [name for name in FAULTS if name != "two at once"]
    weights = [FAULTS[name][0] for name in names]
    first, second = scene.rng.choices(names, weights, k=2)
    began = FAULTS[first][1](scene)
    also = FAULTS[second][1](scene)
    if began and also:
        scene.counts["two faults at once"] += 1
    return began or also


def drain_member(scene: BrokeredScene, driver: Driver) -> None:
    """An operator has it leave the group, and join again later. A second request may replace the
    first one in its note.
    """
    member = brokered(driver).kept.member
    if not member.id or driver.query.available_now:
        return
    noted = scene.coordinator.noted
    place = scene.rng.choice(scene.kafka.partitions_of(min(scene.config.topics)))
    request = NotedRequest("drain", member.id, "ops", int(scene.world.now * 1000))
    noted.put(place, encode_note([request]))
    later_s = scene.rng.choice([5.0, 20.0, 60.0])
    scene.world.after(later_s, lambda: noted.put(place, encode_note([])))


def static_restart(scene: BrokeredScene) -> bool:
    """One with a member.id ends and is back before its absence is noticed."""
    static = [d for d in scene.cast.running if d.query.static and not d.process.access.paused]
    if not static:
        return False
    driver = scene.rng.choice(static)
    again = "kill -9, and back at once"
    at_any_step(scene, driver, driver.process.kill, again, _POINTS)
    return True


FAULTS: dict[str, tuple[int, Fault]] = {
    "kill": (8, _each("kill -9 of the driver", kill)),
    "kill of the planner": (5, _each("kill -9 of the planner", kill_planner)),
    "kill in the replay": (5, _each("kill -9, twice", kill_in_replay)),
    "static restart": (4, static_restart),
    "short pause": (3, _each("short pause", pause(0.4))),
    "pause beyond the session": (6, _each("pause beyond the session", pause(2.5))),
    "batch beyond max.poll.interval.ms": (3, _each("a batch too long", _pause_beyond_poll)),
    "short cut to the coordinator": (3, _each("short cut to the coordinator", cut(0.4, False))),
    "short silence of the coordinator": (3, _each("short silence", cut(0.4, True))),
    "cut to the coordinator": (4, _each("cut to the coordinator", cut(2.0, False))),
    "silence of the coordinator": (4, _each("silence of the coordinator", cut(2.0, True))),
    "cut to Kafka": (3, _each("cut to Kafka", cut_kafka)),
    "lost answer, executed": (7, _each("lost answer, executed", lose("executed"))),
    "lost answer, not executed": (4, _each("lost answer, not executed", lose("dropped"))),
    "late request": (5, _each("late request", lose("late"))),
    "stop": (5, _each("query.stop()", stop)),
    "SIGTERM to all": (4, _each("SIGTERM to all", stop_group)),
    "drain": (4, _each("drain", drain)),
    "drain by an operator": (8, _each("drain by an operator", drain_member)),
    "slow batch": (3, _each("slow batch", _slow)),
    "joiner during a slow batch": (4, _slow_while_joining),
    "coordinator moves": (6, coordinator_moves),
    "coordinator moves in a rebalance": (4, moves_in_rebalance),
    "coordinator forgets whom it removed": (4, forgets_whom_it_removed),
    "rolling deploy": (3, rolling),
    "joiners": (4, joiners),
    "topic growth": (3, grow),
    "offset reset": (4, reset),
    "leader loss": (2, leaderless),
    "retention": (2, retention),
    "two drivers on one checkpoint": (4, twin),
    "two drivers in the replay": (4, twins_in_replay),
    "suspend": (5, _each("suspend", suspend)),
    "odd answer": (10, _each("odd answer", refusal_faults.odd_answer)),
    "refused for good": (2, _each("refused for good", refusal_faults.refused_for_good)),
    "partitions unknown to the coordinator": (4, refusal_faults.unknown_partitions),
    "group right taken away": (3, refusal_faults.no_group_right),
    "topic right taken away": (1, refusal_faults.no_topic_right),
    "two at once": (8, two_at_once),
}
