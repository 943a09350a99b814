"""Sets of characters as java.util.regex parses them: [...], single characters, \\d and the like."""

from __future__ import annotations

from collections.abc import Callable

from pyspark_zkgroup.group.java_cursor import Cursor, JavaRefusalError, UntellableError
from pyspark_zkgroup.group.java_nodes import ALPHABET
from pyspark_zkgroup.group.java_properties import DIGITS, WORD, property_set

Members = Callable[[], frozenset[str]]
"""Asked only when the whole class is parsed: Java adds to a set it has already combined."""

Note = Callable[[str], None]
"""Told of each thing that Python's re reads differently."""

_EMPTY: frozenset[str] = frozenset()
SHORTHANDS = {
    "d": DIGITS,
    "D": ALPHABET - DIGITS,
    "w": WORD,
    "W": ALPHABET - WORD,
    "s": _EMPTY,
    "S": ALPHABET,
    "h": _EMPTY,
    "H": ALPHABET,
    "v": _EMPTY,
    "V": ALPHABET,
}
_SIMPLE = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def single(char: str, flags: frozenset[str]) -> frozenset[str]:
    """The characters of a name that the literal character means."""
    if "i" not in flags:
        return ALPHABET & {char}
    if "u" in flags:
        return frozenset(member for member in ALPHABET if _fold(member) == _fold(char))
    if char.isascii():
        return ALPHABET & {char.lower(), char.upper()}
    return ALPHABET & {char}


def span(first: str, last: str, flags: frozenset[str]) -> frozenset[str]:
    """The characters of a name from `first` to `last`."""

    def held(char: str) -> bool:
        if first <= char <= last:
            return True
        return "i" in flags and any(first <= c <= last for c in (char.lower(), char.upper()))

    return frozenset(filter(held, ALPHABET))


def family(cursor: Cursor) -> frozenset[str]:
    """\\p or \\P with what follows; the cursor stands on the letter."""
    negated = cursor.char() == "P"
    if cursor.next() == "{":
        cursor.at += 1
        start = cursor.at
        while cursor.char() != "}":
            if cursor.exhausted:
                raise JavaRefusalError("an unclosed character family")
            cursor.at += 1
        name = "".join(cursor.char(index - cursor.at) for index in range(start, cursor.at))
        if not name:
            raise JavaRefusalError("an empty character family")
    else:
        name = cursor.char()
    cursor.at += 1
    members = property_set(name, "i" in cursor.flags)
    return ALPHABET - members if negated else members


def literal_escape(cursor: Cursor, char: str, note: Note) -> str | None:
    """The character that a backslash and `char` (already taken) stand for; None: none of these."""
    if char in _SIMPLE:
        return _SIMPLE[char]
    if char == "0":
        start = cursor.at
        value = cursor.octal()
        if cursor.at - start > 2:
            note("Python reads an octal escape of three digits as two digits and a literal")
        return value
    if char == "x":
        return cursor.hexadecimal()
    if char == "u":
        return cursor.unicode()
    if char == "c":
        return cursor.control()
    if char == "N":
        return cursor.named_character()
    return None if char.isascii() and char.isalnum() else char


