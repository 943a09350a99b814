from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.sandbox import Sandbox
from tests.group import Group, group_of


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[Group]:
    with group_of(sandbox) as made:
        yield made
