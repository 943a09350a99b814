"""The judge of a Delta table says what is wrong with it, and only then that something is."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.jobs.loading import job

PRODUCED = {"topic": "t", "ranges": {"0": [[0, 3], [5, 6]], "1": [[0, 1]]}}
ALL = [("t", 0, 0), ("t", 0, 1), ("t", 0, 2), ("t", 0, 5), ("t", 1, 0)]


@pytest.fixture(scope="module")
def verify() -> ModuleType:
    return job("verify")


@pytest.mark.parametrize(
    ("found", "line", "right"),
    [
        (ALL, "produced 5, in Delta 5, missing 0, duplicates 0", True),
        (ALL[1:], "produced 5, in Delta 4, missing 1, duplicates 0", False),
        ([*ALL, *ALL[:2]], "produced 5, in Delta 7, missing 0, duplicates 2", False),
        ([*ALL[1:], ALL[3]], "produced 5, in Delta 5, missing 1, duplicates 1", False),
        (
            [*ALL, ("t", 0, 3)],
            "produced 5, in Delta 6, missing 0, duplicates 0, never produced 1",
            False,
        ),
        ([], "produced 5, in Delta 0, missing 5, duplicates 0", False),
    ],
)
def test_verdict(
    verify: ModuleType, found: list[tuple[str, int, int]], line: str, right: bool
) -> None:
    assert verify.compare(PRODUCED, Counter(found)) == (line, right)


def test_another_form_of_the_records_is_refused_with_the_right_one(
    verify: ModuleType, tmp_path: Path
) -> None:
    for text in ("", "[]", '{"topic": "t"}'):
        path = tmp_path / "produced.json"
        path.write_text(text)
        with pytest.raises(argparse.ArgumentTypeError, match=r'is not of the form \{"topic": "eve'):
            verify._produced(str(path))
    with pytest.raises(argparse.ArgumentTypeError, match="No such file"):
        verify._produced(str(tmp_path / "none.json"))
