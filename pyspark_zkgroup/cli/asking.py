"""Asks members of a group for something, and waits until they have answered or the time is up.

Members of groups in ZooKeeper. `brokered_asking` does the same where the brokers coordinate the
group.
"""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.cli.reach import facts_of
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.group.ops import Done
from pyspark_zkgroup.group.requests import Kind, Request, is_over
from pyspark_zkgroup.inspect.report import report
from pyspark_zkgroup.inspect.rows import GroupReport

if TYPE_CHECKING:
    from pyspark_zkgroup.inspect.member_nodes import MemberState
    from pyspark_zkgroup.zk.store import Store

PENDING = 4
"""Exit status where a member has not answered in time."""
_LOOK_AGAIN_S = 0.2
# Between leaving and its answer a member is to be seen nowhere; a session takes no longer to open.
_UNSEEN_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """`state`: drained, ended (its process too), gone (it left by itself), withdrawn or pending."""

    consumer: str
    state: str
    text: str

    @property
    def is_done(self) -> bool:
        return self.state in ("drained", "ended", "gone")


def chosen(seen: GroupReport, asked: Collection[str], more: Collection[str] = ()) -> list[str]:
    """The members whose consumer id is named, or has the named part where no other one has it."""
    known = sorted({*(member.consumer for member in seen.members), *more})
    found = []
    for name in asked:
        # An empty text is in each: a variable of a script that is not set names no member.
        fitting = [name] if name in known else [one for one in known if name and name in one]
        if len(fitting) != 1:
            number = "no member" if not fitting else f"{len(fitting)} members"
            raise OptionError.of(
                "no_such_member",
                group=seen.group,
                number=number,
                name=name,
                known=", ".join(known) or "(there is none)",
            )
        found += fitting
    return list(dict.fromkeys(found))


def refuse_others(seen: GroupReport, consumers: Collection[str]) -> None:
    """Only our own members look for requests."""
    for member in seen.members:
        if member.consumer not in consumers or member.kind == "zkgroup":
            continue
        if member.session is None:
            where = f"{member.client} at {member.host.lstrip('/')}"
            raise OptionError.of("foreign_client", consumer=member.consumer, where=where)
        raise OptionError.of(
            "foreign_member", consumer=member.consumer, kind=member.kind, session=member.session
        )


@dataclass(frozen=True)
class Seen:
    """A group before it is asked. `outside`: by consumer id, what members that live outside of the
    group were asked, empty for one that is about to join again. `asked`: all with a request.
    """

    report: GroupReport
    outside: Mapping[str, str]
    asked: Collection[str]


def asker() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


