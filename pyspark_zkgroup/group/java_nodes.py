"""The parts of a java.util.regex expression, as far as a topic name can tell them apart.

A name is made of letters, digits, '.', '_' and '-', all ASCII. So a class of characters is the set
of those it holds, and whatever needs a line's end, a blank or a combining mark matches nothing.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

ALPHABET = frozenset(string.ascii_letters + string.digits + "._-")

UNBOUNDED = 0x7FFFFFFF
FEW = 3


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of the set."""

    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sequence:
    """All of them, one behind the other; empty: nothing, always."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that leads to a match."""

    options: tuple[Node, ...]


Greed = Literal["greedy", "lazy", "possessive"]


@dataclass(frozen=True, slots=True)
class Repeat:
    body: Node
    least: int
    most: int
    greed: Greed


@dataclass(frozen=True, slots=True)
class Atomic:
    """What the body matches first; never tried again."""

    body: Node


@dataclass(frozen=True, slots=True)
class Look:
    """Does the body match from here (ahead), or up to here? Consumes nothing."""

    body: Node
    ahead: bool
    wanted: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group."""

    number: int
    body: Node


@dataclass(frozen=True, slots=True)
class Reference:
    """The text that a group captured, once more. A group that did not take part never matches."""

    number: int
    any_case: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A place between characters."""

    where: Literal["start", "end", "word", "not word"]


Node: TypeAlias = Chars | Sequence | Choice | Repeat | Atomic | Look | Group | Reference | Edge

NOTHING = Sequence(())
NEVER = Chars(frozenset())


def referred(node: Node) -> frozenset[int]:
    """The groups that some reference in the node names."""
    if isinstance(node, Reference):
        return frozenset({node.number})
    return frozenset().union(*(referred(child) for child in children(node)))


def captured_in(node: Node) -> frozenset[int]:
    """The groups within the node."""
    own = frozenset({node.number}) if isinstance(node, Group) else frozenset()
    return own.union(*(captured_in(child) for child in children(node)))


def can_be_empty(node: Node) -> bool:
    """Whether the node may match without consuming anything (or, for a reference, might)."""
    if isinstance(node, Chars):
        return False
    if isinstance(node, Choice):
        return any(map(can_be_empty, node.options))
    if isinstance(node, Repeat):
        return node.least == 0 or can_be_empty(node.body)
    if isinstance(node, (Sequence, Atomic, Group)):
        return all(map(can_be_empty, children(node)))
    return True


def backtracks_little(node: Node) -> bool:
    """Whether a matcher that tries all ways in turn gets through any name in no time.

    One that does not remember takes exponential time for `(a*)*b`, and for `.*.*.*.*b` a power of
    the length of the name: somebody else's expression must not stall us.
    """
    repeats = [part for part in parts_of(node) if isinstance(part, Repeat) and part.most > 1]
    nested = any(
        isinstance(inner, (Repeat, Choice)) for outer in repeats for inner in parts_of(outer.body)
    )
    return not nested and len(repeats) <= FEW


def parts_of(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from parts_of(child)


def children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.parts
    if isinstance(node, Choice):
        return node.options
    if isinstance(node, (Repeat, Atomic, Look, Group)):
        return (node.body,)
    return ()
