"""Things as short text: the first few and the number of the others, or their number alone."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def first_few(things: Iterable[object], most: int, *, kind: str = "", separator: str = ", ") -> str:
    """Return the first things and the number of the others.

    >>> first_few(["orders-0", "orders-1", "orders-2"], 2)
    'orders-0, orders-1 and 1 more'
    >>> first_few(["orders-0", "orders-1", "orders-2"], 1, kind="partition")
    'orders-0 and 2 more partitions'
    """
    texts = [str(thing) for thing in things]
    text = separator.join(texts[:most])
    more = len(texts) - most
    if more <= 0:
        return text
    kinds = f" {kind}" if more == 1 else f" {kind}s"
    return f"{text} and {more} more{kinds if kind else ''}"


def counted(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def similar_names(name: str, there: Iterable[str]) -> str:
    """Return what follows a message that `name` is not there: names that may have been meant.

    >>> similar_names("oders", ["orders", "payments"])
    ' (similar names: orders)'
    """
    near = get_close_matches(name, [other for other in there if other != name])
    return f" (similar names: {', '.join(sorted(near))})" if near else ""
