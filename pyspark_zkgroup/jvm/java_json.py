"""Reads JSON as the JVM consumers do: up to 0.11 with Scala's parser, from 1.0 on with Jackson.

Whether a registration can be read decides about the whole group, and the two parsers differ.
Scala's turns every number into a 32-bit int or fails, but takes any character behind a backslash;
Jackson takes any number, but no stray backslash, and does not look behind the first value.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

INT_MAX = 2**31 - 1
INT_MIN = -(2**31)

_NUMBER = re.compile(r"(-?)[\x00-\x19\x1b-\x20]*(0|[1-9][0-9]*)")
_BLANKS = re.compile(r"[\x00-\x19\x1b-\x20]*")  # all up to the blank but \x1a, which ends the input
_WORD = re.compile(r"[^\W\d_]*")
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNESCAPED_RUN = re.compile(r'[^"\\\n\x1a]+')


class NotJsonError(Exception):
    """The parser that was asked refuses the text."""


def text_of(data: bytes | None) -> str:
    """A node's data as the JVM decodes it: what is not UTF-8 is replaced, never refused."""
    return (data or b"").decode("utf-8", "replace")


def parse_scala(text: str) -> Any:
    """By scala.util.parsing.json, with every number made an int."""
    reader = _ScalaReader(text)
    value = reader.value(root=True)
    if not reader.exhausted():
        raise NotJsonError("there is something behind the value")
    return value


def parse_jackson(text: str, mend_backslashes: bool) -> Any:
    """By Jackson. `mend_backslashes` (1.0.1 on): what fails is tried again with them doubled."""
    try:
        return _jackson(text)
    except (ValueError, RecursionError) as error:
        if not mend_backslashes or "\\" not in text:
            raise NotJsonError(str(error)) from error
    try:
        return _jackson(text.replace("\\", "\\\\"))
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from error


def _jackson(text: str) -> Any:
    value, _ = _DECODER.raw_decode(text.lstrip(" \t\n\r"))
    return value


def _whole(digits: str) -> int | float:
    # Python refuses to convert thousands of digits; any number beyond a Java int will do.
    return int(digits) if len(digits) < 20 else float("inf")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=_no_constant)


class _ScalaReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def exhausted(self) -> bool:
        self._pass_blanks()
        return self._at == len(self._text)

    def value(self, root: bool = False) -> Any:
        self._pass_blanks()
        char = self._text[self._at : self._at + 1]
        if char == "{":
            return self._object()
        if char == "[":
            return self._array()
        if root:
            raise NotJsonError("it is neither an object nor an array")
        if char == '"':
            return self._string()
        if char == "-" or ("0" <= char <= "9"):
            return self._number()
        word = _WORD.match(self._text, self._at)
        if word is None or word.group() not in _WORDS:
            raise NotJsonError(f"no value at {self._at}")
        self._at = word.end()
        return _WORDS[word.group()]

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        if self._takes("}"):
            return found
        while True:
            self._pass_blanks()
            if self._text[self._at : self._at + 1] != '"':
                raise NotJsonError(f"no key at {self._at}")
            key = self._string()
            if not self._takes(":"):
                raise NotJsonError(f"no ':' at {self._at}")
            found[key] = self.value()
            if self._takes("}"):
                return found
            if not self._takes(","):
                raise NotJsonError(f"no ',' at {self._at}")

    def _array(self) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        if self._takes("]"):
            return found
        while True:
            found.append(self.value())
            if self._takes("]"):
                return found
            if not self._takes(","):
                raise NotJsonError(f"no ',' at {self._at}")

    def _string(self) -> str:
        self._at += 1
        parts: list[str] = []
        while True:
            run = _UNESCAPED_RUN.match(self._text, self._at)
            if run is not None:
                parts.append(run.group())
                self._at = run.end()
            char = self._text[self._at : self._at + 1]
            if char == '"':
                self._at += 1
                units = "".join(parts).encode("utf-16-be", "surrogatepass")
                return units.decode("utf-16-be", "surrogatepass")  # two halves, one character
            if char != "\\":
                raise NotJsonError("an unterminated string")
            escape = _ESCAPE.match(self._text, self._at)
            if escape is None:
                parts.append("\\")  # a stray backslash stands for itself
                self._at += 1
                continue
            simple, code = escape.groups()
            parts.append(chr(int(code, 16)) if code else _ESCAPED.get(simple, simple))
            self._at = escape.end()

    def _number(self) -> int:
        found = _NUMBER.match(self._text, self._at)
        follows = self._text[found.end() : found.end() + 1] if found else ""
        if found is None or follows in tuple(".eE"):
            raise NotJsonError(f"the number at {self._at} is not whole")
        sign, digits = found.groups()
        value = int(sign + digits) if len(digits) < 20 else INT_MAX + 1
        if not INT_MIN <= value <= INT_MAX:
            raise NotJsonError(f"the number at {self._at} is no 32-bit int")
        self._at = found.end()
        return value

    def _takes(self, char: str) -> bool:
        self._pass_blanks()
        found = self._text[self._at : self._at + 1] == char
        self._at += found
        return found

    def _pass_blanks(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        if blanks is not None:
            self._at = blanks.end()
