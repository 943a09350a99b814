"""The one login module of a `sasl.jaas.config`, read as Kafka's clients read it. Pure.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";

A reason says where (at which character), never what: nearly all of the text may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

FLAGS = ("required", "requisite", "sufficient", "optional")

# Databricks moves Kafka's classes, and those of Amazon's login, below other packages.
_SHADED = re.compile(r"^(?:kafkashaded|shadedmskiam)\.")
_SKIPPED = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r"\"((?:\\.|[^\"\\\n\r])*)\"|'((?:\\.|[^'\\\n\r])*)'", re.DOTALL)
_WORD = re.compile(r"[\w.$-]+")
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_Kind = Literal["word", "=", ";", "end"]


@dataclass(frozen=True, slots=True)
class LoginModule:
    name: str
    """The class's whole name."""
    options: Mapping[str, str] = field(repr=False)

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    text: str
    at: int
    """The first character is 1."""


def parse(text: str) -> LoginModule:
    """ValueError with a reason that follows "the text ...", such as "names no login module"."""
    tokens = _tokens(text)
    module = next(tokens)
    if module.kind != "word":
        raise ValueError("names no login module")
    flag = next(tokens)
    if flag.kind != "word" or flag.text.lower() not in FLAGS:
        raise ValueError(
            f"does not say '{FLAGS[0]}' behind the login module (at character {flag.at})"
        )
    options: dict[str, str] = {}
    token = next(tokens)
    while token.kind == "word":
        equals, value = next(tokens), next(tokens)
        if equals.kind != "=" or value.kind != "word":
            raise ValueError(f"has an option without a value (at character {token.at})")
        if token.text in options:
            raise ValueError(f"gives an option twice (at character {token.at})")
        options[token.text] = value.text
        token = next(tokens)
    if token.kind != ";":
        raise ValueError(f"does not end with a semicolon (at character {token.at})")
    more = next(tokens)
    if more.kind != "end":
        raise ValueError(
            f"continues after its semicolon (at character {more.at}); one login module"
        )
    return LoginModule(_SHADED.sub("", module.text), options)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
        elif quoted := _QUOTED.match(text, at):
            yield _Token("word", _unescaped(quoted[1] or quoted[2] or ""), at + 1)
            at = quoted.end()
        elif word := _WORD.match(text, at):
            yield _Token("word", word[0], at + 1)
            at = word.end()
        elif text[at] == "=":
            yield _Token("=", "=", at + 1)
            at += 1
        elif text[at] == ";":
            yield _Token(";", ";", at + 1)
            at += 1
        elif text[at] in "\"'":
            raise ValueError(f"has a quote that is not closed on its line (at character {at + 1})")
        else:
            raise ValueError(f"has a character that needs quotes around it (at character {at + 1})")
    while True:
        yield _Token("end", "", len(text) + 1)


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1].isdigit():
            return chr(int(found[1], 8)) if found[1][0] < "8" else found[1]
        return _ESCAPED.get(found[1], found[1])

    return _ESCAPE.sub(plain, text)
