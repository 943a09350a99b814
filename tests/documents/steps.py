"""What a scene is made of: blocks of the pages in the order of a story, and what is around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.documents.blocks import Block

Servers = Literal["none", "open", "secured"]


@dataclass(frozen=True)
class Printed:
    """A block as its page prints it. Only hosts and directories are others (stand_ins.py)."""

    page: str
    opening: str
    given: str = ""
    """Of Python: what the page takes for granted, run before the block in the same program."""
    proof: str = ""
    """Of Python: run after it; fails if the block has not done what the page says."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Of shell: what is run for a command that takes hours. The log shows both."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Of shell: commands that are not run, and why."""
    first_rows: str = ""
    """A line like this of its output is the first that a newcomer sees of rows."""


@dataclass(frozen=True)
class NotRun:
    """A block that cannot be: the log says why."""

    page: str
    opening: str
    why: str


@dataclass(frozen=True)
class Shell:
    """A command of ours. A page's text may tell of it, or it sets the scene for a block."""

    line: str
    beside: bool = False
    """It runs while the next steps run, until another command ends it, or the scene (by SIGTERM).
    Its status must be 0 either way.
    """


@dataclass(frozen=True)
class Python:
    """A program of ours that sets the scene."""

    code: str


Step: TypeAlias = Printed | NotRun | Shell | Python


@dataclass(frozen=True)
class Scene:
    """Steps that build on each other. Each scene begins without the group and with empty /data."""

    name: str
    steps: tuple[Step, ...]
    servers: Servers = "open"
    in_clone: bool = False
    """Its commands are started in the clone, as the page says; else in an empty directory."""
    by_make: bool = False
    """It uses what `make` sets up. Else what the README says to install is on the path."""


def block_of(step: Printed | NotRun, found: list[Block]) -> Block:
    """ValueError if its page has no such block any more, or several."""
    named = [b for b in found if (b.page, b.opening) == (step.page, step.opening)]
    if len(named) != 1:
        raise ValueError(
            f"{step.page} has {len(named)} blocks that begin with {step.opening!r}, expected one: "
            "see tests/documents/scenes"
        )
    return named[0]


def program(step: Printed | Python, text: str) -> str:
    """The Python that is run for a block with that text."""
    if isinstance(step, Python):
        return f"import story\n\n{step.code}\n"
    return f"import story\n\n{step.given}\n\n{text}\n\n{step.proof}\n"
