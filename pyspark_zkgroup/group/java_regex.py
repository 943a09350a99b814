"""Parses java.util.regex expressions, as far as topic names can tell them apart.

Follows Java's own parser step by step rather than a grammar of ours: which oddities it lets pass
(a quantifier behind a quantifier, a bare bracket, a flag in mid-expression) decides who owns what.
Commas and blanks never come here, the cleaning of an expression has taken them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_zkgroup.group.java_class import (
    SHORTHANDS,
    ClassParser,
    family,
    literal_escape,
    single,
)
from pyspark_zkgroup.group.java_cursor import Cursor, JavaRefusalError, UntellableError
from pyspark_zkgroup.group.java_nodes import (
    ALPHABET,
    NEVER,
    NOTHING,
    UNBOUNDED,
    Atomic,
    Chars,
    Choice,
    Edge,
    Greed,
    Group,
    Look,
    Node,
    Reference,
    Repeat,
    Sequence,
    can_be_empty,
    captured_in,
    children,
    referred,
)

_EDGES: dict[str, Node] = {
    "A": Edge("start"),
    "G": Edge("start"),
    "Z": Edge("end"),
    "z": Edge("end"),
    "B": Edge("not word"),
    "R": NEVER,
    "X": Chars(ALPHABET),
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """`notes`: what Python's re would take, but read differently."""

    root: Node
    notes: tuple[str, ...]


def parse(expression: str) -> Parsed:
    """JavaRefusalError where Java refuses it; UntellableError where it depends on which Java."""
    parser = _Parser(Cursor(expression))
    return Parsed(parser.whole(), tuple(dict.fromkeys(parser.notes)))


