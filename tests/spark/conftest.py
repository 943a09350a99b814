"""Drivers and scenes for the tests with real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.drivers import Drivers
from tests.spark.scene import Scene, scene_on
from zkgroup_sandbox import Sandbox


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    pool = Drivers(tmp_path_factory.mktemp("drivers"))
    yield pool
    pool.close()


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path, drivers: Drivers) -> Iterator[Scene]:
    """On Kafka 3.9 with ZooKeeper; with the parameter "sandbox_41" on KRaft."""
    servers: Sandbox = request.getfixturevalue(getattr(request, "param", "sandbox"))
    with scene_on(servers, tmp_path, drivers) as made:
        yield made
