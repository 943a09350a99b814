"""A query whose driver runs elsewhere."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from pyspark_zkgroup import stop
from pyspark_zkgroup.spark import stopping


class Query:
    """Of Spark Connect, as far as `stop` asks it."""

    id = "q"
    isActive = True  # noqa: N815 - as Spark spells it
    lastProgress = None  # noqa: N815

    def stop(self) -> None:
        self.isActive = False


def test_a_query_without_a_driver_on_this_machine_is_stopped_at_once_and_not_as_drained(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stopping, "_jvm_pid", lambda: 0)
    query: Any = Query()
    began = time.monotonic()

    with caplog.at_level(logging.WARNING):
        assert stop(query, timeout_s=600) is False

    assert not query.isActive
    assert time.monotonic() - began < 60
    assert "[ZKG-144] Stopped query q before it drained" in caplog.text
