"""The examples of docs/api.md, which are those of the docstrings, on real servers."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.spark.driven import driven, printed
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import produce

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

EVENTS = 300
WITHIN_S = 540.0


def test_each_example_of_a_public_name_runs(sandbox_41: Sandbox, tmp_path: Path) -> None:
    topic = f"examples-{uuid.uuid4().hex[:8]}"
    sandbox_41.create_topic(topic, 2)
    produce(sandbox_41.bootstrap_servers, topic, EVENTS)
    options = {
        "kafka.bootstrap.servers": sandbox_41.bootstrap_servers,
        "group.id": topic,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    file = tmp_path / "given.json"
    file.write_text(
        json.dumps({"options": options, "directory": str(tmp_path), "rows": EVENTS}), "utf-8"
    )
    shown = driven("tests.spark.api_examples", str(file), directory=tmp_path, within_s=WITHIN_S)
    failed = {name: why for name, why in printed(shown).items() if why}
    assert failed == {}
