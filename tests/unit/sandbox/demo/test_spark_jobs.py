"""Where the demo's Spark jobs put the sockets of their Python workers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from zkgroup_sandbox.demo import spark_jobs


@pytest.mark.parametrize(
    ("scratch", "temporary", "expected"),
    [
        ("/short/scratch", "/deep" * 20, "/short/scratch"),
        ("/deep" * 20, "/var/tmp", "/var/tmp"),
        ("/deep" * 20, "/deep" * 15, "/tmp"),
    ],
)
def test_the_first_place_whose_path_a_socket_can_have(
    monkeypatch: pytest.MonkeyPatch, scratch: str, temporary: str, expected: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", temporary)
    assert spark_jobs._place_for_sockets(Path(scratch)) == expected
