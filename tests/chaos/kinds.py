"""All kinds of faults by name, what each is done to, and which may come together. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.chaos import faults, server_faults
from tests.chaos.faults import Inflict
from tests.chaos.protocols import BROKERS, BROKERS_GROUP, COORDINATORS, MEMBERS, ZOOKEEPER, Protocol


@dataclass(frozen=True)
class Kind:
    """`on`: what it is done to. `hits`: what else must be whole meanwhile, so that it can be undone
    in time. `alone`: nothing else may come before it is over, as its judge wants clean ends.
    `leaves_gaps`: no member reads what it has read, which `delta.ingest` refuses as a gap.
    """

    inflict: Inflict
    on: str = MEMBERS
    hits: frozenset[str] = frozenset()
    alone: bool = False
    leaves_gaps: bool = False


# A broker that starts while ZooKeeper is hurt ends again: its session is short.
_ALL_OF_ZOOKEEPER = frozenset({BROKERS, COORDINATORS})

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "driver killed": Kind(faults.kill_driver),
        "driver terminated": Kind(faults.terminate_driver),
        "planner killed": Kind(faults.kill_planner),
        "planner paused shortly": Kind(faults.pause_planner_shortly),
        "planner paused beyond its session": Kind(faults.pause_planner_long),
        "driver paused shortly": Kind(faults.pause_driver_shortly),
        "driver paused beyond its session": Kind(faults.pause_driver_long),
        "JVM paused, planner alive": Kind(faults.pause_jvm),
        "JVM paused beyond max.poll.interval.ms": Kind(faults.pause_jvm_long),
        "member cut off shortly": Kind(faults.cut_shortly),
        "member cut off beyond the session": Kind(faults.cut_long),
        "rolling restart, drained": Kind(faults.roll_drained, alone=True),
        "rolling restart, SIGTERM": Kind(faults.roll_terminated, alone=True),
        "ZooKeeper leader killed": Kind(
            server_faults.kill_zookeeper_leader, ZOOKEEPER, _ALL_OF_ZOOKEEPER
        ),
        "ZooKeeper quorum lost": Kind(server_faults.lose_quorum, ZOOKEEPER, _ALL_OF_ZOOKEEPER),
        "coordinator killed": Kind(server_faults.kill_coordinator, COORDINATORS),
        "coordinator paused beyond its session": Kind(
            server_faults.pause_coordinator, COORDINATORS
        ),
        "coordinator cut off from ZooKeeper": Kind(server_faults.cut_coordinator, COORDINATORS),
        "broker killed": Kind(server_faults.kill_broker, BROKERS),
        "broker paused": Kind(server_faults.pause_broker, BROKERS),
        "leaders moved": Kind(server_faults.move_leaders, BROKERS),
        "partition added": Kind(server_faults.add_partition, BROKERS),
        "group coordinator killed": Kind(
            server_faults.kill_group_coordinator, BROKERS_GROUP, frozenset({BROKERS})
        ),
        "plain consumer joined and left": Kind(
            server_faults.plain_consumer, BROKERS_GROUP, leaves_gaps=True
        ),
    }
)


def kinds_of(protocol: Protocol, *, direct: bool = False) -> tuple[str, ...]:
    there = {MEMBERS, BROKERS, *protocol.also_hits}
    return tuple(
        name
        for name, kind in KINDS.items()
        if kind.on in there and not (direct and kind.leaves_gaps)
    )


def may_overlap(one: str, other: str) -> bool:
    first, second = KINDS[one], KINDS[other]
    if one == other or first.alone or second.alone:
        return False
    if first.on == second.on == MEMBERS:
        return True
    return {first.on, *first.hits}.isdisjoint({second.on, *second.hits})
