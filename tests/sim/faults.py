"""The faults of a scene. Each is drawn a time; many then wait for a certain step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sim import drawing
from tests.sim.driver_faults import (
    Fault,
    at_claim,
    cut,
    cut_kafka,
    drain,
    each,
    expire,
    kill,
    kill_in_replay,
    kill_planner,
    lose,
    lose_then_join,
    overlong,
    pause,
    slow,
    stop,
    stop_group,
)
from tests.sim.outer_faults import (
    delete_and_import,
    each_jvm,
    grow,
    joiners,
    jvm_dies,
    jvm_joins,
    jvm_sleeps,
    jvm_stops,
    leaderless,
    lost_group,
    recreate,
    reset,
    retention,
    rolling,
    twin,
    vandal,
    vandal_among_joiners,
    zookeeper,
)

if TYPE_CHECKING:
    from tests.sim.scene import Scene


def draw(scene: Scene) -> None:
    drawing.draw(scene, FAULTS, (3, 5, 6, 7, 8, 10))


FAULTS: dict[str, tuple[int, Fault]] = {
    "kill": (8, each("kill -9 of the driver", kill)),
    "kill of the planner": (5, each("kill -9 of the planner", kill_planner)),
    "kill in the replay": (5, each("kill -9, twice", kill_in_replay)),
    "short pause": (3, each("short pause", pause(0.4))),
    "pause beyond the session": (6, each("pause beyond the session", pause(2.5))),
    "expiry": (6, each("expiry", expire)),
    "short cut to ZooKeeper": (3, each("short cut to ZooKeeper", cut(0.4, False))),
    "short silence of ZooKeeper": (3, each("short silence", cut(0.4, True))),
    "cut to ZooKeeper": (4, each("cut to ZooKeeper", cut(2.0, False))),
    "silence of ZooKeeper": (4, each("silence of ZooKeeper", cut(2.0, True))),
    "cut to Kafka": (3, each("cut to Kafka", cut_kafka)),
    "lost answer, executed": (7, each("lost answer, executed", lose("executed"))),
    "lost answer, not executed": (4, each("lost answer, not executed", lose("dropped"))),
    "lost claim, then joiners": (3, at_claim("lost answer of a claim", lose_then_join)),
    "lost answer of a claim": (3, at_claim("lost answer of a claim", lose("executed"))),
    "stop": (5, each("query.stop()", stop)),
    "SIGTERM to all": (4, each("SIGTERM to all", stop_group)),
    "drain": (4, each("drain", drain)),
    "slow batch": (2, each("slow batch", slow)),
    "batch too long": (6, overlong),
    "ZooKeeper restart": (3, zookeeper),
    "rolling deploy": (3, rolling),
    "joiners": (3, joiners),
    "topic growth": (3, grow),
    "topic recreated": (2, recreate),
    "offset reset": (3, reset),
    "group deleted and imported": (2, delete_and_import),
    "group's nodes lost": (2, lost_group),
    "leader loss": (2, leaderless),
    "retention": (2, retention),
    "owner node deleted": (2, vandal),
    "owner nodes deleted while shares change": (3, vandal_among_joiners),
    "two drivers on one checkpoint": (4, twin),
    "JVM member joins": (2, jvm_joins),
    "JVM member dies": (3, each_jvm("JVM dies", jvm_dies)),
    "JVM member sleeps": (3, each_jvm("JVM sleeps", jvm_sleeps)),
    "JVM member stops": (2, each_jvm("JVM stops", jvm_stops)),
}
