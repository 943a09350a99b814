"""offsets.storage and dual.commit.enabled, as the old consumers had them."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.options import parse
from tests.harness.given_options import LEAST, refusal


@pytest.mark.parametrize(
    ("given", "storage", "dual"),
    [
        ({}, "zookeeper", False),
        ({"dual.commit.enabled": "false"}, "zookeeper", False),
        ({"offsets.storage": "zookeeper"}, "zookeeper", False),
        ({"offsets.storage": "kafka"}, "kafka", True),
        ({"offsets.storage": "kafka", "dual.commit.enabled": "true"}, "kafka", True),
        ({"offsets.storage": "kafka", "dual.commit.enabled": "false"}, "kafka", False),
    ],
)
def test_both_together(given: dict[str, str], storage: str, dual: bool) -> None:
    found = parse({**LEAST, **given})
    assert (found.group.offsets_storage, found.group.dual_commit) == (storage, dual)


def test_two_places_need_the_second_one() -> None:
    assert refusal({**LEAST, "dual.commit.enabled": "true"}) == (
        "Option 'dual.commit.enabled' is 'true', but 'offsets.storage' is zookeeper by default, "
        "so there is no second place. Set 'offsets.storage' to kafka to have offsets in both"
    )
