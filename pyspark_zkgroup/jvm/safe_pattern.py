"""The regular expressions that a group may use: those that all its members read alike.

Every member expands the patterns of all members, JVM members with java.util.regex. An expression
that two members read differently makes them claim different partitions. Hence the subset in which
Java and RE2 agree on names of topics, and nothing else. RE2 matches in time linear in the name, so
no pattern of another member can stall this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

LENGTH_MAX: Final = 1000
_DEPTH_MAX: Final = 50

_COUNT = re.compile(r"\{([0-9]{1,4})\}", re.ASCII)
_CLASSES: Final = "dDwWsS"
_GROUPS: Final = (
    ("?:", "", ""),
    ("?=", "the lookahead (?= in this place", "Write it at the beginning of an alternative"),
    ("?!", "the lookahead (?! in this place", "Write it at the beginning of an alternative"),
    ("?<=", "the lookbehind (?<=", "Write all that may come before"),
    ("?<!", "the lookbehind (?<!", "Use excludePattern, or name what may stand there"),
    ("?>", "the atomic group (?>", "Write (?: instead"),
    ("?<", "the named group (?<", "Write ( without a name"),
    ("?", "a flag such as (?i) in this place", "Write both cases, such as [Aa]"),
)
_IGNORE_CASE: Final = "(?i)"


class InvalidPatternError(Exception):
    """No regular expression in Java either."""


class UnsupportedPatternError(Exception):
    """An expression outside of the subset. `instead`: the nearest form that is supported."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what} is not supported")
        self.instead = instead


@dataclass(frozen=True, slots=True)
class Alternative:
    """In RE2's syntax. The whole name matches `text`, and how it begins matches each of `ahead` and
    none of `not_ahead`: lookaheads, which RE2 does not have, but at the beginning needs not.
    """

    text: str
    ahead: tuple[str, ...] = ()
    not_ahead: tuple[str, ...] = ()


def translate(expression: str) -> tuple[Alternative, ...]:
    """Return what a name has to match one of. Raises InvalidPatternError or
    UnsupportedPatternError.
    """
    if len(expression) > LENGTH_MAX:
        raise UnsupportedPatternError(
            f"an expression of {len(expression)} characters",
            f"Use at most {LENGTH_MAX} characters, or list the topics in subscribe",
        )
    return _Translation(expression).whole()


