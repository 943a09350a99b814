"""A query that reads brokers with TLS, a login and ACLs, and shows its login nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.harness.all_secrets import to_brokers, znodes
from tests.harness.planted_secrets import PASSWORD, WRONG_PASSWORD, leaks_in, leaks_of, redaction
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox, access

pytestmark = [pytest.mark.spark, pytest.mark.timeout(500)]

ROOT = Path(__file__).parents[2]
RECORDS = 200
QUERY_S = 400.0


def options_of(servers: Sandbox, group: str, topic: str, password: str) -> dict[str, str]:
    """Without bootstrap servers: they are those in ZooKeeper, by the listener for SASL_SSL. Secrets
    are in the options themselves; Spark hides what docs/security.md names.
    """
    return {
        **to_brokers(servers, password, "dora"),
        "zookeeper.connect": servers.kafka_zookeeper_connect,
        "group.id": group,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }


@pytest.mark.long
def test_a_query_reads_and_shows_no_secret(secured: Sandbox, tmp_path: Path) -> None:
    topic = "for-dora"
    secured.create_topic(topic, 2)
    for partition in range(2):
        values: list[bytes | None] = [b"%d" % n for n in range(partition, RECORDS, 2)]
        produce(secured.bootstrap_servers, TopicPartition(topic, partition), values)
    access.add_user(secured.brokers[0], "dora", PASSWORD)
    access.allow(secured.brokers[0], "User:dora", topic, ["READ", "DESCRIBE"])
    good, bad = tmp_path / "good", tmp_path / "bad"
    settings: dict[str, Any] = {
        "events": str(tmp_path / "events"),
        "redaction": redaction(),
        "queries": [
            {
                "options": options_of(secured, "dora", topic, PASSWORD),
                "checkpoint": str(good),
            },
            {
                "options": options_of(secured, "dora-2", topic, WRONG_PASSWORD),
                "checkpoint": str(bad),
            },
        ],
    }
    (tmp_path / "events").mkdir()
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.secured_query", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=QUERY_S,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        check=False,
    )
    file.unlink()
    assert ran.returncode == 0, ran.stderr[-4000:]
    first, second = json.loads(ran.stdout.splitlines()[-1])
    assert first == {"rows": [str(n) for n in range(RECORDS)]}
    refused = "does not accept the login of user 'dora' by SCRAM-SHA-512"
    assert refused in second["error"], second["error"]
    assert "Check username and password in kafka.sasl.jaas.config" in second["error"]
    assert "== Physical Plan ==" in ran.stdout, "nothing was explained"
    assert leaks_of(ran.stdout, ran.stderr, *znodes(secured.kafka_zookeeper_connect)) == []
    assert leaks_in(good, bad, tmp_path / "events") == []
