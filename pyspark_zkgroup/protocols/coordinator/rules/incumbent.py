"""The coordinator in office and its decisions, as far as ZooKeeper shows them to an observer.

A command is deleted as soon as it was obeyed. A member of `coordinator` does not record what it has
obeyed; a light member's registration does. So in a group without light members a decision can only
be seen until all members have followed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.paths import COORDINATOR
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import parse_candidacy
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_command
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command, Start, Stop
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The coordinator in office since `since_ms`; its decisions have this `epoch`. `name` is None
    if its node has none, `address` if it serves no light members.
    """

    epoch: int
    since_ms: int
    name: str | None = None
    address: str | None = None
    trouble: str | None = None


def incumbent_of(data: bytes, epoch: int, since_ms: int) -> Incumbent:
    try:
        found = parse_candidacy(COORDINATOR, data)
    except BadZnodeError as error:
        return Incumbent(epoch, since_ms, trouble=f"{error}")
    return Incumbent(epoch, since_ms, found.name, found.address)


def standing(life: int, nodes: Mapping[str, bytes]) -> tuple[tuple[Command, ...], tuple[str, ...]]:
    """Return the commands in a member's channel to this life, and why others cannot be read.

    `nodes` has them by path, in the order of their numbers.
    """
    commands: list[Command] = []
    troubles: list[str] = []
    for path, data in nodes.items():
        try:
            command = decode_command(path, data)
        except BadZnodeError as error:
            troubles.append(f"{error}")
            continue
        if command.life == life:
            commands.append(command)
    return tuple(commands), tuple(troubles)


def newest(registration: Registration | None, commands: Iterable[Command]) -> Generation | None:
    """Return the newest visible decision about a member, obeyed or not obeyed yet."""
    found = [command.generation for command in commands]
    if registration is not None and registration.light is not None:
        obeyed = Generation.parse(registration.light.generation)
        found += [obeyed] if obeyed is not None else []
    return max(found, default=None)


def told(
    consumer: str, commands: Iterable[Command]
) -> tuple[dict[TopicPartition, ThreadId], set[TopicPartition]]:
    """Return what the commands assign, which it may claim at any moment, and what they stop."""
    share: dict[TopicPartition, ThreadId] = {}
    stopped: set[TopicPartition] = set()
    for command in commands:
        if isinstance(command, Start):
            share = {p: ThreadId(consumer, a.thread) for p, a in command.share.items()}
            stopped -= share.keys()
        elif isinstance(command, Stop):
            share = {p: thread for p, thread in share.items() if p not in command.partitions}
            stopped |= command.partitions
    return share, stopped
