"""What is checked in addition where a coordinator keeps members' sessions: whose a persistent node
is, and that no life is ended before its time.

The claim of a light member is a life that no coordinator has ended: its registration is there. What
the coordinator writes for a member counts as the member's own, from when it was asked for.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.jvm.registration import LightSeat, parse_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Command, Stopped
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.messages import Hello
from pyspark_zkgroup.zk.port import Node
from tests.fakes.zookeeper import Change, Write
from tests.sim.coordinated.command_checks import CommandChecks
from tests.sim.light.member import LightDriver
from tests.sim.light.office import Hearer
from tests.sim.query import Driver

# The coordinator's clock may run this much faster than the world's.
_CLOCKS = 0.97
# Of owner nodes without the registration that would say it.
_LEFT_TIMEOUT_S = 10.0


class Speaker(NamedTuple):
    """The member that something is executed for, as it was when that was asked for. `life` is
    negative before there is one.
    """

    driver: LightDriver
    life: int


class Stranger(NamedTuple):
    """A client that uses a name, and is no member."""

    consumer: str


class LifeChecks(CommandChecks, Hearer):
    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.members: dict[str, LightDriver] = {}
        self.timeouts: dict[int, float] = {}
        self.holder: dict[TopicPartition, int] = {}
        self.ended_lives: set[int] = set()
        self.office_began: dict[str, float] = {}
        self.heard_at: dict[tuple[str, int], float] = {}
        self.registered_at: dict[int, float] = {}
        self.now_for: Speaker | Stranger | None = None

    def enter(self, driver: LightDriver) -> int:
        consumer, incarnation = driver.membership.member, driver.incarnation
        self.members[identity.shown("g", consumer, incarnation)] = driver
        return -len(self.members)

    # -- what coordinators do

    def takes_office(self, name: str) -> None:
        super().takes_office(name)
        self.office_began[name] = self.world.now

    def heard(self, office: str, life: int) -> None:
        self.heard_at[office, life] = self.world.now

    def said(self, consumer: str, command: Command) -> None:
        self.counts["said"] += 1
        self._told(consumer, command)

    def answered(self, consumer: str, answer: Answer) -> None:
        if isinstance(answer, Stopped):
            self.counts["stopped"] += 1
            stopped = self.stops.pop((consumer, answer.generation), frozenset())
            still = sorted(p for p in stopped if self.owner.get(p) == answer.life)
            if still and answer.generation.epoch == self.epoch:
                self.world.fail(f"{consumer} says that it has stopped {still[0]}, and owns it")
            self.may_read.get(consumer, set()).difference_update(stopped)

    def speaker(self, hello: Hello) -> Speaker | Stranger:
        shown = identity.shown(hello.group, hello.consumer, hello.incarnation)
        driver = self.members.get(shown)
        if driver is None:
            return Stranger(hello.consumer)
        node = self.server.leader.nodes.get(self.paths.id(hello.consumer))
        seat = _seat(node)
        ours = node is not None and seat is not None and seat.incarnation == shown
        return Speaker(driver, node.node.czxid if ours and node else driver.pseudo)

    def executing(self, speaker: object) -> None:
        self.now_for = speaker if isinstance(speaker, Speaker | Stranger) else None
        if isinstance(self.now_for, Speaker):
            self.now_for.driver.multi_at = self.world.now

    # -- ZooKeeper's transactions

    def on_write(self, write: Write) -> None:
        office = self.candidates.get(write.session)
        if office is None or write.ending:
            super().on_write(write)
        else:
            speaker = self.now_for
            for change in write.changes:
                if isinstance(speaker, Stranger):
                    self._of_a_stranger(speaker, change)
                elif not change.path.startswith((self.nodes.owners_at, self.nodes.offsets_at)):
                    super().on_write(Write(write.session, (change,)))
                elif speaker is not None:
                    # What it has asked for is its own write.
                    self._as_its_own(Write(speaker.life, (change,)), change)
                else:
                    self._by_the_office(office, change)
        for change in write.changes:
            if self.nodes.is_of_owner(change.path):
                self._left_with(change)
            elif change.path.startswith(f"{self.paths.ids}/"):
                self._registration(office, change)

    def _of_a_stranger(self, stranger: Stranger, change: Change) -> None:
        """It has not registered, and so makes at most the nodes that hold others."""
        if change.before is not None or change.path.count("/") > 4 or change.after is None:
            self.world.fail(f"P2: a stranger as {stranger.consumer} writes {change.path}")

    def _as_its_own(self, write: Write, change: Change) -> None:
        if self.nodes.is_of_owner(change.path):
            self._owner(write, change)
        else:
            self._offset(write, change)

    def _by_the_office(self, office: str, change: Change) -> None:
        """Without having been asked: all it may do is to take away what a life has left."""
        if self.nodes.is_of_owner(change.path) and change.path.count("/") == 4:
            return  # a topic's
        partition = self.nodes.owned(change.path)
        if change.after is not None or partition is None:
            self.world.fail(f"candidate {office} writes {change.path}, which is the members' alone")
            return
        self._may_end(office, self.holder.get(partition, 0))
        self.counts["owner node of the dead deleted"] += 1
        driver = self.drivers.get(self.holder.get(partition, 0))
        if driver is not None and not driver.left:
            self.fault(driver, "what it held was given up")
        self._owner(Write(self.owner[partition], (change,), ending=True), change)

    def _may_end(self, office: str, life: int) -> None:
        """Its full timeout after the newest of: its registration, this office's beginning, and a
        word of it here.
        """
        since = max(
            self.registered_at.get(life, float("-inf")),
            self.office_began.get(office, float("-inf")),
            self.heard_at.get((office, life), float("-inf")),
        )
        timeout_s = self.timeouts.get(life, _LEFT_TIMEOUT_S)
        if self.world.now - since < timeout_s * _CLOCKS:
            self.world.fail(
                f"P2: {office} ends life {life:#x} {self.world.now - since:.3f} s after it was "
                f"heard of, and its timeout is {timeout_s} s"
            )

    def _registration(self, office: str | None, change: Change) -> None:
        for node in (change.before, change.after):
            if node is not None and node.ephemeral_owner:
                return
        if change.before is not None and change.after is None:
            life = change.before.node.czxid
            driver = self.drivers.get(life)
            if office is not None and self.now_for is None:
                self._may_end(office, life)
                self.counts["life ended"] += 1
                if isinstance(driver, Driver) and not driver.left:
                    self.fault(driver, "its life was ended")
            elif isinstance(self.now_for, Speaker) and self.now_for.life != life:
                self.counts["taken over from its predecessor"] += 1
                if driver is not None and not (driver.query.static or driver.query.twins):
                    self.world.fail(f"P2: the registration of {driver.name} was taken over")
            elif isinstance(driver, Driver) and life in driver.membership.keeper.former:
                # A coordinator told it that it had no life any more, and could not end that one.
                self.counts["life given up"] += 1
                self.fault(driver, "it gave its life up")
            self.ended_lives.add(life)
        elif change.before is None and change.after is not None:
            self._registered(change.after)

    def _registered(self, node: Node) -> None:
        seat, life = _seat(node), node.node.czxid
        if seat is None:
            return
        driver = self.members[seat.incarnation]
        self.timeouts[life] = seat.timeout_ms / 1000.0
        self.registered_at[life] = self.world.now
        self.counts["registered"] += 1
        self.opened(driver, life)

    def _owner(self, write: Write, change: Change) -> None:
        """A persistent node is that of the life that asked for it."""
        node = change.after or change.before
        partition = self.nodes.owned(change.path)
        if partition is not None and change.before is None and node is not None:
            self.holder[partition] = node.ephemeral_owner or write.session
        if partition is None or node is None or node.ephemeral_owner:
            super()._owner(write, change)
            return
        holder = self.holder[partition]
        before, after = (
            None if n is None else n._replace(ephemeral_owner=holder)
            for n in (change.before, change.after)
        )
        super()._owner(write, change._replace(before=before, after=after))

    def _foreign_delete(
        self, write: Write, change: Change, partition: TopicPartition, holder: int
    ) -> None:
        """What it leaves goes after its registration, when it has no life any more."""
        if self.drivers.get(write.session) is not self.drivers.get(holder, None):
            super()._foreign_delete(write, change, partition, holder)

    def _left_with(self, change: Change) -> None:
        """After the transaction, an owner node is that of a life that has not ended."""
        if change.before is not None or change.after is None or change.after.ephemeral_owner:
            return
        partition = self.nodes.owned(change.path)
        holder = self.owner.get(partition) if partition is not None else None
        if holder is None:
            return
        if holder < 0:
            self.world.fail(f"P2: {partition} is owned by a member that is not registered")
        elif holder in self.ended_lives:
            self.world.fail(f"P2: {partition} is owned by life {holder:#x}, which was ended")

    # -- what members do

    def boundary(self, driver: Driver, offset: object) -> None:
        session = driver.membership.keeper.session
        if session is not None and session.id in self.ended_lives:
            self.counts["boundary"] += 1
            return
        super().boundary(driver, offset)


def _seat(node: Node | None) -> LightSeat | None:
    try:
        return None if node is None else parse_registration("", node.data).light
    except BadZnodeError:
        return None
