"""Bugs of members of a brokered group, each planted by replacing one function: the simulation must
find them all.

"join before the last commit" and "commit what was voided" were the product's own, until the
simulation found them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.kafka.member_wire import Write
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols import start_lookup
from pyspark_zkgroup.protocols.kafka import claims as kafka_claims
from pyspark_zkgroup.protocols.kafka import kept_member
from pyspark_zkgroup.protocols.kafka import replay as kafka_replay
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.departure import KafkaDeparture
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.keeper import GroupKeeper
from pyspark_zkgroup.protocols.kafka.lease import KafkaLease
from pyspark_zkgroup.protocols.kafka.requests import GroupRequests
from pyspark_zkgroup.protocols.kafka.rounds import KafkaRounds
from pyspark_zkgroup.protocols.kafka.rules import assignors
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupOffset, GroupProgress, Outcome
from pyspark_zkgroup.protocols.kafka.rules.member import Member, Turn
from pyspark_zkgroup.ranges import positions
from tests.sim.brokered.planted_refusals import REFUSAL_BUGS
from tests.sim.planting import Bugs, Patches, put


def _commit_what_is_planned() -> Patches:
    real = Planner.partitions

    def partitions(self: Planner, start: Any, end: Any) -> list[TaskInput]:
        tasks = real(self, start, end)
        self.membership.boundary(self.boundary.batch.done)
        return tasks

    return [put(Planner, "partitions", partitions)]


def _continue_from_memory() -> Patches:
    """The partition's last writer does not matter."""

    def position(known: GroupProgress | None, committed: GroupOffset) -> int | None:
        return known.done if known is not None else committed.offset

    return [put(kafka_claims, "position", position)]


def _replay_what_is_assigned() -> Patches:
    """The group's present offset does not matter."""

    def replayed(
        _planned: OffsetRange, _fence: Fence, _committed: GroupOffset, *, mine: bool
    ) -> Outcome:
        return "include" if mine else "leave out"

    return [put(kafka_replay, "replayed", replayed)]


def _never_move_the_fence() -> Patches:
    return [put(KafkaClaims, "move_fence", lambda _self, _member, _read: None)]


def _give_out_what_is_owned() -> Patches:
    """Balanced at once, as if no member read."""

    def cooperative(members: Sequence[GroupMember], partitions: Any) -> Any:
        shares = assignors._balanced(members, partitions, assignors._claims(members))
        return {member: frozenset(own) for member, own in shares.items()}

    return [put(assignors, "cooperative_sticky", cooperative)]


def _join_before_the_last_commit() -> Patches:
    real = KafkaClaims.commit_finished

    def commit_finished(self: KafkaClaims, member: Member) -> bool:
        done = real(self, member)
        self.is_put_off = False
        return done

    return [put(KafkaClaims, "commit_finished", commit_finished)]


def _commit_what_was_voided() -> Patches:
    """By another driver, in the replay of the same batch."""
    return [put(KafkaClaims, "_drop_what_was_voided", lambda _self, _member: set())]


def _join_first() -> Patches:
    """What is finished is committed after it."""
    real = KafkaRounds.step

    def step(self: KafkaRounds, wait_until: float) -> bool:
        self.rejoin()
        return real(self, wait_until)

    return [put(KafkaRounds, "step", step)]


def _a_lease_without_end() -> Patches:
    """The member believes it until an answer says otherwise."""

    def is_valid(self: KafkaLease) -> bool:
        return self.kept.member.life == self.holdings.life

    return [put(KafkaLease, "is_valid", property(is_valid))]


def _a_refused_commit_is_done() -> Patches:
    real = GroupRequests.write

    def write(
        self: GroupRequests, member: Member, writes: Mapping[TopicPartition, Write]
    ) -> dict[TopicPartition, Meaning]:
        return dict.fromkeys(real(self, member, writes), Meaning.DONE)

    return [put(GroupRequests, "write", write)]


def _begin_at_starting_offsets() -> Patches:
    """A partition that appears later as well."""
    real = positions.first_positions

    def first_positions(starting: Any, _known: bool, *args: Any, **named: Any) -> Any:
        return real(starting, False, *args, **named)

    return [put(start_lookup, "first_positions", first_positions)]


def _held_outlives_membership() -> Patches:
    def lose(self: KafkaHoldings, life: int) -> None:
        self.life = life

    return [put(KafkaHoldings, "lose", lose)]


def _list_nothing_as_owned() -> Patches:
    real = GroupKeeper.begin_join

    def begin_join(
        self: GroupKeeper, seen: Member, _owned: frozenset[TopicPartition], topics: list[str]
    ) -> bool:
        return real(self, seen, frozenset(), topics)

    return [put(GroupKeeper, "begin_join", begin_join)]


def _deaf_heartbeat() -> Patches:
    """The member ignores what it receives."""

    def heartbeat_answered(member: Member, *_args: Any, **_named: Any) -> Turn:
        return Turn(member, "rest")

    return [put(kept_member, "heartbeat_answered", heartbeat_answered)]


def _leave_at_once() -> Patches:
    return [put(KafkaDeparture, "commit_last", lambda _self: True)]


def _step_out_at_once() -> Patches:
    """An operator's request is obeyed before what was read is committed."""
    real = KafkaDeparture.step_out

    def step_out(self: KafkaDeparture) -> None:
        with put(KafkaDeparture, "commit_last", lambda _self: True):
            real(self)

    return [put(KafkaDeparture, "step_out", step_out)]


def _claim_without_reading() -> Patches:
    """The member continues from memory, and takes a read without an answer for an empty one."""
    real = GroupRequests.read

    def read(
        self: GroupRequests, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, GroupOffset]:
        return {p: GroupOffset(None) for p in partitions} | real(self, partitions)

    return [put(GroupRequests, "read", read)]


BUGS: Final[Bugs] = {
    "commit what is planned": _commit_what_is_planned,
    "continue from memory": _continue_from_memory,
    "replay what is assigned": _replay_what_is_assigned,
    "never move the fence": _never_move_the_fence,
    "give out what is owned": _give_out_what_is_owned,
    "join before the last commit": _join_before_the_last_commit,
    "commit what was voided": _commit_what_was_voided,
    "join first": _join_first,
    "a lease without end": _a_lease_without_end,
    "a refused commit is done": _a_refused_commit_is_done,
    "begin at startingOffsets": _begin_at_starting_offsets,
    "held outlives membership": _held_outlives_membership,
    "list nothing as owned": _list_nothing_as_owned,
    "deaf heartbeat": _deaf_heartbeat,
    "leave at once": _leave_at_once,
    "step out at once": _step_out_at_once,
    "claim without reading": _claim_without_reading,
    **REFUSAL_BUGS,
}
