"""Reads .proto text, as registries keep it. What a registry has taken is sound, so this only looks
for what a reader of records must know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pyspark_zkgroup.formats.protobuf.declared import (
    BYTES_MAX,
    DEPTH_MAX,
    EnumDeclared,
    FieldDeclared,
    FileDeclared,
    MessageDeclared,
    SchemaError,
    check_syntax,
    number,
    unescaped,
)

_TOKEN: Final = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/ | (?P<unfinished> /\*)
    | (?P<token> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \.?[A-Za-z_][\w.]* | -?[\d.](?:[eE][+-]|[\w.])* | [^\s\w] )""",
    re.VERBOSE | re.DOTALL,
)
_LABELS: Final = ("optional", "required", "repeated")
_BLOCKS: Final = ("service", "extend")
_STATEMENTS: Final = ("import", "option", "reserved", "extensions")


def file(text: str) -> FileDeclared:
    """SchemaError if it is not a .proto file."""
    if len(text) > BYTES_MAX:
        raise SchemaError(f"it has more than {BYTES_MAX} characters")
    return _Reader(text).file()


class _Scope:
    """What a message has declared so far."""

    def __init__(self) -> None:
        self.fields: list[FieldDeclared] = []
        self.messages: list[MessageDeclared] = []
        self.enums: list[EnumDeclared] = []
        self.oneofs = 0

    def message(self, name: str) -> MessageDeclared:
        return MessageDeclared(name, tuple(self.fields), tuple(self.messages), tuple(self.enums))


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text.removeprefix("\ufeff"))
        self._ahead: list[str] = []

    def file(self) -> FileDeclared:
        package, syntax, scope = "", "proto2", _Scope()
        while self._peek():
            word = self._next()
            if word == "package":
                package = self._next()
                self._expect(";")
            elif word in ("syntax", "edition"):
                self._expect("=")
                syntax = self._next()[1:-1]
                check_syntax(f"edition {syntax}" if word == "edition" else syntax)
                self._expect(";")
            else:
                self._declaration(word, scope, 0)
        messages, enums = tuple(scope.messages), tuple(scope.enums)
        return FileDeclared(package, syntax, messages, enums)

    def _declaration(self, word: str, scope: _Scope, depth: int) -> None:
        if word == "message":
            scope.messages.append(self._message(depth))
        elif word == "enum":
            scope.enums.append(self._enum())
        elif word in _STATEMENTS or word in _BLOCKS:
            self._skip(is_block=word in _BLOCKS)
        elif word != ";":
            raise SchemaError(f"it is no .proto text: it has an unexpected {word!r}")

    def _message(self, depth: int, name: str = "") -> MessageDeclared:
        if depth > DEPTH_MAX:
            raise SchemaError("its messages are nested too deeply")
        name = name or self._next()
        scope = _Scope()
        self._expect("{")
        while (word := self._next()) != "}":
            if word in ("message", "enum", ";", *_STATEMENTS, *_BLOCKS):
                self._declaration(word, scope, depth + 1)
            elif word == "oneof":
                self._oneof(scope, depth)
            else:
                self._field(word, scope, None, depth)
        return scope.message(name)

    def _oneof(self, scope: _Scope, depth: int) -> None:
        self._next()
        self._expect("{")
        while (word := self._next()) != "}":
            if word == "option":
                self._skip(is_block=False)
            elif word != ";":
                self._field(word, scope, scope.oneofs, depth)
        scope.oneofs += 1

    def _field(self, word: str, scope: _Scope, oneof: int | None, depth: int) -> None:
        label = word if word in _LABELS else ""
        kind = self._next() if label else word
        if kind == "map" and self._peek() == "<":
            self._map(scope)
            return
        name = self._next()
        self._expect("=")
        number = self._number()
        default = self._options()
        if kind == "string" and default is not None:
            default = unescaped(default).decode("utf-8", "replace")
        is_group = kind == "group" and self._peek() == "{"
        if is_group:
            scope.messages.append(self._message(depth + 1, name))
            kind, name = name, name.lower()
        else:
            self._expect(";")
        scope.fields.append(FieldDeclared(name, number, kind, label, is_group, oneof, default))

    def _map(self, scope: _Scope) -> None:
        self._expect("<")
        key = self._next()
        self._expect(",")
        value = self._next()
        self._expect(">")
        name = self._next()
        self._expect("=")
        number = self._number()
        self._options()
        self._expect(";")
        # As protoc names it, so that no other message has its name.
        entry = "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry"
        pair = (FieldDeclared("key", 1, key), FieldDeclared("value", 2, value))
        scope.messages.append(MessageDeclared(entry, pair, is_map_entry=True))
        scope.fields.append(FieldDeclared(name, number, entry, "repeated"))

    def _enum(self) -> EnumDeclared:
        name, values = self._next(), []
        self._expect("{")
        while (word := self._next()) != "}":
            if word in ("option", "reserved"):
                self._skip(is_block=False)
            elif word != ";":
                self._expect("=")
                values.append((self._number(), word))
                self._options()
                self._expect(";")
        return EnumDeclared(name, tuple(values))

    def _options(self) -> str | None:
        """The default, if there is one."""
        if self._peek() != "[":
            return None
        self._next()
        default, depth, is_first = None, 0, True
        while (word := self._next()) != "]" or depth:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(word, 0)
            if word == "default" and is_first and not depth:
                self._expect("=")
                default = self._constant()
            is_first = word == ","
        return default

    def _constant(self) -> str:
        word = self._next()
        if word in ("-", "+"):
            return word.strip("+") + self._next()
        if word[0] not in "\"'":
            return word
        found = word[1:-1]
        while self._peek()[:1] in ('"', "'"):
            found += self._next()[1:-1]
        return found

    def _skip(self, *, is_block: bool) -> None:
        """The rest of a declaration."""
        depth = 0
        end = "}" if is_block else ";"
        while (word := self._next()) != end or depth > is_block:
            depth += {"{": 1, "}": -1}.get(word, 0)

    def _number(self) -> int:
        word = self._next()
        return number(word + self._next() if word == "-" else word)

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise SchemaError(f"it is no .proto text: it has {found!r} where {token!r} must be")

    def _peek(self) -> str:
        if not self._ahead:
            self._ahead.append(next(self._tokens, ""))
        return self._ahead[0]

    def _next(self) -> str:
        found = self._ahead.pop() if self._ahead else next(self._tokens, "")
        if not found:
            raise SchemaError("it is no .proto text: it ends too early")
        return found


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found["unfinished"]:
            raise SchemaError(f"it is no .proto text: it has an unexpected {text[at]!r}")
        at = found.end()
        if found["token"] is not None:
            yield found["token"]
