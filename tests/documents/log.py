"""What is shown, and kept: each command, the end of what it said, its seconds and its status."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

SHOWN, SHOWN_IF_FAILED = 12, 80
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass
class Log:
    file: TextIO
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    @classmethod
    def to(cls, path: Path) -> Log:
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(path.open("w", encoding="utf-8"))

    def say(self, text: str = "") -> None:
        print(text, flush=True)
        self.file.write(f"{text}\n")
        self.file.flush()

    def command(self, text: str) -> None:
        self.say(
            "\n".join(f"{'$' if n == 0 else '>'} {s}" for n, s in enumerate(text.splitlines()))
        )

    def outcome(self, name: str, output: Sequence[str], status: int | None, seconds: float) -> bool:
        right = status == 0
        shown = [_CONTROL.sub("", line) for line in output]
        most = SHOWN if right else SHOWN_IF_FAILED
        if len(shown) > most:
            self.say(f"    ... {len(shown) - most} lines")
        for line in shown[-most:]:
            self.say(f"    {line}")
        said = "took too long and was killed" if status is None else f"status {status}"
        self.say(f"    [{'ok' if right else 'FAILED'}: {said}, {seconds:.1f} s]")
        if right:
            self.passed += 1
        else:
            self.failed.append(name)
        return right

    def leave_out(self, name: str, why: str) -> None:
        self.say(f"    [not run: {why}]")
        self.not_run.append(f"{name}: {why}")
