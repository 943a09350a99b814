"""A short run of `python -m tests.security.fuzz`, and that it finds what it looks for."""

from __future__ import annotations

import pytest

from tests.security import fuzz


@pytest.mark.parametrize("name", fuzz.READERS)
def test_whatever_is_read_of_others_costs_a_bounded_time_and_memory(name: str) -> None:
    tallies, finding = fuzz.fuzz(1.0, 20261123, [name])
    assert finding is None, finding
    assert tallies[name].inputs >= 10


@pytest.mark.parametrize(
    ("planted", "what"),
    [
        (lambda _data: [][1], "IndexError"),
        (lambda data: bytes(fuzz.BYTES_MAX + len(data)), "cost"),
    ],
)
def test_a_foreign_error_and_a_bomb_are_findings(
    planted: object, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = fuzz.Reader(planted, (b"{}",))  # type: ignore[arg-type]
    monkeypatch.setitem(fuzz.READERS, "planted", reader)
    _, finding = fuzz.fuzz(0.0, 1, ["planted"])
    assert finding is not None
    assert what in finding[2]
