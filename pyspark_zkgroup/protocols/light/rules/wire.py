"""The messages of a light member's stream as JSON: a public, versioned format with golden files.

    {"version":2,"message":"hello","group":"g","consumer":"g_c","incarnation":"...","timeout":10000}
    {"version":2,"message":"commit","number":4,"transactions":[[["create","/p","text",true],
     ["set","/p","text",0],["check","/q",3],["delete","/q",1]]]}
    {"version":2,"message":"executed","number":4,"outcomes":[["done",[[900,1]]],
     ["refused",0,"exists",""],["doubt"]]}

Bytes of nodes are texts of one character each. Whatever is not of this form is refused: it comes
from a network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.ops import (
    Check,
    Create,
    Delete,
    Done,
    InDoubt,
    NodeVersion,
    Op,
    Outcome,
    Refused,
    SetData,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules import command_json
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    ChildrenRead,
    Commit,
    Elsewhere,
    Executed,
    Failed,
    Hello,
    Leave,
    NodeRead,
    NodesRead,
    Ping,
    Pong,
    Read,
    Register,
    Registered,
    Rejected,
    Tell,
    ToCoordinator,
    Told,
    ToMember,
)

VERSION = 2
"""2: what names a process is a secret. With 1 it lay in ZooKeeper, to be read by all."""
MESSAGE_BYTES_MAX = 4 * 1024 * 1024
_SHOWN = 200
_NUMBER_MAX = 2**63 - 1
_TEXT_MAX = 1024 * 1024
_REASONS = ("exists", "missing", "version", "not empty", "other")

T = TypeVar("T")


class BadMessageError(Exception):
    """What a peer has sent is no message of this protocol; `newer`: of a later version of it."""

    def __init__(self, text: str, *, newer: bool = False) -> None:
        super().__init__(text)
        self.newer = newer


def encode(message: ToCoordinator | ToMember) -> bytes:
    """Deterministic: equal messages are equal bytes."""
    value = {"version": VERSION, "message": type(message).__name__.lower(), **_fields(message)}
    return json.dumps(value, separators=(",", ":")).encode()


def decode_from_member(data: bytes) -> ToCoordinator:
    message: ToCoordinator = _decode(data, _FROM_MEMBER)
    return message


def decode_from_coordinator(data: bytes) -> ToMember:
    message: ToMember = _decode(data, _FROM_COORDINATOR)
    return message


# -- writing


def _fields(m: ToCoordinator | ToMember) -> dict[str, object]:
    if isinstance(m, Hello):
        named = {"group": m.group, "consumer": m.consumer, "incarnation": m.incarnation}
        return {**named, "timeout": m.timeout_ms}
    if isinstance(m, Register):
        fences = [[p.topic, p.partition, n.czxid, n.version] for p, n in sorted(_items(m.evidence))]
        text = _text(m.registration)
        return {"number": m.number, "registration": text, "static": m.static, "evidence": fences}
    if isinstance(m, Read):
        return {"number": m.number, "what": m.what, "paths": list(m.paths)}
    if isinstance(m, Commit):
        transactions = [[_op(op) for op in transaction] for transaction in m.transactions]
        return {"number": m.number, "transactions": transactions}
    if isinstance(m, Told):
        return {"answer": command_json.encode(m.answer).decode()}
    if isinstance(m, Pong | Leave):
        return {"number": m.number}
    return _fields_of_coordinator(m)


def _fields_of_coordinator(m: ToMember) -> dict[str, object]:
    if isinstance(m, Tell):
        return {"command": command_json.encode(m.command).decode()}
    if isinstance(m, Accepted):
        return {"epoch": m.epoch, "life": m.life, "brokers": list(m.brokers)}
    if isinstance(m, Rejected):
        return {"reason": m.reason, "retriable": m.retriable, "fenced": m.fenced}
    if isinstance(m, Elsewhere):
        return {"address": m.address, "coordinator": m.coordinator}
    if isinstance(m, Ping):
        return {"number": m.number, "heard": m.heard}
    if isinstance(m, NodesRead):
        return {"number": m.number, "nodes": [n and _node(n) for n in m.nodes]}
    if isinstance(m, ChildrenRead):
        return {"number": m.number, "names": [n if n is None else list(n) for n in m.names]}
    if isinstance(m, Executed):
        return {"number": m.number, "outcomes": [_outcome(o) for o in m.outcomes]}
    if isinstance(m, Registered):
        return {"number": m.number, "life": m.life}
    return {"number": m.number, "why": m.why, "text": m.text}


def _items(
    evidence: Mapping[TopicPartition, NodeVersion],
) -> list[tuple[TopicPartition, NodeVersion]]:
    return list(evidence.items())


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _op(op: Op) -> list[object]:
    if isinstance(op, Create):
        return ["create", op.path, _text(op.data), op.ephemeral]
    if isinstance(op, SetData):
        return ["set", op.path, _text(op.data), op.version]
    return ["check" if isinstance(op, Check) else "delete", op.path, op.version]


def _node(n: NodeRead) -> list[object]:
    return [_text(n.data), n.node.czxid, n.node.version, n.owner, n.modified]


def _outcome(outcome: Outcome) -> list[object]:
    if isinstance(outcome, Done):
        return ["done", [[n.czxid, n.version] for n in outcome.written]]
    if isinstance(outcome, Refused):
        return ["refused", outcome.index, outcome.reason, outcome.text]
    return ["doubt"]


# -- reading


class _Value:
    """One message, asked field by field."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            value: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.bad("it is not JSON") from error
        if not isinstance(value, dict):
            raise self.bad("it is not an object")
        self.value: dict[str, Any] = value
        version = self.number("version")
        if version > VERSION:
            raise BadMessageError(
                f"a message of version {version}, this zkgroup reads versions up to {VERSION}",
                newer=True,
            )
        if version < VERSION:
            raise BadMessageError(
                f"a message of version {version}, this zkgroup takes only version {VERSION}: let "
                "members and coordinators run the same release"
            )

    def bad(self, why: str) -> BadMessageError:
        return BadMessageError(f"no message of a light member's stream: {why}; {self.shown}")

    @property
    def shown(self) -> str:
        return f"it holds {self.data[:_SHOWN]!r}"

    def text(self, key: str) -> str:
        return self.is_text(self.value.get(key), f'"{key}"')

    def flag(self, key: str) -> bool:
        return self.is_flag(self.value.get(key), f'"{key}"')

    def number(self, key: str) -> int:
        return self.is_number(self.value.get(key), f'"{key}"')

    def each(self, key: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        return tuple(read(one) for one in self.is_list(self.value.get(key), f'"{key}"'))

    def word(self, key: str, *words: str) -> Any:
        if self.value.get(key) not in words:
            raise self.bad(f'"{key}" is none of {", ".join(words)}')
        return self.value[key]

    def is_text(self, value: Any, what: str) -> str:
        if not isinstance(value, str) or len(value) > _TEXT_MAX:
            raise self.bad(f"{what} is missing or no text")
        return value

    def is_flag(self, value: Any, what: str) -> bool:
        if not isinstance(value, bool):
            raise self.bad(f"{what} is neither true nor false")
        return value

    def is_number(self, value: Any, what: str, low: int = -1) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not low <= value <= _NUMBER_MAX:
            raise self.bad(f"{what} is missing or no number")
        return int(value)

    def is_list(self, value: Any, what: str, length: int | None = None) -> list[Any]:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            raise self.bad(f"{what} is missing or not such a list")
        return value

    def bytes_of(self, value: Any, what: str) -> bytes:
        try:
            return self.is_text(value, what).encode("latin-1")
        except UnicodeEncodeError:
            raise self.bad(f"{what} is no text of bytes") from None

    def path(self, value: Any) -> str:
        path = self.is_text(value, "a path")
        if not path.startswith("/") or path.endswith("/") or "\0" in path:
            raise self.bad(f"{path[:_SHOWN]!r} is no path")
        return path

    def version_of(self, value: Any) -> NodeVersion:
        czxid, version = self.is_list(value, "a version", 2)
        return NodeVersion(self.is_number(czxid, "a czxid"), self.is_number(version, "a version"))

    def op(self, value: Any) -> Op:
        kind, path, *rest = [*self.is_list(value, "an operation"), None, None, None][:4]
        path = self.path(path)
        if kind == "create":
            flag = self.is_flag(rest[1], "ephemeral")
            return Create(path, self.bytes_of(rest[0], "data"), ephemeral=flag)
        if kind == "set":
            data = self.bytes_of(rest[0], "data")
            return SetData(path, data, self.is_number(rest[1], "a version"))
        if kind not in ("check", "delete"):
            raise self.bad(f"there is no operation {str(kind)[:_SHOWN]!r}")
        version = self.is_number(rest[0], "a version")
        return Check(path, version) if kind == "check" else Delete(path, version)

    def transaction(self, value: Any) -> tuple[Op, ...]:
        return tuple(self.op(op) for op in self.is_list(value, "a transaction"))

    def fence(self, value: Any) -> tuple[TopicPartition, NodeVersion]:
        topic, partition, czxid, version = self.is_list(value, "a fence", 4)
        try:
            tp = TopicPartition(self.is_text(topic, "a topic"), self.is_number(partition, "it"))
        except ValueError as error:
            raise self.bad(str(error)) from None
        return tp, self.version_of([czxid, version])

    def node(self, value: Any) -> NodeRead | None:
        if value is None:
            return None
        data, czxid, version, owner, modified = self.is_list(value, "a node", 5)
        return NodeRead(
            self.bytes_of(data, "data"),
            self.version_of([czxid, version]),
            self.is_number(owner, "an owner", -_NUMBER_MAX - 1),
            self.is_number(modified, "a transaction"),
        )

    def names(self, value: Any) -> tuple[str, ...] | None:
        if value is None:
            return None
        return tuple(self.is_text(name, "a name") for name in self.is_list(value, "names"))

    def outcome(self, value: Any) -> Outcome:
        kind, *rest = [*self.is_list(value, "an outcome"), None, None, None, None][:4]
        if kind == "done":
            return Done(tuple(self.version_of(n) for n in self.is_list(rest[0], "versions")))
        if kind == "refused" and rest[1] in _REASONS:
            index = self.is_number(rest[0], "an index")
            return Refused(index, rest[1], self.is_text(rest[2], "a text"))
        if kind == "doubt":
            return InDoubt()
        raise self.bad("there is no such outcome")

    def command(self, key: str, read: Callable[[str, bytes], T]) -> T:
        try:
            return read("the stream", self.text(key).encode())
        except (BadZnodeError, UnicodeEncodeError) as error:
            raise self.bad(str(error)) from error


def _decode(data: bytes, kinds: Mapping[str, Callable[[_Value], Any]]) -> Any:
    value = _Value(data)
    name = value.text("message")
    if name not in kinds:
        raise value.bad(f"there is no message {name[:_SHOWN]!r} from this side")
    return kinds[name](value)


_FROM_MEMBER: Mapping[str, Callable[[_Value], ToCoordinator]] = {
    "hello": lambda v: Hello(
        v.text("group"), v.text("consumer"), v.text("incarnation"), v.number("timeout")
    ),
    "register": lambda v: Register(
        v.number("number"),
        v.bytes_of(v.value.get("registration"), "the registration"),
        v.flag("static"),
        dict(v.each("evidence", v.fence)),
    ),
    "read": lambda v: Read(
        v.number("number"),
        v.word("what", "nodes", "children", "sync", "ensure"),
        v.each("paths", v.path),
    ),
    "commit": lambda v: Commit(v.number("number"), v.each("transactions", v.transaction)),
    "told": lambda v: Told(v.command("answer", command_json.decode_answer)),
    "pong": lambda v: Pong(v.number("number")),
    "leave": lambda v: Leave(v.number("number")),
}
_FROM_COORDINATOR: Mapping[str, Callable[[_Value], ToMember]] = {
    "accepted": lambda v: Accepted(
        v.number("epoch"),
        v.number("life"),
        v.each("brokers", lambda b: v.is_text(b, "a broker")),
    ),
    "rejected": lambda v: Rejected(v.text("reason"), v.flag("retriable"), v.flag("fenced")),
    "elsewhere": lambda v: Elsewhere(v.text("address"), v.text("coordinator")),
    "ping": lambda v: Ping(v.number("number"), v.number("heard")),
    "tell": lambda v: Tell(v.command("command", command_json.decode_command)),
    "nodesread": lambda v: NodesRead(v.number("number"), v.each("nodes", v.node)),
    "childrenread": lambda v: ChildrenRead(v.number("number"), v.each("names", v.names)),
    "executed": lambda v: Executed(v.number("number"), v.each("outcomes", v.outcome)),
    "registered": lambda v: Registered(v.number("number"), v.number("life")),
    "failed": lambda v: Failed(
        v.number("number"), v.word("why", "offline", "forbidden", "taken"), v.text("text")
    ),
}
