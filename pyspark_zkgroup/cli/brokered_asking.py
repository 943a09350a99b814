"""Asks members of a group that the brokers coordinate, and waits until they have left it.

They find the request in a note of a second group, and do not answer: that a member has left the
group is what shows that it has found it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from pyspark_zkgroup.cli.asking import Outcome, Seen, asker
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.group.noted_requests import (
    NotedRequest,
    Notes,
    decode_note,
    encode_note,
    placed,
    places,
    requests_group,
    withdrawn,
)
from pyspark_zkgroup.group.requests import Kind
from pyspark_zkgroup.inspect.rows import GroupReport

_LOOK_AGAIN_S = 0.5


class BrokeredAsking:
    def __init__(self, live: BrokeredLive, now: Callable[[], float] = time.monotonic) -> None:
        self._live = live
        self._now = now
        self._notes_of = requests_group(live.group)
        self._topics_of: dict[str, Collection[str]] = {}

    def look(self, timeout_s: float | None = None) -> Seen:
        """`timeout_s`: how long to wait for the end of a rebalance. Until then the coordinator does
        not tell which members accept requests, nor what they read.
        """
        give_up_at = self._now() + (timeout_s or 0.0)
        seen = self._live.look()
        while timeout_s is not None and _is_hidden(seen):
            if self._now() >= give_up_at:
                raise ServerError.of("group_rebalances", group=self._live.group)
            time.sleep(_LOOK_AGAIN_S)
            seen = self._live.look()
        self._topics_of = {member.consumer: member.subscription for member in seen.members}
        present = {member.consumer for member in seen.members}
        requests = self.requests()
        outside = {m: f"{r}" for m, r in requests.items() if r.kind == "drain" and m not in present}
        return Seen(seen, outside, requests)

    def requests(self) -> dict[str, NotedRequest]:
        """By member."""
        return {one.member: one for requests in self._notes().values() for one in requests}

    def send(self, kind: Kind, consumers: Sequence[str]) -> None:
        facts = self._live.facts()
        present = {member.id for member in facts.group.members}
        for consumer in consumers:
            before = self._notes()
            at_ms = int(time.time() * 1000)
            if consumer in self._topics_of:
                among = places(self._topics_of[consumer], facts.topics)
            else:
                # One that was drained looks into the note with its request.
                among = tuple(withdrawn(before, consumer))
            request = NotedRequest(kind, consumer, asker(), at_ms)
            after = placed(before, request, among, present)
            if not after:
                raise OptionError.of("no_place_for_request", consumer=consumer)
            self._write(after)

    def wait(self, kind: Kind, consumers: Sequence[str], timeout_s: float) -> list[Outcome]:
        """As far as they have come when all are through, or the time is up."""
        give_up_at = self._now() + timeout_s
        while True:
            group = self._live.described()
            present = set() if group is None else {member.id for member in group.members}
            requests = self.requests()
            found = [
                outcome_of(kind, one, is_member=one in present, request=requests.get(one))
                for one in consumers
            ]
            if self._now() >= give_up_at or all(one.state != "pending" for one in found):
                return found
            time.sleep(_LOOK_AGAIN_S)

    def resume(self, consumer: str) -> bool:
        """False where nothing was asked of it."""
        after = withdrawn(self._notes(), consumer)
        self._write(after)
        return bool(after)

    def _notes(self) -> Notes:
        stored = self._live.ends.stored(self._notes_of, None)
        return {partition: decode_note(at.note) for partition, at in stored.items()}

    def _write(self, notes: Notes) -> None:
        for partition, requests in notes.items():
            note = encode_note(requests)
            for why in self._live.ends.commit(self._notes_of, {partition: 0}, note).values():
                raise ServerError.of("note_refused", group=self._notes_of, reason=why.reason)


def _is_hidden(seen: GroupReport) -> bool:
    group = seen.brokered
    return group is not None and bool(group.members) and not group.shows_assignment


def outcome_of(
    kind: Kind, consumer: str, *, is_member: bool, request: NotedRequest | None
) -> Outcome:
    """How far a member has come with what was asked of it."""
    if not is_member and kind == "drain":
        return Outcome(consumer, "drained", "left the group, and stays outside")
    if not is_member:
        return Outcome(consumer, "ended", "left the group; its query ends")
    if request is None or request.kind != kind:
        return Outcome(consumer, "withdrawn", "another client has withdrawn the request")
    return Outcome(
        consumer, "pending", "no answer yet: it follows when its batch ends, at its next trigger"
    )
