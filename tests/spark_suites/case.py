"""A test case of one of the suites that Spark tests its own Kafka source with, and what answers it
here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`name` is what Spark calls it, as far as that tells it apart; cases that differ only in the
    implementation they run on are one. Either `tests` of ours (file::name below tests/) ask the
    same, or `why` says why nothing here does. `open` is what none of ours asks yet and might.
    """

    name: str
    tests: tuple[str, ...] = ()
    why: str = ""
    open: str = ""

    def __post_init__(self) -> None:
        if not (self.tests or self.why or self.open):
            raise ValueError(f"{self.name!r} is neither tested nor explained")


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    cases: tuple[Case, ...]


def case(name: str, *tests: str, why: str = "", open: str = "") -> Case:  # noqa: A002
    return Case(name, tests, why, open)
