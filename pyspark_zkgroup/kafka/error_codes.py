"""Every error code that brokers answer to our requests, and what each means for us.

The numbers are part of Kafka's protocol. A code that is not listed for a request is never a
success: of a commit it leaves open whether the commit was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, Literal, get_args

Request = Literal[
    "join",
    "sync",
    "heartbeat",
    "leave",
    "commit",
    "offset fetch",
    "find coordinator",
    "describe groups",
    "list groups",
    "metadata",
    "list offsets",
    "fetch",
    "leader epochs",
]
REQUESTS: Final[tuple[Request, ...]] = get_args(Request)


class Meaning(Enum):
    DONE = "done"
    AGAIN = "refused for now, without effect: ask again later"
    LOOK_UP = "refused without effect: another broker is responsible, look it up"
    IN_DOUBT = "done or not done: the broker may have executed it"
    REBALANCE = "refused without effect: the group rebalances"
    NAMED = "refused: join again with the member id in the answer"
    UNKNOWN_MEMBER = "refused without effect: the coordinator does not know this member"
    OLD_GENERATION = "refused without effect: the group has moved on without this member"
    FENCED = "refused: another process has joined under this member.id"
    GONE = "the broker knows no such topic or partition; its metadata may lag"
    OUT_OF_RANGE = "the log does not hold the offset"
    REFUSED = "refused for good: no other attempt helps"
    UNLISTED = "a code that this table does not list for the request"
    UNSENT = "not sent, since an earlier part of the request was refused"


NONE = 0
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
REQUEST_TIMED_OUT = 7
COORDINATOR_LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
ILLEGAL_GENERATION = 22
INCONSISTENT_GROUP_PROTOCOL = 23
INVALID_GROUP_ID = 24
UNKNOWN_MEMBER_ID = 25
INVALID_SESSION_TIMEOUT = 26
REBALANCE_IN_PROGRESS = 27
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
GROUP_ID_NOT_FOUND = 69
MEMBER_ID_REQUIRED = 79
GROUP_MAX_SIZE_REACHED = 81
FENCED_INSTANCE_ID = 82
UNSTABLE_OFFSET_COMMIT = 88

SILENCE = -1000
"""No answer at all. Not one of Kafka's numbers; its own -1 is an unknown server error."""

_GROUP = "join, sync, heartbeat, leave"
_COORDINATOR = f"{_GROUP}, offset fetch, find coordinator, describe groups, list groups"
_LOGS = "list offsets, fetch, leader epochs"
_ALL = ", ".join(REQUESTS)
_READS = f"offset fetch, find coordinator, describe groups, list groups, metadata, {_LOGS}"