class ClassParser:
    """[...] with ranges, nested classes and intersections; the cursor stands on the bracket."""

    def __init__(self, cursor: Cursor, note: Note) -> None:
        self._cursor = cursor
        self._note = note

    def parse(self) -> frozenset[str]:
        return self._class(consume=True)()

    def _class(self, consume: bool) -> Members:
        cursor = self._cursor
        loose: set[str] = set()  # single characters, kept apart as Java does
        has_loose = False
        previous: Members | None = None
        char = cursor.next()
        negated = char == "^" and cursor.char(-1) == "["
        if negated:
            char = cursor.next()
        while True:
            if char == "[":
                self._note("Python reads a bracket inside brackets as a literal")
                previous = _union(previous, self._inner(consume=True))
                char = cursor.peek()
                continue
            if char == "&" and cursor.next() == "&":
                right = self._right_side()
                if has_loose:
                    previous, has_loose = _union(previous, lambda: frozenset(loose)), False
                previous = _intersection(previous, right)
                char = cursor.peek()
                continue
            if char == "&":
                cursor.unread()
            elif char == "\0" and cursor.exhausted:
                raise JavaRefusalError("an unclosed character class")
            elif char == "]" and (previous is not None or has_loose):
                if consume:
                    cursor.next()
                if has_loose:
                    previous = _union(previous, lambda: frozenset(loose))
                return _complement(previous) if negated else _known(previous)
            found = self._range(loose)
            if found is None:
                has_loose = True
            else:
                previous = _union(previous, found)
            char = cursor.peek()

    def _inner(self, consume: bool) -> Members:
        with self._cursor.nested():
            return self._class(consume)

    def _right_side(self) -> Members:
        """What follows `&&`; the cursor stands on the second of them."""
        self._note("Python reads && inside brackets as two literals")
        cursor = self._cursor
        right: Members | None = None
        char = cursor.next()
        while char not in ("]", "&"):
            if char == "[":
                right = _union(right, self._inner(consume=True))
            else:
                cursor.unread()
                right = _union(right, self._inner(consume=False))
            char = cursor.peek()
        if right is None:
            # Java keeps what it parsed last, or nothing, and then fails while it matches.
            raise UntellableError("an intersection without a right side")
        return right

    def _range(self, loose: set[str]) -> Members | None:
        """One character, a range or a shorthand. None: a character, which has gone into `loose`."""
        cursor = self._cursor
        first = cursor.peek()
        if first == "\\":
            char = cursor.after_backslash()
            if char in ("p", "P"):
                members = family(cursor)
                return lambda: members
            before_range = cursor.char(1) == "-"
            cursor.unread()
            found = self._escape(before_range)
            if isinstance(found, frozenset):
                return lambda: found
            first = found
        else:
            cursor.next()
        self._twice(first)
        if cursor.peek() == "-":
            after = cursor.char(1)
            if after not in ("[", "]"):
                last = cursor.next()
                if last == "\\":
                    escaped = self._escape(before_range=True)
                    last = escaped if isinstance(escaped, str) else ""
                else:
                    cursor.next()
                if last == "-":
                    self._note("Python keeps -- inside brackets for operations on sets")
                if last < first:
                    raise JavaRefusalError("an illegal character range")
                covered = span(first, last, cursor.flags)
                self._not_ascii(first, last)
                return lambda: covered
        self._not_ascii(first)
        loose |= single(first, cursor.flags)
        return None

    def _escape(self, before_range: bool) -> str | frozenset[str]:
        char = self._cursor.skip()
        if char == "v" and before_range:
            return "\v"
        if char in SHORTHANDS:
            return SHORTHANDS[char]
        literal = literal_escape(self._cursor, char, self._note)
        if literal is None:
            raise JavaRefusalError(f"the unsupported escape \\{char}")
        return literal

    def _twice(self, char: str) -> None:
        if char in "-|~" and self._cursor.char() == char:
            self._note(f"Python keeps {char}{char} inside brackets for operations on sets")

    def _not_ascii(self, *chars: str) -> None:
        if "i" in self._cursor.flags and not all(map(str.isascii, chars)):
            self._note("Python ignores the case of all characters, Java of ASCII only")


def _fold(char: str) -> str:
    return char.upper()[0].lower()[0]


def _known(members: Members | None) -> Members:
    if members is None:
        raise JavaRefusalError("a bad class syntax")
    return members


def _complement(members: Members | None) -> Members:
    known = _known(members)
    return lambda: ALPHABET - known()


def _union(left: Members | None, right: Members) -> Members:
    return right if left is None else lambda: left() | right()


def _intersection(left: Members | None, right: Members) -> Members:
    return right if left is None else lambda: left() & right()
