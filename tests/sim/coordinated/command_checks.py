"""What is checked in addition where a coordinator decides: which member it commands to start what.

A coordinator does not guard P1 to P4: owner nodes and fences do, and they are checked as in any
other group. The coordinator must not start a partition, within its term, where another member that
it has commanded to read it may still do so. In the end it must bring the group to an even share.
"""

from __future__ import annotations

from pyspark_zkgroup.errors import AssignmentError, BadZnodeError
from pyspark_zkgroup.group.paths import COORDINATOR, CoordinatedPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_answer, decode_command
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command, Start, Stop, Stopped
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import Change, FakeZookeeper, Write
from tests.sim.checkers import Checkers
from tests.sim.coordinated.office import Looker
from tests.sim.query import Driver
from tests.sim.world import World

_OPERATOR = 0


class CommandChecks(Checkers, Looker):
    """`may_read`: what each consumer was commanded to start in this term, and has not given up
    since. `told` are all commands ever written, for those that repeat them.
    """

    def __init__(self, world: World, server: FakeZookeeper, kafka: FakeKafka, group: str) -> None:
        super().__init__(world, server, kafka, group)
        self.paths = CoordinatedPaths(group)
        self.candidates: dict[int, str] = {}
        self.epoch = 0
        self.may_read: dict[str, set[TopicPartition]] = {}
        self.stops: dict[tuple[str, Generation], frozenset[TopicPartition]] = {}
        self.told: list[tuple[str, bytes]] = []

    def stood_up(self, session: int, name: str) -> None:
        self.candidates[session] = name

    def takes_office(self, name: str) -> None:
        self.world.tell(f"{name} takes office")
        self.counts["term"] += 1
        self.may_read.clear()
        self.stops.clear()

    def on_write(self, write: Write) -> None:
        super().on_write(write)
        name = self.candidates.get(write.session)
        for change in write.changes:
            path = change.path
            if name and path.startswith((self.nodes.owners_at, self.nodes.offsets_at)):
                self.world.fail(f"candidate {name} writes {path}, which is the members' alone")
            elif path == COORDINATOR:
                self._election(change, name or "operator")
            elif path.startswith(f"{self.paths.channels}/"):
                self._command(write, change)
            elif path.startswith(f"{self.paths.answers}/"):
                self._answer(change)
            elif path.startswith(f"{self.paths.ids}/") and change.after is None:
                self.may_read.pop(path.rpartition("/")[2], None)

    def _election(self, change: Change, name: str) -> None:
        if change.after is None:
            self.world.tell("the coordinator's node is gone")
            return
        self.world.tell(f"{name} is elected")
        self.counts["election"] += 1
        self.epoch = change.after.node.czxid

    def _command(self, write: Write, change: Change) -> None:
        consumer, slash, _ = change.path[len(self.paths.channels) + 1 :].partition("/")
        if not slash or change.after is None:
            return
        data = change.after.data
        try:
            command = decode_command(change.path, data)
        except BadZnodeError:
            return
        if write.session == _OPERATOR:
            return
        self.told.append((consumer, data))
        self._told(consumer, command)

    def _told(self, consumer: str, command: Command) -> None:
        kind = type(command).__name__.lower()
        if command.generation.epoch != self.epoch:
            self.counts[f"{kind} of one out of office"] += 1
            return
        self.counts[kind] += 1
        if isinstance(command, Stop):
            self.world.tell(f"stop {consumer}: {_named(command.partitions)}")
            self.stops[consumer, command.generation] = command.partitions
        elif isinstance(command, Start):
            self.world.tell(f"start {consumer}: {_named(command.share)}")
            for other, partitions in self.may_read.items():
                both = partitions & command.share.keys()
                if other != consumer and both:
                    self.world.fail(
                        f"{consumer} is commanded to start {_named(both)}, which {other} was "
                        f"commanded to read and has not given up"
                    )
            registered = self.server.leader.nodes.get(self.paths.id(consumer))
            if registered is not None and registered.node.czxid == command.life:
                self.may_read.setdefault(consumer, set()).update(command.share)

    def _answer(self, change: Change) -> None:
        if change.after is None:
            return
        try:
            answer = decode_answer(change.path, change.after.data)
        except BadZnodeError:
            return
        consumer = change.path.rpartition("/")[2].rpartition("-")[0]
        if isinstance(answer, Stopped):
            self.counts["stopped"] += 1
            stopped = self.stops.pop((consumer, answer.generation), frozenset())
            self.may_read.get(consumer, set()).difference_update(stopped)

    def _vandalised(self, holder: int, partition: TopicPartition) -> None:
        """No member watches all owner nodes here: the proof before its next plan shows it."""
        super()._vandalised(holder, partition)
        self.taken_over.add((holder, partition))

    def failed(self, driver: Driver, error: BaseException) -> None:
        if isinstance(error, AssignmentError) and self._others_seen:
            self.world.tell(f"{driver.name} is refused: {error}")
            self.counts["refused with others"] += 1
            self.fault(driver, "the query was refused")
            return
        super().failed(driver, error)

    @property
    def _others_seen(self) -> bool:
        return bool(self.jvm_sessions)


def _named(partitions: object) -> str:
    return ", ".join(map(str, sorted(partitions))) or "nothing"  # type: ignore[call-overload]
