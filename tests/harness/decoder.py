"""Marks tests that read typed columns, which only the native decoder makes."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_decoder = pytest.mark.skipif(
    find_spec("pyspark_zkgroup.records._decoder") is None,
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)
