"""Messages with their types, of files that refer to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.formats.protobuf.declared import (
    SCALARS,
    EnumDeclared,
    FieldDeclared,
    FileDeclared,
    MessageDeclared,
    SchemaError,
)


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    """The last part of it."""
    values: tuple[tuple[int, str], ...]
    is_open: bool
    """Any number is a value of it."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    number: int
    type: str | Enum | Message
    is_repeated: bool = False
    is_required: bool = False
    is_implicit: bool = False
    """Whether zero is like no value."""
    is_closed: bool = False
    """Whether an enum has only the values that it names."""
    is_utf8: bool = True
    """Whether a string must be UTF-8."""
    is_group: bool = False
    oneof: int | None = None
    default: str | None = None


@dataclass(eq=False, slots=True)
class Message:
    """One object for each, since it may contain itself."""

    name: str
    """With that of the package and of the messages around it."""
    is_map_entry: bool = False
    fields: tuple[Field, ...] = field(default=(), repr=False)
    """As they are declared."""
    messages: tuple[Message, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Messages:
    """Those of some files."""

    of_last_file: tuple[Message, ...]
    top: tuple[Message, ...]
    by_name: Mapping[str, Message]

    def named(self, name: str) -> Message:
        """By its full name; one that is in no other by the last part of it, too."""
        if name in self.by_name:
            return self.by_name[name]
        found = [one for one in self.top if one.name.rpartition(".")[2] == name]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(one.name for one in found)
            raise SchemaError(f"it has several messages {name!r}: {names}")
        names = ", ".join(one.name for one in self.top[:20])
        raise SchemaError(f"it has no message {name!r}; it has {names or 'none'}")

    def at(self, path: Iterable[int]) -> Message:
        """By its place in the last file, then by that within the message."""
        within, found = self.of_last_file, None
        for place in path:
            if not 0 <= place < len(within):
                raise SchemaError(f"its schema has no message at {list(path)}")
            found = within[place]
            within = found.messages
        if found is None:
            raise SchemaError("it names no message")
        return found


def linked(files: Iterable[FileDeclared], known: Iterable[FileDeclared] = ()) -> Messages:
    """SchemaError if one uses a type that none of them declares. The files may declare those of
    `known` themselves.
    """
    return _Linker(tuple(files), tuple(known)).linked()


class _Linker:
    def __init__(self, files: tuple[FileDeclared, ...], known: tuple[FileDeclared, ...]) -> None:
        self._files, self._known = files, known
        self._messages: dict[str, Message] = {}
        self._enums: dict[str, Enum] = {}
        self._open: list[tuple[Message, MessageDeclared, FileDeclared]] = []

    def linked(self) -> Messages:
        top: list[tuple[Message, ...]] = []
        for file in (*self._known, *self._files):
            self._declare_enums(file.enums, file.package, file)
            top.append(tuple(self._declare(one, file.package, file) for one in file.messages))
        del top[: len(self._known)]
        for message, declared, file in self._open:
            message.fields = tuple(self._fields(message, declared, file))
        every = tuple(one for messages in top for one in messages)
        return Messages(top[-1] if top else (), every, self._messages)

    def _declare(self, declared: MessageDeclared, scope: str, file: FileDeclared) -> Message:
        name = _full(scope, declared.name)
        message = self._messages[name] = Message(name, declared.is_map_entry)
        self._open.append((message, declared, file))
        self._declare_enums(declared.enums, name, file)
        inner = [self._declare(one, name, file) for one in declared.messages]
        # Places within a message are counted without entries of maps, which no file declares.
        message.messages = tuple(one for one in inner if not one.is_map_entry)
        return message

    def _declare_enums(
        self, enums: tuple[EnumDeclared, ...], scope: str, file: FileDeclared
    ) -> None:
        for one in enums:
            if not one.values:
                raise SchemaError(f"its enum {one.name!r} has no values")
            is_open = file.syntax == "proto3"
            self._enums[_full(scope, one.name)] = Enum(one.name, one.values, is_open)

    def _fields(
        self, message: Message, declared: MessageDeclared, file: FileDeclared
    ) -> Iterator[Field]:
        is_proto3, numbers, names = file.syntax == "proto3", set(), set()
        for one in declared.fields:
            if one.number in numbers or one.name in names or not 0 < one.number < 2**29:
                raise SchemaError(f"its field {message.name}.{one.name} has a number or name twice")
            numbers.add(one.number)
            names.add(one.name)
            kind = self._type(one, message)
            has_presence = one.label == "optional" or one.oneof is not None
            yield Field(
                one.name,
                one.number,
                kind,
                is_repeated=one.label == "repeated",
                is_required=one.label == "required",
                is_implicit=is_proto3 and not has_presence and not isinstance(kind, Message),
                is_closed=isinstance(kind, Enum) and not (is_proto3 and kind.is_open),
                is_utf8=is_proto3 or message.is_map_entry,
                is_group=one.is_group,
                oneof=one.oneof,
                default=one.default,
            )

    def _type(self, one: FieldDeclared, message: Message) -> str | Enum | Message:
        if one.type in SCALARS:
            return one.type
        for name in _scopes(one.type, message.name):
            found = self._messages.get(name) or self._enums.get(name)
            if found is not None:
                return found
        raise SchemaError(
            f"its field {message.name}.{one.name} has the type {one.type.lstrip('.')}, which is "
            "not defined in it"
        )


def _scopes(name: str, scope: str) -> Iterator[str]:
    """Names that it may stand for, the innermost first."""
    if name.startswith("."):
        yield name[1:]
        return
    while scope:
        yield f"{scope}.{name}"
        scope = scope.rpartition(".")[0]
    yield name


def _full(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
