"""Moves over the text of an expression as java.util.regex does, flags and all.

java.util.regex is not defined by a grammar but by what its parser happens to do, so the moves bear
its names: `peek` looks, `next` goes on and looks, `read` takes, `skip` takes what follows a
backslash. Under the flag x all but `skip` and `after_backslash` pass over blanks and comments.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

END = "\0"
_OCTAL = frozenset(string.octdigits)
_HEX = frozenset(string.hexdigits)
_DIGITS = frozenset(string.digits)
_LETTERS = frozenset(string.ascii_letters)
_SPACE = frozenset(" \t\n\v\f\r")
_LINE_ENDS = frozenset("\n\r\x85\u2028\u2029")


class JavaRefusalError(Exception):
    """java.util.regex refuses the expression: a PatternSyntaxException there."""


class UntellableError(Exception):
    """What the expression means depends on tables of the Java runtime, or on its version."""


DEPTH_MAX = 50


class Cursor:
    def __init__(self, expression: str) -> None:
        self._depth = 0
        self._text = [*unquoted(expression), END, END]
        self.length = len(self._text) - 2
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One group or class within another. Java's limit is its stack, which nobody knows."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise UntellableError(f"more than {DEPTH_MAX} groups or classes within each other")
        yield
        self._depth -= 1

    @property
    def exhausted(self) -> bool:
        return self.at >= self.length

    def char(self, offset: int = 0) -> str:
        """The bare character, blank or not."""
        index = self.at + offset
        return self._text[index] if 0 <= index < len(self._text) else END

    def peek(self) -> str:
        if "x" in self.flags:
            self._pass_blanks()
        return self.char()

    def next(self) -> str:
        self.at += 1
        return self.peek()

    def read(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def skip(self) -> str:
        self.at += 2
        return self.char(-1)

    def after_backslash(self) -> str:
        self.at += 1
        return self.char()

    def unread(self) -> None:
        self.at -= 1

    def accept(self, expected: str, refusal: str) -> None:
        if self.read() != expected:
            raise JavaRefusalError(refusal)

    def number(self) -> int:
        """A decimal number; the first digit is known to be there."""
        digits = ""
        while self.char() in _DIGITS:
            digits += self.read()
        return int(digits)

    def set_flags(self) -> None:
        on = True
        while True:
            char = self.peek()
            if char == "-" and on:
                on = False
            elif char in _LETTERS and char in "imsducxU":
                changed = {"U", "u"} if char == "U" and on else {char}
                self.flags = self.flags | changed if on else self.flags - changed
            else:
                return
            self.at += 1

    def group_name(self, first: str) -> str:
        if first not in _LETTERS:
            raise JavaRefusalError("the name of a group does not start with a Latin letter")
        name, char = first, self.read()
        while char in _LETTERS or char in _DIGITS:
            name, char = name + char, self.read()
        if char != ">":
            raise JavaRefusalError("the name of a group is missing its '>'")
        return name

    def octal(self) -> str:
        """The rest of a backslash and 0: up to three digits, the first of three not above 3."""
        digits = ""
        while len(digits) < 3 and self.peek() in _OCTAL:
            if len(digits) == 2 and digits[0] > "3":
                break
            digits += self.read()
        if not digits:
            raise JavaRefusalError("an octal escape without digits")
        return chr(int(digits, 8))

    def hexadecimal(self) -> str:
        """The rest of a backslash and x: two digits, or any number in braces."""
        if self.peek() != "{":
            return chr(int(self._hex_digits(2), 16))
        self.read()
        digits = ""
        while self.peek() in _HEX:
            digits += self.read()
        if self.read() != "}" or not digits or int(digits, 16) > 0x10FFFF:
            raise JavaRefusalError("an illegal hexadecimal escape")
        return chr(int(digits, 16))

    def unicode(self) -> str:
        """The rest of a backslash and u; two halves of a surrogate pair make one character."""
        high = int(self._hex_digits(4), 16)
        before = self.at
        if 0xD800 <= high < 0xDC00 and self.read() == "\\" and self.read() == "u":
            low = int(self._hex_digits(4), 16)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
        self.at = before
        return chr(high)

    def control(self) -> str:
        if self.exhausted:
            raise JavaRefusalError("an illegal control escape")
        return chr(ord(self.read()) ^ 64)

    def named_character(self) -> str:
        if self.read() != "{":
            raise JavaRefusalError("an illegal character name escape")
        name = ""
        while (char := self.read()) != "}":
            if self.at > self.length:
                raise JavaRefusalError("an unclosed character name escape")
            name += char
        try:
            return unicodedata.lookup(name)
        except KeyError as error:
            raise UntellableError(f"the character name {name!r}") from error

    def _hex_digits(self, count: int) -> str:
        digits = "".join(self.read() for _ in range(count))
        if not _HEX.issuperset(digits):
            raise JavaRefusalError("an illegal hexadecimal or Unicode escape")
        return digits

    def _pass_blanks(self) -> None:
        while self.char() in _SPACE or self.char() == "#":
            if self.char() == "#":
                while not self.exhausted and self.char() not in _LINE_ENDS:
                    self.at += 1
                if self.exhausted:
                    return
            self.at += 1


def unquoted(expression: str) -> str:
    """The expression without \\Q...\\E: what stood between them is escaped one by one."""
    start = _first_quote(expression)
    if start < 0:
        return expression
    result, quoting, opening, at = [expression[:start]], True, True, start + 2
    while at < len(expression):
        char = expression[at]
        at += 1
        if not char.isascii() or char in _LETTERS:
            result.append(char)
        elif char in _DIGITS:
            # A digit must not be taken for part of an escape that ends just before the quote.
            result.append(f"\\x3{char}" if opening else char)
        elif char != "\\":
            result.append(f"\\{char}" if quoting else char)
        elif quoting and expression[at : at + 1] == "E":
            at, quoting = at + 1, False
        elif quoting:
            result.append("\\\\")
        elif expression[at : at + 1] == "Q":
            at, quoting, opening = at + 1, True, True
            continue
        else:
            result.append(char + expression[at : at + 1])
            at += 1
        opening = False
    return "".join(result)


def _first_quote(expression: str) -> int:
    at = 0
    while at < len(expression) - 1:
        if expression[at] != "\\":
            at += 1
        elif expression[at + 1] == "Q":
            return at
        else:
            at += 2
    return -1
