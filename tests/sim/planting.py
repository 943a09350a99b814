"""How a bug is planted: by replacing functions of the product while its scenes run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

Patches = list[AbstractContextManager[None]]
Bugs = dict[str, Callable[[], Patches]]


@contextmanager
def put(owner: object, name: str, instead: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, instead)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def planted(bugs: Bugs, name: str) -> Iterator[None]:
    with ExitStack() as stack:
        for one in bugs[name]():
            stack.enter_context(one)
        yield
