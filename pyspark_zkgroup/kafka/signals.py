"""Signals that arrive while kafka-python's loop runs are handled between two of its rounds.

The loop catches whatever a callback raises. So without this: SIGTERM arrives while the loop takes
apart an answer, Python runs the handler there, the handler raises SystemExit, the loop logs it and
continues. The process does not end, and with the second SIGTERM ignored it never does.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

_NUMBERS = (signal.SIGTERM, signal.SIGINT)

_Handler = Callable[[int, FrameType | None], object]


class HeldSignals:
    """Holds back what has a handler in Python; `wake` is called at once when such a signal comes.

    Only the main thread handles signals, so in any other thread this does nothing.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._handlers: dict[int, _Handler] = {}
        self._arrived: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is threading.main_thread():
            self._hold()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()
        self._handle()

    def deliver(self) -> None:
        """Handles what has arrived: a handler that raises, raises here."""
        if self._arrived:
            self._release()
            self._handle()
            self._hold()

    def _hold(self) -> None:
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def _release(self) -> None:
        handlers, self._handlers = self._handlers, {}
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def _handle(self) -> None:
        arrived, self._arrived = self._arrived, []
        for number, frame in arrived:
            handler = signal.getsignal(number)
            if callable(handler):
                handler(number, frame)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived.append((number, frame))
        self._wake()
