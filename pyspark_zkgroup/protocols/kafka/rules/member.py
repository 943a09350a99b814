"""A member's standing with the broker's group coordinator: unjoined, rebalancing, or stable.

    unjoined ── begin_join ──→ rebalancing ── sync answered ──→ stable
       ↑                        │   ↑   │                        │  │
       └──── membership lost ───┘   └───┘ the group moved on     │  └─ begin_join (at a boundary)
       └──────────────────────── membership lost ────────────────┘

Values in, values out. The thread that asks the coordinator hands in the answer, and gets the next
member and the next step. A heartbeat only ever notes that a join is needed: joining begins at a
boundary, by `begin_join`. Once begun it continues by itself, since what the join listed as owned
does not change before it is over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.consumer_protocol import NO_GENERATION, MemberAssignment
from pyspark_zkgroup.kafka.error_codes import Meaning, Request
from pyspark_zkgroup.model import TopicPartition

Phase = Literal["unjoined", "rebalancing", "stable"]
Step = Literal["rest", "join", "sync", "look up", "back off"]


@dataclass(frozen=True, slots=True)
class Member:
    """`life` moves whenever membership is lost: what was held under another life is held no more.

    `generation` is that of the last answered join, and what commits name. `owned` is what the join
    listed; `disowned` what it listed and turned out to be lost. `rejoin` says why the next boundary
    has to join; `fatal` why this member cannot continue, and `refusal` is the code that says so.
    """

    instance: str | None = None
    phase: Phase = "unjoined"
    id: str = ""
    generation: int = NO_GENERATION
    life: int = 0
    owned: frozenset[TopicPartition] = frozenset()
    disowned: frozenset[TopicPartition] = frozenset()
    assigned: frozenset[TopicPartition] = frozenset()
    leads: bool = False
    leader_is_zkgroup: bool = False
    rejoin: str = ""
    fatal: str = ""
    refusal: int = codes.NONE

    @property
    def may_commit(self) -> bool:
        return self.generation != NO_GENERATION

    @property
    def needs_join(self) -> bool:
        return self.phase == "unjoined" or (self.phase == "stable" and bool(self.rejoin))


@dataclass(frozen=True, slots=True)
class Joined:
    """An answered join."""

    id: str
    generation: int
    leads: bool


@dataclass(frozen=True, slots=True)
class Turn:
    member: Member
    step: Step


def begin_join(member: Member, owned: frozenset[TopicPartition]) -> Turn:
    """At a boundary, with everything committed. One join is in flight at a time."""
    if not member.needs_join:
        raise ValueError(f"a join cannot begin: {member.phase}, {member.rejoin or 'nothing new'}")
    return Turn(replace(member, phase="rebalancing", owned=owned, rejoin=""), "join")


def ask_to_join(member: Member, why: str) -> Member:
    """We have given something back, or our topics have changed."""
    if member.phase != "stable" or member.rejoin:
        return member
    return replace(member, rejoin=why)


def join_answered(member: Member, code: int, joined: Joined | None) -> Turn:
    meaning = codes.meaning_of("join", code)
    if meaning is Meaning.DONE and joined is not None:
        begun = replace(
            member, id=joined.id, generation=joined.generation, leads=joined.leads, assigned=_NONE
        )
        if _has_missed_one(member, joined):
            begun = replace(begun, life=member.life + 1, owned=_NONE, disowned=member.owned)
        return Turn(begun, "sync")
    if meaning is Meaning.NAMED and joined is not None:
        return Turn(replace(member, id=joined.id), "join")
    return _answered(member, "join", code)


def _has_missed_one(member: Member, joined: Joined) -> bool:
    """A static member is cut off. The group rebalances without it, keeps its place and gives what
    it holds to others; it joins again under its id, and no answer says that it was away.
    """
    return member.may_commit and joined.generation > member.generation + 1


def sync_answered(member: Member, code: int, assignment: MemberAssignment) -> Turn:
    """Where the next rebalance has begun before we had our assignment, the join is repeated, and
    what it lists is still ours: the leader of this generation has seen the same list.

    A static member whose join was lost is passed over by a rebalance, and asks again; its join
    still lists what it owned. The leader believes that, gives a part to others, and waits for it to
    be given back: by a member that has just learned that it holds nothing. It joins once more.
    """
    if codes.meaning_of("sync", code) is not Meaning.DONE:
        return _answered(member, "sync", code)
    stable = replace(
        member,
        phase="stable",
        assigned=assignment.partitions,
        leader_is_zkgroup=assignment.by_zkgroup,
        owned=_NONE,
        disowned=_NONE,
    )
    if member.disowned - assignment.partitions:
        stable = ask_to_join(stable, "the last join listed what was lost")
    return Turn(stable, "rest")


def heartbeat_answered(
    member: Member, code: int, generation: int, request: Request = "heartbeat", of: str = ""
) -> Turn:
    """Answers to heartbeats and commits, which name a generation. One of an earlier generation says
    nothing of this one; during a rebalance it may have moved on before we learn of it, and the
    join's answer decides. `of` says what of a request was refused, if not all of it.
    """
    meaning = codes.meaning_of(request, code)
    if meaning is Meaning.REFUSED:
        return _answered(member, request, code, of)
    if generation != member.generation:
        return Turn(member, "rest")
    if member.phase == "rebalancing" and meaning is Meaning.OLD_GENERATION:
        return Turn(member, "rest")
    if meaning is Meaning.REBALANCE:
        return Turn(ask_to_join(member, "the group rebalances"), "rest")
    if meaning in (Meaning.DONE, Meaning.GONE) or member.phase == "unjoined":
        return Turn(member, "rest")
    turn = _answered(member, request, code)
    return turn if turn.step != "join" else Turn(turn.member, "rest")


def offsets_refused(member: Member, code: int, of: str) -> Member:
    """To a read of the group's offsets, which concerns the member only where it is for good."""
    if codes.meaning_of("offset fetch", code) is not Meaning.REFUSED:
        return member
    return _answered(member, "offset fetch", code, of).member


