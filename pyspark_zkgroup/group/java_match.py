"""Matches a whole topic name against the parts of a java.util.regex expression.

A matcher that backtracks tries the ways a part can match in a fixed order. Here that order is a
list: all the places where a part can end, the preferred one first, each once. Dropping repeats
loses nothing, because what follows depends only on the place (and on the captured groups that are
referred to, which therefore belong to it), and it keeps nested repetitions from exploding.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_zkgroup.group.java_nodes import (
    Atomic,
    Chars,
    Choice,
    Edge,
    Group,
    Look,
    Node,
    Reference,
    Repeat,
    Sequence,
    referred,
)

Captures = tuple[tuple[int, int, int], ...]
"""(group, start, until), ascending, of the groups that are referred to."""
Place = tuple[int, Captures]


class Match:
    """One name on its way through an expression."""

    def __init__(self, root: Node, text: str) -> None:
        self._root = root
        self._text = text
        self._kept = referred(root)

    def whole(self) -> bool:
        return any(at == len(self._text) for at, _ in self._ends(self._root, (0, ())))

    def _ends(self, node: Node, place: Place) -> list[Place]:
        at, captures = place
        if isinstance(node, Chars):
            found = at < len(self._text) and self._text[at] in node.members
            return [(at + 1, captures)] if found else []
        if isinstance(node, Sequence):
            return self._through(node.parts, place)
        if isinstance(node, Choice):
            return _distinct(end for option in node.options for end in self._ends(option, place))
        if isinstance(node, Repeat):
            if node.greed == "possessive":
                return self._possessive(node, place)
            return self._repeat(node, place)
        if isinstance(node, Atomic):
            return self._ends(node.body, place)[:1]
        if isinstance(node, Look):
            return self._look(node, place)
        if isinstance(node, Group):
            return self._group(node, place)
        if isinstance(node, Reference):
            return self._reference(node, place)
        return [place] if self._edge(node, at) else []

    def _through(self, parts: tuple[Node, ...], place: Place) -> list[Place]:
        places = [place]
        for part in parts:
            places = _distinct(end for here in places for end in self._ends(part, here))
        return places

    def _repeat(self, node: Repeat, place: Place) -> list[Place]:
        """Depth first, on a stack of our own: a name is longer than Python's recursion is deep.

        A round that consumes nothing ends the repetition, even below the least number of rounds.
        """
        ends: list[Place] = []
        seen: set[tuple[Place, int]] = set()
        stack: list[tuple[Place, int, bool]] = [(place, 0, False)]
        while stack:
            here, rounds, ended = stack.pop()
            if ended:
                ends.append(here)
                continue
            # Beyond the least number the count matters only where there is a greatest one.
            key = (here, min(rounds, node.least) if node.most >= len(self._text) else rounds)
            if key in seen:
                continue
            seen.add(key)
            ends_of_body = self._ends(node.body, here) if rounds < node.most else []
            further = [(end, rounds + 1, end[0] == here[0]) for end in ends_of_body]
            if rounds >= node.least:
                stop = (here, rounds, True)
                further = [*further, stop] if node.greed == "greedy" else [stop, *further]
            stack.extend(reversed(further))
        return _distinct(ends)

    def _possessive(self, node: Repeat, place: Place) -> list[Place]:
        """Each round takes what its body matches first, and none is ever undone."""
        rounds = 0
        while rounds < node.most:
            ends = self._ends(node.body, place)
            if not ends:
                break
            stuck = ends[0][0] == place[0]
            place = ends[0]
            rounds += 1
            if stuck:
                return [place]
        return [place] if rounds >= node.least else []

    def _look(self, node: Look, place: Place) -> list[Place]:
        at, captures = place
        if node.ahead:
            ends = self._ends(node.body, place)
        else:
            ends = [
                end
                for start in range(at, -1, -1)
                for end in self._ends(node.body, (start, captures))
                if end[0] == at
            ]
        if not node.wanted:
            return [] if ends else [place]
        return [(at, ends[0][1])] if ends else []

    def _group(self, node: Group, place: Place) -> list[Place]:
        ends = self._ends(node.body, place)
        if node.number not in self._kept:
            return ends
        captured = []
        for at, captures in ends:
            others = (known for known in captures if known[0] != node.number)
            captured.append((at, tuple(sorted((*others, (node.number, place[0], at))))))
        return _distinct(captured)

    def _reference(self, node: Reference, place: Place) -> list[Place]:
        at, captures = place
        for number, start, until in captures:
            if number == node.number:
                before, here = self._text[start:until], self._text[at : at + until - start]
                same = before.lower() == here.lower() if node.any_case else before == here
                return [(at + until - start, captures)] if same else []
        return []

    def _edge(self, node: Edge, at: int) -> bool:
        if node.where == "start":
            return at == 0
        if node.where == "end":
            return at == len(self._text)
        left = at > 0 and _in_word(self._text[at - 1])
        right = at < len(self._text) and _in_word(self._text[at])
        return (left != right) is (node.where == "word")


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _distinct(places: Iterable[Place]) -> list[Place]:
    return list(dict.fromkeys(places))
