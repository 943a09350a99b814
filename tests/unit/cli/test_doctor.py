"""How findings are printed."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.cli.doctor import _show
from pyspark_zkgroup.cli.finding import Finding

REMEDY = "pip install 'pyspark-zkgroup[spark]', where no cluster brings Spark"
FOUND = [
    Finding("pyspark", "ill", "not installed", REMEDY),
    Finding("[red]: group", "note", "a text " * 30, "do this"),
]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_nothing_is_cut_or_read_as_markup(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _show(FOUND)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    words = " ".join(out.replace("│", " ").split())
    assert "pyspark-zkgroup[spark]" in words
    assert "[red]: group" in words
    assert words.count("a text") >= 29


def test_in_a_narrow_terminal_each_finding_is_a_block(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _show(FOUND[:1])
    assert capsys.readouterr().out.splitlines() == [
        "ill   pyspark",
        "      not installed",
        f"      {REMEDY}",
    ]