class _Translation:
    """Moves over the text once; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> tuple[Alternative, ...]:
        flags = ""
        if self.text.startswith(_IGNORE_CASE):
            flags, self.at = _IGNORE_CASE, len(_IGNORE_CASE)
        found = [self._alternative(flags)]
        while self._next == "|":
            self.at += 1
            found.append(self._alternative(flags))
        if self._next:
            raise InvalidPatternError(f"')' at {self.at} closes no group")
        return tuple(found)

    def _alternative(self, flags: str) -> Alternative:
        # Else the repetition of an anchor is refused as such.
        self.at += re.match(r"\^(?![*+?{])", self.text[self.at :]) is not None
        looks: dict[str, list[str]] = {"(?=": [], "(?!": []}
        while (opening := self.text[self.at : self.at + 3]) in looks:
            self.at += len(opening)
            looks[opening].append(flags + self._inner())
            if self._next in ("*", "+", "?", "{"):
                raise UnsupportedPatternError("a repetition of a lookahead", "Remove it")
        text = flags + self._sequence()
        return Alternative(text, tuple(looks["(?="]), tuple(looks["(?!"]))

    def _sequence(self) -> str:
        found = []
        while self._next not in ("", ")", "|"):
            atom = self._atom()
            found.append(atom + self._quantifier(atom in (r"\A", r"\z")))
        return "".join(found)

    @property
    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        char = self._next
        self.at += 1
        return char

    def _atom(self) -> str:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char == "{":
            raise UnsupportedPatternError(
                "a '{' that repeats nothing", r"Write \{ for the character"
            )
        if char in "*+?":
            raise InvalidPatternError(f"{char!r} at {self.at - 1} repeats nothing")
        return {".": ".", "^": r"\A", "$": r"\z"}.get(char) or _literal(char)

    def _group(self) -> str:
        for opening, what, instead in _GROUPS:
            if self.text.startswith(opening, self.at):
                if what:
                    raise UnsupportedPatternError(what, instead)
                self.at += len(opening)
                break
        return f"(?:{self._inner()})"

    def _inner(self) -> str:
        """All up to the end of a group."""
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise UnsupportedPatternError(
                f"more than {_DEPTH_MAX} groups within each other", "Remove groups"
            )
        found = [self._sequence()]
        while self._next == "|":
            self.at += 1
            found.append(self._sequence())
        if self._take() != ")":
            raise InvalidPatternError("a group is not closed")
        self.depth -= 1
        return "|".join(found)

    def _quantifier(self, is_anchor: bool) -> str:
        count = _COUNT.match(self.text, self.at)
        if self._next == "{" and count is None:
            if re.match(r"\{[0-9]+\|", self.text[self.at :], re.ASCII):
                raise InvalidPatternError(
                    "a comma stands for |, so {n,m} becomes {n|m}: write aa?a? instead of a{1,3}"
                )
            raise InvalidPatternError(f"'{{' at {self.at} begins no number of repetitions")
        if self._next not in ("*", "+", "?", "{"):
            return ""
        if is_anchor:
            raise UnsupportedPatternError("a repetition of ^ or $", "Remove the repetition")
        found = count[0] if count else self._next
        self.at += len(found)
        if self._next == "+":
            raise UnsupportedPatternError(
                f"the possessive repetition {found}+", f"Write {found} instead"
            )
        if self._next == "?":
            self.at += 1  # which of the ways to match is taken makes no difference to a whole name
        if self._next in ("*", "+", "?"):
            raise InvalidPatternError(f"{self._next!r} at {self.at} repeats nothing")
        if self._next == "{":
            raise UnsupportedPatternError(
                "a repetition of a repetition", "Put the inner one into a group: (?:a{2}){3}"
            )
        return found

    def _escape(self) -> str:
        char = self._take()
        if not char:
            raise InvalidPatternError("it ends with a single backslash")
        if char in _CLASSES:
            return f"\\{char}"
        if char.isdigit():
            raise UnsupportedPatternError(f"the back reference \\{char}", "Write it out")
        if char == "Q":
            raise UnsupportedPatternError(r"\Q", r"Put a backslash before each special character")
        if char in "pP":
            raise UnsupportedPatternError(f"\\{char}", "List the characters, such as [A-Za-z]")
        if char.isalpha():
            raise UnsupportedPatternError(f"\\{char}", "Write it without this escape")
        return _literal(char)

    def _class(self) -> str:
        negated = self._next == "^"
        self.at += negated
        items: list[str] = []
        if self._next == "]":
            raise UnsupportedPatternError("']' right after '['", r"Write \] for the character")
        while self._next != "]":
            if not self._next:
                raise InvalidPatternError("'[' is not closed")
            items.append(self._item(is_first=not items))
        self.at += 1
        return f"[{'^' if negated else ''}{''.join(items)}]"

    def _item(self, is_first: bool) -> str:
        """One character, a range, or a class such as \\d."""
        if self.text.startswith("&&", self.at):
            raise UnsupportedPatternError("&& within brackets", "List the characters")
        if self._next == "[":
            raise UnsupportedPatternError("'[' within brackets", r"Write \[ for the character")
        is_hyphen = self._next == "-"
        char = self._take()
        low = self._escape() if char == "\\" else _literal(char)
        if is_hyphen and not is_first and self._next != "]":
            raise _ambiguous_hyphen()
        if self._next != "-" or self.text.startswith("-]", self.at):
            return low
        self.at += 1
        if is_hyphen or self._next in ("", "-", "[", "&") or low[1:] in tuple(_CLASSES):
            raise _ambiguous_hyphen()
        char = self._take()
        high = self._escape() if char == "\\" else _literal(char)
        if high[1:] in tuple(_CLASSES):
            raise _ambiguous_hyphen()
        if low[-1] > high[-1]:
            raise InvalidPatternError(f"the range {low}-{high} ends before it begins")
        return f"{low}-{high}"


def _ambiguous_hyphen() -> UnsupportedPatternError:
    return UnsupportedPatternError("'-' in this place within brackets", r"Write \- for a hyphen")


def _literal(char: str) -> str:
    if not "!" <= char <= "~":
        raise UnsupportedPatternError(
            f"the character {char!r}", "Names of topics have letters, digits, '.', '_' and '-' only"
        )
    return char if char.isalnum() or char == "_" else f"\\{char}"
