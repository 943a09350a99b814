"""Requests to members of a group that the brokers coordinate.

Brokers pass nothing from one client to another. But they store a note with each offset, and any
client may commit offsets to a group that has no members. So what operators ask of members of a
group is in the notes of a second group, whose name is the first one's with a suffix: in those of
the first topic that the member reads. Each note has a list of requests.

Offsets are not committed under a condition. Two operators who change one note at the same time may
overwrite each other; the command whose request has gone sees it, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from pyspark_zkgroup.group.requests import KINDS, Kind
from pyspark_zkgroup.model import TopicPartition

Notes = Mapping[TopicPartition, tuple["NotedRequest", ...]]

_SUFFIX = ".zkgroup-requests"
# A member reads this many notes at most, so that its question stays small.
_NOTES_MAX = 64
# Brokers refuse notes above offset.metadata.max.bytes, which is 4096 unless it was changed.
_NOTE_BYTES_MAX = 4096
# Brokers forget an offset of a group without members after a week by default.
_KEPT_MS = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class NotedRequest:
    """`member` is the id by which the coordinator knows the member. A process that joins later has
    another id, also a static member's successor: a request never meets it.
    """

    kind: Kind
    member: str
    by: str
    at_ms: int

    def __str__(self) -> str:
        return f"{self.kind}, asked by {self.by}"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a member has been asked, and in which note."""

    request: NotedRequest
    partition: TopicPartition


def requests_group(group: str) -> str:
    return f"{group}{_SUFFIX}"


def is_requests_group(name: str) -> bool:
    return name.endswith(_SUFFIX)


def places(
    topics: Iterable[str], numbers: Mapping[str, Sequence[int]]
) -> tuple[TopicPartition, ...]:
    """Return the partitions whose notes are for a member that reads these topics."""
    for topic in sorted(topics):
        if numbers.get(topic):
            return tuple(TopicPartition(topic, n) for n in sorted(numbers[topic])[:_NOTES_MAX])
    return ()


def encode_note(requests: Iterable[NotedRequest]) -> str:
    return json.dumps({"version": 1, "requests": [asdict(request) for request in requests]})


def decode_note(text: str) -> tuple[NotedRequest, ...]:
    """Decode what `encode_note` has written; anything else is no request."""
    if len(text) > _NOTE_BYTES_MAX:
        return ()
    try:
        return tuple(_request(value) for value in json.loads(text)["requests"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return ()


def _request(value: Mapping[str, Any]) -> NotedRequest:
    kind, member, by, at_ms = (value[name] for name in ("kind", "member", "by", "at_ms"))
    is_ours = kind in KINDS and isinstance(member, str) and isinstance(by, str)
    if not is_ours or not isinstance(at_ms, int) or not 0 <= at_ms < 2**63:
        raise ValueError(f"{value!r} is no request")
    return NotedRequest(cast(Kind, kind), member, by, at_ms)


def heard(notes: Notes, ids: Collection[str], before: Heard | None) -> Heard | None:
    """Return the newest request to the process that has had these ids.

    A request that was heard before is withdrawn when its note says nothing of it any more. Where
    the brokers have no note, they have forgotten it, and the request still holds.
    """
    found = [
        Heard(request, partition)
        for partition, requests in notes.items()
        for request in requests
        if request.member in ids
    ]
    if found:
        return max(found, key=lambda one: one.request.at_ms)
    return None if before is None or before.partition in notes else before


def placed(
    notes: Notes, request: NotedRequest, among: Sequence[TopicPartition], present: Collection[str]
) -> Notes:
    """Return the notes to write so that this request replaces earlier ones to its member; none
    where no note has room. `present` are the members that the group has now.
    """
    for partition in among:
        kept = (
            one
            for one in notes.get(partition, ())
            if one.member != request.member and not _is_over(one, present, request.at_ms)
        )
        after = (*kept, request)
        if len(encode_note(after).encode()) <= _NOTE_BYTES_MAX:
            return {**withdrawn(notes, request.member), partition: after}
    return {}


def withdrawn(notes: Notes, member: str) -> Notes:
    """Return the notes to write so that nothing is asked of this member any more."""
    return {
        partition: tuple(one for one in requests if one.member != member)
        for partition, requests in notes.items()
        if any(one.member == member for one in requests)
    }


def _is_over(request: NotedRequest, present: Collection[str], now_ms: int) -> bool:
    """A drained process is in no group and still has to find its request."""
    return request.member not in present and now_ms - request.at_ms > _KEPT_MS
