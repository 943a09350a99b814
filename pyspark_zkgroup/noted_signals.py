"""Notes SIGTERM and Ctrl-C for a while, in place of their handlers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def noted_signals(note: Callable[[int], object]) -> Iterator[None]:
    """Call `note` with the number of each signal, and give the handlers back at the end. For the
    main thread.
    """

    def handle(signum: int, _frame: object) -> None:
        note(signum)

    before = {s: signal.signal(s, handle) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
