"""Lists that are cut short say how much is missing."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.listing import first_few


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (0, "", ""),
        (2, "", "p0, p1"),
        (3, "", "p0, p1 and 1 more"),
        (9, "", "p0, p1 and 7 more"),
        (2, "partition", "p0, p1"),
        (3, "partition", "p0, p1 and 1 more partition"),
        (9, "partition", "p0, p1 and 7 more partitions"),
    ],
)
def test_the_first_few_and_the_number_of_the_others(number: int, kind: str, text: str) -> None:
    assert first_few((f"p{n}" for n in range(number)), 2, kind=kind) == text


def test_another_separator() -> None:
    assert first_few(["a, b", "c"], 2, separator="; ") == "a, b; c"
