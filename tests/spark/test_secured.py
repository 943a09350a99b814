"""A query that reads brokers with TLS, a login and ACLs, and tells nobody what it logs in with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.harness.planted_secrets import PASSWORD, WRONG_PASSWORD, leaks_in, leaks_of, redaction
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox, access
from zkgroup_sandbox.certificates import Certificates
from zkgroup_sandbox.sessions import session

pytestmark = [pytest.mark.spark, pytest.mark.timeout(500)]

ROOT = Path(__file__).parents[2]
RECORDS = 200
QUERY_S = 400.0
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def options_of(servers: Sandbox, group: str, topic: str, password: str) -> dict[str, str]:
    """Without bootstrap servers: they are those in ZooKeeper, by the listener for SASL_SSL. Secrets
    stand in the options themselves; Spark is told what to hide as docs/security.md says.
    """
    certificates = Certificates(servers.directory / "certificates")
    return {
        "zookeeper.connect": servers.kafka_zookeeper_connect,
        "group.id": group,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{SCRAM} username="dora" password="{password}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(certificates.ca),
        "kafka.ssl.keystore.certificate.chain": certificates.client.certificate.read_text(),
        "kafka.ssl.keystore.key": certificates.client.key.read_text(),
    }


def znodes(connect: str) -> list[bytes]:
    """Everything below /consumers, names and content."""
    found: list[bytes] = []
    with session(connect) as client:
        paths = ["/consumers"]
        while paths:
            path = paths.pop()
            found += [path.encode(), client.get(path)[0] or b""]
            paths += [f"{path}/{child}" for child in client.get_children(path)]
    return found


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