class Asking:
    """One command's requests to members of one group."""

    def __init__(self, store: Store, group: str, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._group = group
        self._now = now
        self._rested: set[str] = set()

    def look(self, timeout_s: float | None = None) -> Seen:
        """Without waiting: ZooKeeper shows at any time which members accept requests."""
        del timeout_s
        from pyspark_zkgroup.inspect.member_nodes import read_asked

        asked = read_asked(self._store, self._group)
        outside = {
            consumer: "" if at.request is None or at.is_registered else f"{at.request}"
            for consumer, at in self._states(asked).items()
            if at.rests
        }
        return Seen(report(facts_of(self._store, self._group), {}), outside, asked)

    def send(self, kind: Kind, consumers: Sequence[str]) -> None:
        from pyspark_zkgroup.inspect import member_nodes

        self._tidy()
        at_ms = int(time.time() * 1000)
        by = asker()
        wanted = {}
        for consumer, at in self._states(consumers).items():
            session = at.session or at.rests
            if not at.session:
                self._rested.add(consumer)
            if at.is_light:
                raise OptionError.of("light_member", consumer=consumer)
            if not session:
                raise OptionError.of("member_left", consumer=consumer, group=self._group)
            wanted[consumer] = (Request(kind, by, at_ms, session), at.version)
        outcomes = member_nodes.ask(self._store, self._group, wanted)
        for consumer, outcome in zip(wanted, outcomes, strict=True):
            if not isinstance(outcome, Done):
                raise ServerError.of("request_refused", consumer=consumer, outcome=outcome)

    def wait(self, kind: Kind, consumers: Sequence[str], timeout_s: float) -> list[Outcome]:
        """As far as they have come when all are through, or the time is up."""
        give_up_at = self._now() + timeout_s
        unseen_since: dict[str, float] = {}
        answered: set[str] = set()
        while True:
            now = self._now()
            found = []
            for consumer, at in self._states(consumers).items():
                if at.request is not None and at.request.answer is not None:
                    answered.add(consumer)
                if at.is_registered or at.rests:
                    unseen_since.pop(consumer, None)
                unseen_s = 0.0
                if not (at.is_registered or at.rests):
                    unseen_s = now - unseen_since.setdefault(consumer, now)
                found.append(
                    outcome_of(
                        kind,
                        consumer,
                        at,
                        consumer in answered,
                        unseen_s,
                        rested=consumer in self._rested,
                    )
                )
            if now >= give_up_at or all(one.state != "pending" for one in found):
                self._forget(found)
                return found
            time.sleep(_LOOK_AGAIN_S)

    def resume(self, consumer: str) -> bool:
        """False where nothing was asked of it."""
        from pyspark_zkgroup.inspect import member_nodes

        at = self._states([consumer])[consumer]
        if at.version < 0:
            return False
        if not member_nodes.withdraw(self._store, self._group, consumer, at.version):
            raise ServerError.of("request_changed", consumer=consumer)
        return True

    def _states(self, consumers: Sequence[str]) -> dict[str, MemberState]:
        from pyspark_zkgroup.inspect import member_nodes

        return member_nodes.read_standings(self._store, self._group, consumers)

    def _forget(self, outcomes: Collection[Outcome]) -> None:
        """Delete requests to processes that have ended: they will not read them any more."""
        from pyspark_zkgroup.inspect import member_nodes

        over = [one.consumer for one in outcomes if one.state in ("ended", "gone")]
        for consumer, at in self._states(over).items():
            if at.version >= 0:
                member_nodes.withdraw(self._store, self._group, consumer, at.version)

    def _tidy(self) -> None:
        from pyspark_zkgroup.inspect import member_nodes

        now_ms = int(time.time() * 1000)
        asked = member_nodes.read_asked(self._store, self._group)
        for consumer, at in self._states(asked).items():
            if at.request is not None and is_over(
                at.request,
                registered=at.is_registered,
                resting=bool(at.rests),
                now_ms=now_ms,
            ):
                member_nodes.withdraw(self._store, self._group, consumer, at.version)


def outcome_of(
    kind: Kind,
    consumer: str,
    at: MemberState,
    answered: bool,
    unseen_s: float,
    *,
    rested: bool = False,
) -> Outcome:
    """How far a member has come with what was asked of it. One that `rested` outside of the group
    when it was asked to stop has nothing left to commit or to leave, and ends without an answer.
    """
    if answered and at.rests and kind == "drain":
        return Outcome(consumer, "drained", "committed, and outside of the group")
    if answered and not at.rests and not at.is_registered:
        return Outcome(consumer, "ended", "committed, left the group, and its query has ended")
    if unseen_s > _UNSEEN_S and rested and kind == "stop":
        return Outcome(consumer, "ended", "its query has ended; it was outside of the group before")
    if unseen_s > _UNSEEN_S:
        return Outcome(consumer, "gone", "left by itself before it had answered")
    if at.version < 0 and not answered:
        return Outcome(consumer, "withdrawn", "another client has withdrawn the request")
    if answered:
        return Outcome(consumer, "pending", "committed and left the group; its query still runs")
    return Outcome(
        consumer, "pending", "no answer yet: it follows when its batch ends, at its next trigger"
    )


def outcome_values(outcomes: Collection[Outcome]) -> list[dict[str, Any]]:
    return [{"member": o.consumer, "state": o.state, "text": o.text} for o in outcomes]


def status_of(outcomes: Collection[Outcome]) -> int:
    return 0 if all(one.is_done for one in outcomes) else PENDING