@dataclass(slots=True)
class _Parser:
    cursor: Cursor
    notes: list[str] = field(default_factory=list)
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)
    repeated: frozenset[int] = frozenset()

    def whole(self) -> Node:
        root = self._choice()
        if self.cursor.at != self.cursor.length:
            stray = self.cursor.peek() == ")"
            raise JavaRefusalError("an unmatched closing ')'" if stray else "a stray backslash")
        if self.repeated & referred(root):
            # Java keeps the text of such a group from attempts that failed, now and then.
            raise UntellableError("a reference to a group that is repeated")
        return root

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self.cursor.peek() == "|":
            self.cursor.next()
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while True:
            char = self.cursor.peek()
            if char in ("|", ")") or (char == "\0" and self.cursor.exhausted):
                return parts[0] if len(parts) == 1 else Sequence(tuple(parts))
            if char == "(":
                with self.cursor.nested():
                    part = self._group()
                if part is None:
                    continue
            else:
                part = self._atom(char)
            parts.append(self._quantified(part))

    def _atom(self, char: str) -> Node:
        cursor = self.cursor
        if char == "[":
            return Chars(ClassParser(cursor, self.notes.append).parse())
        if char == "\\":
            return self._escape()
        if char in ("?", "*", "+"):
            raise JavaRefusalError(f"the dangling {char!r}")
        if char == "{":
            return NOTHING  # a repetition of nothing, or refused by the quantifier's parser
        cursor.next()
        if char == "^":
            return Edge("start")
        if char == "$":
            return Edge("end")
        if char == ".":
            return Chars(ALPHABET)
        return self._literal(char)

    def _literal(self, char: str) -> Node:
        if "i" in self.cursor.flags and not char.isascii():
            self.notes.append("Python ignores the case of all characters, Java of ASCII only")
        return Chars(single(char, self.cursor.flags))

    def _escape(self) -> Node:
        cursor = self.cursor
        if cursor.after_backslash() in ("p", "P"):
            return Chars(family(cursor))
        cursor.unread()
        char = cursor.skip()
        if char in SHORTHANDS:
            return Chars(SHORTHANDS[char])
        if char in _EDGES:
            return _EDGES[char]
        if char == "b":
            return self._boundary()
        if char == "k":
            return self._named_reference()
        if char.isascii() and char.isdigit() and char != "0":
            return self._reference(int(char))
        literal = literal_escape(cursor, char, self.notes.append)
        if literal is None:
            raise JavaRefusalError(f"the unsupported escape \\{char}")
        return self._literal(literal)

    def _boundary(self) -> Node:
        """\\b, or \\b{g}: every place between two characters of a name is that."""
        cursor = self.cursor
        if cursor.peek() != "{":
            return Edge("word")
        if cursor.char(1) != "g":
            return Edge("word")
        if cursor.char(2) != "}":
            raise JavaRefusalError("the unsupported escape \\b{g")
        self.notes.append("Python reads \\b{g} as a boundary and literals")
        cursor.at += 3
        return NOTHING

    def _named_reference(self) -> Node:
        if self.cursor.read() != "<":
            raise JavaRefusalError("\\k is not followed by '<'")
        name = self.cursor.group_name(self.cursor.read())
        if name not in self.names:
            raise JavaRefusalError(f"there is no group <{name}>")
        return Reference(self.names[name], "i" in self.cursor.flags)

    def _reference(self, number: int) -> Node:
        """Takes further digits as long as there is such a group already."""
        digit = self.cursor.peek()
        if digit.isascii() and digit.isdigit():
            self.notes.append("Python takes a digit behind a reference to be part of it")
        while digit.isascii() and digit.isdigit() and self.groups >= number * 10 + int(digit):
            number = number * 10 + int(digit)
            self.cursor.read()
            digit = self.cursor.peek()
        return Reference(number, "i" in self.cursor.flags)

    def _group(self) -> Node | None:
        """None: it only set flags, which hold to the end of the group around it."""
        cursor = self.cursor
        start = cursor.at
        flags = cursor.flags
        if cursor.next() != "?":
            body = self._captured()
        else:
            kind = cursor.skip()
            if kind in (":", "=", "!", ">"):
                body = self._plain(kind)
            elif kind == "<":
                body = self._behind_or_named()
            elif kind in ("$", "@"):
                raise JavaRefusalError("an unknown group type")
            else:
                cursor.unread()
                cursor.set_flags()
                closing = cursor.read()
                self._note_flags(flags, alone=closing == ")", start=start)
                if closing == ")":
                    return None
                if closing != ":":
                    raise JavaRefusalError("an unknown inline modifier")
                body = self._choice()
        cursor.accept(")", "an unclosed group")
        cursor.flags = flags
        return body

    def _note_flags(self, before: frozenset[str], alone: bool, start: int) -> None:
        if alone and start > 0:
            self.notes.append("Python takes flags for the rest only at the very start")
        if "x" in self.cursor.flags - before:
            self.notes.append("Python passes over blanks and comments by other rules")

    def _captured(self, name: str | None = None) -> Node:
        self.groups += 1
        number = self.groups
        if name is not None:
            self.names[name] = number
        return Group(number, self._choice())

    def _plain(self, kind: str) -> Node:
        body = self._choice()
        if kind == ":":
            return body
        if kind == ">":
            return Atomic(body)
        return Look(body, ahead=True, wanted=kind == "=")

    def _behind_or_named(self) -> Node:
        char = self.cursor.read()
        if char not in ("=", "!"):
            name = self.cursor.group_name(char)
            if name in self.names:
                raise JavaRefusalError(f"the group <{name}> is there already")
            return self._captured(name)
        body = self._choice()
        if _open_ended(body):
            # Refused by older Java runtimes, and by newer ones depending on details.
            raise UntellableError("a look-behind without an obvious greatest length")
        return Look(body, ahead=False, wanted=char == "=")

    def _quantified(self, body: Node) -> Node:
        cursor = self.cursor
        char = cursor.peek()
        if char == "?":
            least, most = 0, 1
        elif char == "*":
            least, most = 0, UNBOUNDED
        elif char == "+":
            least, most = 1, UNBOUNDED
        elif char == "{":
            least, most = self._counted()
        else:
            return body
        char = cursor.next()
        greed: Greed = "greedy"
        if char in ("?", "+"):
            greed = "lazy" if char == "?" else "possessive"
            cursor.next()
        repeat = Repeat(body, least, most, greed)
        self._note_repeat(repeat)
        return repeat

    def _note_repeat(self, node: Repeat) -> None:
        if node.greed == "possessive" and not isinstance(node.body, Chars):
            self.notes.append("Python repeats a group possessively by other rules")
        if node.least > 1 and can_be_empty(node.body):
            self.notes.append("Python counts rounds that match nothing, Java ends with the first")
        self.repeated |= captured_in(node.body)

    def _counted(self) -> tuple[int, int]:
        """{n}; the cursor is left on the closing brace. A comma has become a bar by now."""
        cursor = self.cursor
        digit = cursor.char(1)
        if not (digit.isascii() and digit.isdigit()):
            raise JavaRefusalError("an illegal repetition")
        cursor.skip()
        cursor.unread()
        count = cursor.number()
        if cursor.peek() != "}":
            raise JavaRefusalError("an unclosed counted closure (commas become bars in a list)")
        if count > UNBOUNDED:
            raise JavaRefusalError("an illegal repetition range")
        return count, count


def _open_ended(node: Node) -> bool:
    """Repetitions of groups too: Java gives up on their length, whatever their count."""
    if isinstance(node, Reference):
        return True
    if isinstance(node, Repeat):
        optional = (node.least, node.most) == (0, 1)
        if node.most == UNBOUNDED or not (optional or isinstance(node.body, Chars)):
            return True
    return any(_open_ended(child) for child in children(node))
