"""How wide tables are where no terminal says it."""

from __future__ import annotations

import sys

import pytest

from pyspark_zkgroup.cli.wide import console


def test_in_a_pipe_ids_are_not_broken_unless_columns_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == 160
    monkeypatch.setenv("COLUMNS", "90")
    assert console().width == 90
