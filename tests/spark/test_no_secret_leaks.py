"""A real query on secured servers, with a secret in every place that takes one: it reads, is
refused, and fails in a task. None of the secrets is in anything that Spark or we leave behind.
Without Spark: tests/broker/test_no_secret_leaks.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.harness.all_secrets import locked, to_brokers, to_zookeeper, with_locked_key, znodes
from tests.harness.planted_secrets import (
    KEY_MARK,
    KEY_PASSWORD,
    PASSWORD,
    WRONG_PASSWORD,
    ZOOKEEPER_LOGIN,
    ZOOKEEPER_PASSWORD,
    leaks_in,
    leaks_of,
    redaction,
)
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox, access
from zkgroup_sandbox.certificates import Certificates

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(500)]

ROOT = Path(__file__).parents[2]
RECORDS = 100
QUERY_S = 400.0
USER, TOPIC, CLOSED = "erin", "for-erin", "not-for-erin"


@pytest.fixture
def servers(secured: Sandbox) -> Sandbox:
    (broker,) = secured.brokers
    access.add_user(broker, USER, PASSWORD)
    for topic, rights in ((TOPIC, ["READ", "DESCRIBE"]), (CLOSED, ["DESCRIBE"])):
        secured.create_topic(topic, 2)
        access.allow(broker, f"User:{USER}", topic, rights)
        for partition in range(2):
            values: list[bytes | None] = [b"%d" % n for n in range(partition, RECORDS, 2)]
            produce(secured.bootstrap_servers, TopicPartition(topic, partition), values)
    return secured


def test_nothing_tells_a_secret(servers: Sandbox, tmp_path: Path) -> None:
    given, traces = tmp_path / "given", tmp_path / "traces"
    (traces / "events").mkdir(parents=True)
    given.mkdir()
    own = locked(Certificates(servers.directory / "certificates"), given / "own.pem")
    good = {
        **to_zookeeper(servers, own),
        **to_brokers(servers, PASSWORD, USER),
        "group.id": "erin",
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
    }
    planted = {PASSWORD, KEY_PASSWORD, ZOOKEEPER_PASSWORD, ZOOKEEPER_LOGIN, KEY_MARK}
    assert set(leaks_of(*good.values())) == planted
    changes: tuple[tuple[dict[str, str], str], ...] = (
        ({}, ""),
        ({"subscribe": CLOSED}, "do not let user 'erin' read topic 'not-for-erin'"),
        (
            {**to_brokers(servers, WRONG_PASSWORD, USER), **with_locked_key(own)},
            "does not accept the login of user 'erin' by SCRAM-SHA-512",
        ),
        (
            to_zookeeper(servers, own, WRONG_PASSWORD),
            "does not accept the login of user 'zoe' by DIGEST-MD5",
        ),
    )
    settings: dict[str, Any] = {
        "events": str(traces / "events"),
        "redaction": redaction(),
        "queries": [
            {
                "options": {**good, "group.id": f"erin-{number}", **changed},
                "checkpoint": str(traces / f"checkpoint-{number}"),
            }
            for number, (changed, _) in enumerate(changes)
        ],
    }
    file = given / "settings.json"
    file.write_text(json.dumps(settings))
    assert set(leaks_in(given)), "the search finds nothing where all of them are"
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
    assert ran.returncode == 0, ran.stderr[-4000:]
    first, *others = json.loads(ran.stdout.splitlines()[-1])
    assert first == {"rows": [str(n) for n in range(RECORDS)]}
    for found, (_, what) in zip(others, changes[1:], strict=True):
        assert what in found["error"]
    assert "== Physical Plan ==" in ran.stdout, "nothing was explained"
    assert "Traceback" in ran.stderr, "no failure of a task was logged"
    assert leaks_of(ran.stdout, ran.stderr) == []
    assert leaks_of(*znodes(servers.kafka_zookeeper_connect)) == []
    assert leaks_in(traces, servers.directory / "logs") == []
    (traces / "driver.log").write_text(f"login with {good['zookeeper.auth']}")
    assert leaks_in(traces) == [f"{traces / 'driver.log'}: {ZOOKEEPER_PASSWORD}"]
