"""A block of shell as the commands in it, and as one script that says which of them it is at.

One shell runs all of a block, since what one command sets (`cd`, `export`) is for the next.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

MARK = "\x1e"
"""Begins a line that is the script's own: the number of the command that comes now."""


def commands(text: str) -> list[str]:
    """Lines that a backslash joins are one; comments that stand alone are none."""
    found: list[str] = []
    joined = ""
    for line in text.splitlines():
        joined += line
        if line.endswith("\\"):
            joined += "\n"
            continue
        if joined.strip() and not joined.lstrip().startswith("#"):
            found.append(joined)
        joined = ""
    return [*found, joined] if joined.strip() else found


def bare(command: str) -> str:
    """Without the comment behind it, by which a page tells what it is for."""
    return command.partition("  #")[0].rstrip()


@dataclass(frozen=True)
class Act:
    """What is run, and what the log shows of it."""

    shown: str
    run: str
    note: str = ""

    @property
    def title(self) -> str:
        return bare(self.shown).strip().partition("\n")[0]


def acts(found: Sequence[str], instead: Mapping[str, str], left_out: Collection[str]) -> list[Act]:
    """Of commands as they are printed."""
    return [
        Act(
            command,
            instead.get(bare(command), command),
            note=f"run: {instead[bare(command)]}" if bare(command) in instead else "",
        )
        for command in found
        if bare(command) not in left_out
    ]


def script(found: Sequence[str]) -> str:
    """For `sh`: ends at the first command that fails, with its status."""
    lines = ["set -e", "exec 2>&1"]
    for number, command in enumerate(found):
        lines += [f"printf '\\036%d\\n' {number}", command]
    return "\n".join(lines) + "\n"
