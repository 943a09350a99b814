from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.kafka.connection import Cluster
from tests.contract.fetching import Servers, settings_of
from tests.fakes.fetch_broker import FetchBroker
from zkgroup_sandbox import Sandbox


@pytest.fixture
def fetch_broker() -> Iterator[FetchBroker]:
    broker = FetchBroker()
    yield broker
    broker.close()


@pytest.fixture(params=["fetch_broker", "sandbox", "sandbox_41"])
def servers(request: pytest.FixtureRequest) -> Servers:
    found: Servers = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["sandbox", "sandbox_41"])
def real_servers(request: pytest.FixtureRequest) -> Sandbox:
    found: Sandbox = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def topic() -> str:
    return f"fetch-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Connect to the servers of the test."""
    name = "servers" if "servers" in request.fixturenames else "real_servers"
    made = Cluster(settings_of(request.getfixturevalue(name)))
    yield made
    made.close()
