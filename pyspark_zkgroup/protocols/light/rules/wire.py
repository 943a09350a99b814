"""The messages of a light member's stream as bytes, by light.proto.

Input that does not fit is refused: it comes from a network. The classes for the messages are made
from light.pb, which is light.proto compiled (`python -m tests.harness.light_proto`). Code generated
by protoc loads with few major versions of protobuf only, and Spark Connect decides which one is
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import resources
from typing import Any, TypeAlias, TypeVar

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.message import DecodeError

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

VERSION = 3
"""3: protobuf. In 1 and 2 messages were JSON."""
MESSAGE_BYTES_MAX = 4 * 1024 * 1024
_SHOWN = 200
_VALUE_MAX = 1024 * 1024

Fields: TypeAlias = dict[str, Any]
T = TypeVar("T")


class BadMessageError(Exception):
    """A peer has sent something that is no message of this protocol, or (`newer`) of a later
    version."""

    def __init__(self, text: str, *, newer: bool = False) -> None:
        super().__init__(text)
        self.newer = newer


def encode(message: ToCoordinator | ToMember) -> bytes:
    """Encode deterministically: equal messages are equal bytes."""
    name, written = _WRITERS[type(message)]
    side = "FromMember" if name in _FROM_MEMBER else "FromCoordinator"
    sent = _CLASSES[f"zkgroup.{side}"](version=VERSION, **{name: written(message)})
    encoded: bytes = sent.SerializeToString(deterministic=True)
    return encoded


def decode_from_member(data: bytes) -> ToCoordinator:
    message: ToCoordinator = _decode("zkgroup.FromMember", data, _FROM_MEMBER)
    return message


def decode_from_coordinator(data: bytes) -> ToMember:
    message: ToMember = _decode("zkgroup.FromCoordinator", data, _FROM_COORDINATOR)
    return message


def _decode(class_name: str, data: bytes, readers: Mapping[str, Callable[[Any], T]]) -> T:
    received = _CLASSES[class_name]()
    if data.startswith(b"{"):
        raise _older("a message of version 1 or 2")
    try:
        received.ParseFromString(data)
    except DecodeError as error:
        raise _bad(data, f"it is not protobuf ({error})") from error
    _require_version(received.version)
    name = received.WhichOneof("message")
    if name is None:
        raise _bad(data, "nothing in it is known on this side")
    try:
        return readers[name](getattr(received, name))
    except (ValueError, BadZnodeError) as error:
        raise _bad(data, str(error)) from error


def _require_version(version: int) -> None:
    if version > VERSION:
        raise BadMessageError(
            f"a message of version {version}, this zkgroup reads versions up to {VERSION}",
            newer=True,
        )
    if version < VERSION:
        raise _older(f"a message of version {version}")


def _older(what: str) -> BadMessageError:
    return BadMessageError(
        f"{what}, this zkgroup takes only version {VERSION}: let members and coordinators run the "
        "same release"
    )


def _bad(data: bytes, why: str) -> BadMessageError:
    return BadMessageError(
        f"no message of a light member's stream: {why}; it begins with {data[:_SHOWN]!r}"
    )


def _classes() -> Mapping[str, Any]:
    compiled = resources.files(__package__).joinpath("light.pb").read_bytes()
    files = descriptor_pb2.FileDescriptorSet.FromString(compiled).file
    classes: Mapping[str, Any] = message_factory.GetMessages(files)
    return classes


_CLASSES = _classes()

# -- writing


def _flat(message: Any) -> Fields:
    """Encode a message whose fields are those of light.proto, and none of them is a message."""
    return {field.name: getattr(message, field.name) for field in fields(message)}


def _op(op: Op) -> Fields:
    if isinstance(op, Create):
        return {"create": {"path": op.path, "data": op.data, "ephemeral": op.ephemeral}}
    kind = "set" if isinstance(op, SetData) else "check" if isinstance(op, Check) else "delete"
    return {kind: _flat(op)}


def _fence(partition: TopicPartition, node: NodeVersion) -> Fields:
    return {**partition._asdict(), "node": _flat(node)}


def _node(read: NodeRead | None) -> Fields:
    return {"missing": True} if read is None else {**_flat(read), "node": _flat(read.node)}


def _names(names: tuple[str, ...] | None) -> Fields:
    return {"missing": True} if names is None else {"names": names}


def _outcome(outcome: Outcome) -> Fields:
    if isinstance(outcome, Done):
        return {"done": {"written": [_flat(node) for node in outcome.written]}}
    if isinstance(outcome, Refused):
        text = _any_text(outcome.text)
        return {"refused": {**_flat(outcome), "reason": _symbol(outcome.reason), "text": text}}
    return {"doubt": {}}


def _symbol(word: str) -> str:
    return word.upper().replace(" ", "_")


def _any_text(text: str) -> str:
    """The text of an error may not be valid Unicode."""
    return text.encode("utf-8", "backslashreplace").decode()


_WRITERS: Mapping[type, tuple[str, Callable[[Any], Fields]]] = {
    Hello: ("hello", _flat),
    Register: (
        "register",
        lambda m: {**_flat(m), "evidence": [_fence(*one) for one in sorted(m.evidence.items())]},
    ),
    Read: ("read", lambda m: {**_flat(m), "what": _symbol(m.what)}),
    Commit: (
        "commit",
        lambda m: {
            "number": m.number,
            "transactions": [{"ops": [_op(op) for op in ops]} for ops in m.transactions],
        },
    ),
    Told: ("told", lambda m: {"answer": command_json.encode(m.answer)}),
    Pong: ("pong", _flat),
    Leave: ("leave", _flat),
    Accepted: ("accepted", _flat),
    Rejected: ("rejected", lambda m: {**_flat(m), "reason": _any_text(m.reason)}),
    Elsewhere: ("elsewhere", _flat),
    Ping: ("ping", _flat),
    Tell: ("tell", lambda m: {"command": command_json.encode(m.command)}),
    NodesRead: ("nodes_read", lambda m: {**_flat(m), "nodes": [_node(n) for n in m.nodes]}),
    ChildrenRead: ("children_read", lambda m: {**_flat(m), "names": [_names(n) for n in m.names]}),
    Executed: ("executed", lambda m: {**_flat(m), "outcomes": [_outcome(o) for o in m.outcomes]}),
    Registered: ("registered", _flat),
    Failed: (
        "failed",
        lambda m: {**_flat(m), "why": _symbol(m.why), "text": _any_text(m.text)},
    ),
}

# -- reading


def _read_flat(kind: Callable[..., T]) -> Callable[[Any], T]:
    """Decode into a value whose fields are those of the message, and none of them is a message."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return lambda m: kind(**{name: _checked(getattr(m, name)) for name in names})


