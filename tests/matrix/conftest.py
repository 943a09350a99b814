from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.matrix.lab import Lab
from tests.matrix.session import session
from zkgroup_sandbox import Sandbox

BROKERS = {"3.9": "sandbox", "4.1": "sandbox_41", "4.4": "sandbox_44"}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    # Short: the paths of Unix sockets lie below it.
    with tempfile.TemporaryDirectory(prefix="zkm") as tmp, session(Path(tmp)) as made:
        yield made


@pytest.fixture(params=list(BROKERS))
def brokers(request: pytest.FixtureRequest) -> Sandbox:
    servers: Sandbox = request.getfixturevalue(BROKERS[request.param])
    return servers


@pytest.fixture
def lab(spark: SparkSession, brokers: Sandbox, tmp_path: Path) -> Iterator[Lab]:
    made = Lab(spark, brokers, tmp_path)
    try:
        yield made
    finally:
        made.close()