_M = Meaning
_ROWS: Final[tuple[tuple[int, str, Mapping[Meaning, str]], ...]] = (
    (SILENCE, "SILENCE", {_M.LOOK_UP: f"{_GROUP}, {_READS}", _M.IN_DOUBT: "commit"}),
    (
        -1,
        "UNKNOWN_SERVER_ERROR",
        {_M.AGAIN: _COORDINATOR, _M.IN_DOUBT: "commit", _M.REFUSED: f"metadata, {_LOGS}"},
    ),
    (NONE, "NONE", {_M.DONE: _ALL}),
    (OFFSET_OUT_OF_RANGE, "OFFSET_OUT_OF_RANGE", {_M.OUT_OF_RANGE: "list offsets, fetch"}),
    (2, "CORRUPT_MESSAGE", {_M.REFUSED: "fetch"}),
    (
        UNKNOWN_TOPIC_OR_PARTITION,
        "UNKNOWN_TOPIC_OR_PARTITION",
        {_M.GONE: f"commit, offset fetch, metadata, {_LOGS}"},
    ),
    (5, "LEADER_NOT_AVAILABLE", {_M.LOOK_UP: f"metadata, {_LOGS}"}),
    (6, "NOT_LEADER_OR_FOLLOWER", {_M.LOOK_UP: _LOGS, _M.IN_DOUBT: "commit"}),
    (
        REQUEST_TIMED_OUT,
        "REQUEST_TIMED_OUT",
        {_M.AGAIN: f"{_COORDINATOR}, metadata, {_LOGS}", _M.IN_DOUBT: "commit"},
    ),
    (9, "REPLICA_NOT_AVAILABLE", {_M.LOOK_UP: f"metadata, {_LOGS}"}),
    (12, "OFFSET_METADATA_TOO_LARGE", {_M.REFUSED: "commit"}),
    (
        COORDINATOR_LOAD_IN_PROGRESS,
        "COORDINATOR_LOAD_IN_PROGRESS",
        {_M.AGAIN: f"{_COORDINATOR}, commit"},
    ),
    # A commit may be appended to the log before its broker finds too few replicas (15), or finds
    # itself deposed (16).
    (
        COORDINATOR_NOT_AVAILABLE,
        "COORDINATOR_NOT_AVAILABLE",
        {_M.LOOK_UP: _COORDINATOR, _M.IN_DOUBT: "commit"},
    ),
    (NOT_COORDINATOR, "NOT_COORDINATOR", {_M.LOOK_UP: _COORDINATOR, _M.IN_DOUBT: "commit"}),
    (17, "INVALID_TOPIC_EXCEPTION", {_M.REFUSED: f"commit, metadata, {_LOGS}"}),
    (19, "NOT_ENOUGH_REPLICAS", {_M.IN_DOUBT: "commit"}),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", {_M.IN_DOUBT: "commit"}),
    (
        ILLEGAL_GENERATION,
        "ILLEGAL_GENERATION",
        {_M.OLD_GENERATION: "join, sync, heartbeat, commit"},
    ),
    (INCONSISTENT_GROUP_PROTOCOL, "INCONSISTENT_GROUP_PROTOCOL", {_M.REFUSED: "join, sync"}),
    (
        INVALID_GROUP_ID,
        "INVALID_GROUP_ID",
        {_M.REFUSED: f"{_GROUP}, commit, offset fetch, find coordinator, describe groups"},
    ),
    (UNKNOWN_MEMBER_ID, "UNKNOWN_MEMBER_ID", {_M.UNKNOWN_MEMBER: f"{_GROUP}, commit"}),
    (INVALID_SESSION_TIMEOUT, "INVALID_SESSION_TIMEOUT", {_M.REFUSED: "join"}),
    (
        REBALANCE_IN_PROGRESS,
        "REBALANCE_IN_PROGRESS",
        {_M.REBALANCE: "join, sync, heartbeat, commit"},
    ),
    (28, "INVALID_COMMIT_OFFSET_SIZE", {_M.REFUSED: "commit"}),
    (
        TOPIC_AUTHORIZATION_FAILED,
        "TOPIC_AUTHORIZATION_FAILED",
        {_M.REFUSED: f"commit, offset fetch, metadata, {_LOGS}"},
    ),
    (
        GROUP_AUTHORIZATION_FAILED,
        "GROUP_AUTHORIZATION_FAILED",
        {_M.REFUSED: f"{_COORDINATOR}, commit"},
    ),
    (31, "CLUSTER_AUTHORIZATION_FAILED", {_M.REFUSED: f"list groups, metadata, {_LOGS}"}),
    (35, "UNSUPPORTED_VERSION", {_M.REFUSED: _ALL}),
    (42, "INVALID_REQUEST", {_M.REFUSED: _ALL}),
    (
        UNSUPPORTED_FOR_MESSAGE_FORMAT,
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        {_M.REFUSED: "list offsets, fetch"},
    ),
    (56, "KAFKA_STORAGE_ERROR", {_M.LOOK_UP: f"metadata, {_LOGS}", _M.IN_DOUBT: "commit"}),
    # Kafka 4 forgets a group that is empty and has no offsets; for its describe see group_wire.py.
    (
        GROUP_ID_NOT_FOUND,
        "GROUP_ID_NOT_FOUND",
        {
            _M.UNKNOWN_MEMBER: f"{_GROUP}, commit",
            _M.REFUSED: "offset fetch, describe groups",
        },
    ),
    (70, "FETCH_SESSION_ID_NOT_FOUND", {_M.AGAIN: "fetch"}),
    (71, "INVALID_FETCH_SESSION_EPOCH", {_M.AGAIN: "fetch"}),
    (72, "LISTENER_NOT_FOUND", {_M.LOOK_UP: "metadata"}),
    (74, "FENCED_LEADER_EPOCH", {_M.LOOK_UP: _LOGS}),
    (75, "UNKNOWN_LEADER_EPOCH", {_M.AGAIN: _LOGS}),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", {_M.REFUSED: "fetch"}),
    (78, "OFFSET_NOT_AVAILABLE", {_M.AGAIN: _LOGS}),
    (MEMBER_ID_REQUIRED, "MEMBER_ID_REQUIRED", {_M.NAMED: "join"}),
    (GROUP_MAX_SIZE_REACHED, "GROUP_MAX_SIZE_REACHED", {_M.REFUSED: "join"}),
    (FENCED_INSTANCE_ID, "FENCED_INSTANCE_ID", {_M.FENCED: f"{_GROUP}, commit"}),
    (UNSTABLE_OFFSET_COMMIT, "UNSTABLE_OFFSET_COMMIT", {_M.AGAIN: "offset fetch"}),
    (100, "UNKNOWN_TOPIC_ID", {_M.GONE: "metadata, fetch"}),
    (103, "INCONSISTENT_TOPIC_ID", {_M.LOOK_UP: "fetch"}),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", {_M.AGAIN: "fetch"}),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", {_M.REFUSED: "fetch"}),
    # Of the newer group protocol, where a group was converted under its members.
    (113, "STALE_MEMBER_EPOCH", {_M.OLD_GENERATION: "commit"}),
)

NAMES: Final[Mapping[int, str]] = {number: name for number, name, _ in _ROWS}

LISTED: Final[Mapping[tuple[str, int], Meaning]] = {
    (request, number): meaning
    for number, _, meanings in _ROWS
    for meaning, requests in meanings.items()
    for request in requests.split(", ")
}


def meaning_of(request: Request, code: int) -> Meaning:
    """Of one code in an answer to a request."""
    unlisted = Meaning.IN_DOUBT if request == "commit" else Meaning.UNLISTED
    return LISTED.get((request, code), unlisted)


def named(code: int) -> str:
    """As Kafka's documentation has it, with its number."""
    return f"{NAMES.get(code, 'a code without a name')} ({code})"