def _checked(value: Any) -> Any:
    if isinstance(value, int):
        return _number(value)
    return _sized(value) if isinstance(value, str | bytes) else tuple(map(_sized, value))


def _number(value: int) -> int:
    if value < -1:
        raise ValueError(f"the number {value} is negative")
    return value


def _sized(value: Any) -> Any:
    if len(value) > _VALUE_MAX:
        raise ValueError(f"a value of {len(value)} bytes or characters is too long")
    return value


def _path(path: str) -> str:
    if not path.startswith("/") or path.endswith("/") or "\0" in path:
        raise ValueError(f"{path[:_SHOWN]!r} is no path")
    _sized(path)
    return path


def _word(message: Any, field: str) -> Any:
    """Return the name of an enum's value; 0 stands for a missing one."""
    symbols = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    number = getattr(message, field)
    if number == 0 or number not in symbols:
        raise ValueError(f'"{field}" is {number}, which is not known')
    return symbols[number].name.lower().replace("_", " ")


def _read_op(m: Any) -> Op:
    kind = m.WhichOneof("op")
    if kind is None:
        raise ValueError("an operation is not known")
    op = getattr(m, kind)
    path = _path(op.path)
    if kind == "create":
        return Create(path, _sized(op.data), ephemeral=op.ephemeral)
    version = _number(op.version)
    if kind == "set":
        return SetData(path, _sized(op.data), version)
    return Check(path, version) if kind == "check" else Delete(path, version)


_read_version = _read_flat(NodeVersion)


def _read_fence(m: Any) -> tuple[TopicPartition, NodeVersion]:
    return TopicPartition(_sized(m.topic), _number(m.partition)), _read_version(m.node)


def _read_node(m: Any) -> NodeRead | None:
    if m.missing:
        return None
    return NodeRead(_sized(m.data), _read_version(m.node), m.owner, _number(m.modified))


def _read_names(m: Any) -> tuple[str, ...] | None:
    return None if m.missing else tuple(map(_sized, m.names))


def _read_outcome(m: Any) -> Outcome:
    kind = m.WhichOneof("outcome")
    if kind == "done":
        return Done(tuple(map(_read_version, m.done.written)))
    if kind == "refused":
        return Refused(_number(m.refused.index), _word(m.refused, "reason"), _sized(m.refused.text))
    if kind == "doubt":
        return InDoubt()
    raise ValueError("an outcome is not known")


_FROM_MEMBER: Mapping[str, Callable[[Any], ToCoordinator]] = {
    "hello": _read_flat(Hello),
    "register": lambda m: Register(
        _number(m.number), _sized(m.registration), m.static, dict(map(_read_fence, m.evidence))
    ),
    "read": lambda m: Read(_number(m.number), _word(m, "what"), tuple(map(_path, m.paths))),
    "commit": lambda m: Commit(
        _number(m.number), tuple(tuple(map(_read_op, each.ops)) for each in m.transactions)
    ),
    "told": lambda m: Told(command_json.decode_answer("the stream", m.answer)),
    "pong": _read_flat(Pong),
    "leave": _read_flat(Leave),
}
_FROM_COORDINATOR: Mapping[str, Callable[[Any], ToMember]] = {
    "accepted": _read_flat(Accepted),
    "rejected": _read_flat(Rejected),
    "elsewhere": _read_flat(Elsewhere),
    "ping": _read_flat(Ping),
    "tell": lambda m: Tell(command_json.decode_command("the stream", m.command)),
    "nodes_read": lambda m: NodesRead(_number(m.number), tuple(map(_read_node, m.nodes))),
    "children_read": lambda m: ChildrenRead(_number(m.number), tuple(map(_read_names, m.names))),
    "executed": lambda m: Executed(_number(m.number), tuple(map(_read_outcome, m.outcomes))),
    "registered": _read_flat(Registered),
    "failed": lambda m: Failed(_number(m.number), _word(m, "why"), _sized(m.text)),
}
