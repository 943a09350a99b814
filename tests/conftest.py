"""Fixtures for all tests: real servers (see the module for their names)."""

from __future__ import annotations

import pytest
from hypothesis import settings

from pyspark_zkgroup.records.choice import slow_because

# A first example pays for imports, and another process may have the core: no drawn test is timed.
settings.register_profile("zkgroup", deadline=None)
# For `make quick`: it draws a quarter of what the daily tests draw.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.load_profile("zkgroup")

pytest_plugins = ["zkgroup_sandbox.fixtures"]


# Where several workers run the files, these are begun first: they take longest, and mostly wait.
_FIRST = ("chaos", "spark", "packages", "interop", "broker", "contract", "kafka", "security", "sim")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {folder: place for place, folder in enumerate(_FIRST)}

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
        return order.get(folder, len(order))

    items.sort(key=place)


def pytest_report_header() -> str:
    reason = slow_because()
    if reason is None:
        return "record decoder: native; the reference is what it is compared with"
    return f"record decoder: reference, as there is no native one: {reason}"
