"""The notes about a group in addition to its rows: faults, and what an operator should know."""

from __future__ import annotations

from collections.abc import Collection

from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.protocols.coordinator.rules.incumbent import Incumbent

_NAMED = 5


def faults(
    alone: Collection[str], told: Collection[str], coordinator: Incumbent | None
) -> tuple[str, ...]:
    """Notes about members that decide for themselves, and members that need a coordinator."""
    notes: list[str] = []
    if alone and told:
        notes.append(
            f"{_named(alone)} decide for themselves, but {_named(told)} wait for a coordinator, "
            "which assigns nothing while the group has members of both kinds: stop the members of "
            "one kind"
        )
    if told and coordinator is None:
        notes.append(
            "no coordinator is in office: members continue with what they hold, and new members "
            "wait. Start a candidate: `zkgroup coordinator`, or a query with "
            "coordinator.candidate=true"
        )
    return tuple(notes)


def remarks(snapshot: Snapshot, coordinator: Incumbent | None, *, stirred: bool) -> tuple[str, ...]:
    notes: list[str] = []
    if stirred:
        notes.append(
            "members came or went each time this was read: its rows may be of different moments"
        )
    if coordinator is None:
        return tuple(notes)
    if coordinator.trouble is not None:
        notes.append(coordinator.trouble)
    elif coordinator.address is None:
        light = [c for c, member in snapshot.members.items() if member.light is not None]
        if light:
            notes.append(
                f"coordinator {coordinator.name} serves no light members, and {_named(light)} need "
                "one that does: `zkgroup coordinator --listen`"
            )
    return tuple(notes)


def _named(consumers: Collection[str]) -> str:
    return first_few(sorted(consumers), _NAMED)
