"""Who is in office, and what its decisions are, as far as ZooKeeper shows it to somebody outside.

A command is gone as soon as it was obeyed, and a member of `coordinator` does not write down what
it has obeyed; a light member's registration does. So in a group without light members a decision is
to be seen only until everybody has followed it.
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
    """`epoch` of its decisions, and since when it is in office. `name` is None where its node does
    not say it, `address` where it serves no light members.
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
    """The commands to this life of a member that stand in its channel, and why others cannot be
    read. `nodes` by their paths, in the order of their numbers.
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
    """Of the decisions that are to be seen of one member: those it has obeyed, those it shall."""
    found = [command.generation for command in commands]
    if registration is not None and registration.light is not None:
        obeyed = Generation.parse(registration.light.generation)
        found += [obeyed] if obeyed is not None else []
    return max(found, default=None)


def told(
    consumer: str, commands: Iterable[Command]
) -> tuple[dict[TopicPartition, ThreadId], set[TopicPartition]]:
    """What it was told to read, and may claim at any moment; and what it was told to give up."""
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