def membership_given_up(member: Member, why: str) -> Member:
    """We have been silent for too long, and leave: the next boundary joins again."""
    return _lost(member, why, keep_id=member.instance is not None)


def stepped_out(member: Member) -> Member:
    """An operator has asked us to leave. A static member leaves its place, too."""
    return _lost(member, "the request to leave was withdrawn", keep_id=False)


def _answered(member: Member, request: Request, code: int, of: str = "") -> Turn:
    meaning = codes.meaning_of(request, code)
    if meaning is Meaning.FENCED:
        why = f"another process has joined as the static member {member.instance!r}"
        return Turn(replace(_lost(member, why, keep_id=False), fatal=FENCED), "rest")
    if meaning is Meaning.REFUSED:
        why = f"{_REFUSALS.get(code, 'it refuses this member for good')}{of}"
        why += f" ({request} was answered {codes.named(code)})"
        return Turn(replace(member, fatal=why, refusal=code), "rest")
    if meaning is Meaning.UNKNOWN_MEMBER:
        return _after_loss(_lost(member, "the coordinator does not know us", keep_id=False), member)
    if meaning is Meaning.OLD_GENERATION:
        why = "the group has moved on without us"
        return _after_loss(_lost(member, why, keep_id=True), member)
    if meaning is Meaning.LOOK_UP:
        return Turn(member, "look up")
    if meaning is Meaning.REBALANCE:
        return Turn(member, "join")
    return Turn(member, "back off")


def _after_loss(lost: Member, before: Member) -> Turn:
    """A join that was in flight continues, now as a newcomer that owns nothing."""
    if before.phase != "rebalancing":
        return Turn(lost, "rest")
    return Turn(replace(lost, phase="rebalancing", rejoin=""), "join")


def _lost(member: Member, why: str, *, keep_id: bool) -> Member:
    return Member(
        instance=member.instance,
        id=member.id if keep_id else "",
        life=member.life + 1,
        rejoin=why,
    )


_NONE: frozenset[TopicPartition] = frozenset()
FENCED = "fenced"
_REFUSALS = {
    codes.INCONSISTENT_GROUP_PROTOCOL: (
        "the other members use another partition.assignment.strategy (`zkgroup describe` shows "
        "it), or are no consumers"
    ),
    codes.INVALID_SESSION_TIMEOUT: (
        "session.timeout.ms is outside of what the brokers allow (group.min.session.timeout.ms to "
        "group.max.session.timeout.ms)"
    ),
    codes.INVALID_GROUP_ID: "group.id is not valid for a group of the brokers",
    codes.GROUP_AUTHORIZATION_FAILED: "this user may not read as a member of the group",
    codes.TOPIC_AUTHORIZATION_FAILED: "this user may not read",
    codes.GROUP_MAX_SIZE_REACHED: "the group has as many members as the brokers allow",
}
