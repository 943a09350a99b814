"""An S3 server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.object_store.store import Store, started


@pytest.fixture(scope="session")
def servers() -> Iterator[Store]:
    with started() as store:
        yield store


@pytest.fixture
def store(servers: Store) -> Iterator[Store]:
    """Without faults of other tests."""
    servers.set_faults()
    yield servers
    servers.set_faults()
