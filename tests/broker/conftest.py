from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.group import Group, group_of
from tests.harness.secured_brokers import fill
from zkgroup_sandbox import Sandbox


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[Group]:
    with group_of(sandbox) as made:
        yield made


@pytest.fixture(scope="session")
def servers(secured: Sandbox) -> Sandbox:
    """Secured brokers with topics and users."""
    return fill(secured)
