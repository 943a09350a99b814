"""Secured brokers as tests use them: topics, users, the options of a client, and a read by them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.options import Options, parse
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.tasks import reading as task
from tests.harness.planted_secrets import PASSWORD
from tests.harness.producing import produce
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox, access
from zkgroup_sandbox.certificates import KEY_PASSWORD, Certificates

RECORDS = 300
TOPIC, HIDDEN, LISTED = "for-carol", "for-others", "only-described"
_LOGIN = "org.apache.kafka.common.security"
PLAIN = f"{_LOGIN}.plain.PlainLoginModule required"
SCRAM = f"{_LOGIN}.scram.ScramLoginModule required"
BEARER = f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required"
Given = Mapping[str, str]


def fill(secured: Sandbox) -> Sandbox:
    """Topics, and who may do what with them."""
    (broker,) = secured.brokers
    for topic in (TOPIC, HIDDEN, LISTED):
        secured.create_topic(topic, 1)
        values: list[bytes | None] = [b"%d" % n for n in range(RECORDS)]
        produce(secured.bootstrap_servers, TopicPartition(topic, 0), values, batch_size=2000)
    access.add_user(broker, "carol", PASSWORD)
    for user in ("User:carol", "User:alice", "User:CN=client"):
        access.allow(broker, user, TOPIC, ["READ", "DESCRIBE"])
        access.allow(broker, user, LISTED, ["DESCRIBE"])
    view = view_of(secured, "sasl_ssl", scram(PASSWORD), TOPIC)
    wait_until(lambda: view.latest([TopicPartition(TOPIC, 0)]), 30.0, "the broker to know carol")
    view.close()
    return secured


def certificates_of(servers: Sandbox) -> Certificates:
    return Certificates(servers.directory / "certificates")


def trusting(servers: Sandbox) -> dict[str, str]:
    return {
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(certificates_of(servers).ca),
    }


def showing(certificate: Path) -> dict[str, str]:
    return {
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.location": str(certificate),
    }


def jaas(mechanism: str, text: str) -> dict[str, str]:
    return {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": text}


def scram(password: str, mechanism: str = "SCRAM-SHA-512", user: str = "carol") -> dict[str, str]:
    return jaas(mechanism, f'{SCRAM} username="{user}" password="{password}";')


def options_of(servers: Sandbox, listener: str, given: Given, topic: str = TOPIC) -> Options:
    (broker,) = servers.brokers
    protocols = {"sasl_plaintext": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
    protocol = given.get("kafka.security.protocol", protocols.get(listener, "SSL"))
    trust = trusting(servers) if "SSL" in protocol else {}
    return parse(
        {
            "zookeeper.connect": servers.zookeeper_connect,
            "group.id": "secured",
            "subscribe": topic,
            "kafka.bootstrap.servers": broker.listener(listener),
            "kafka.security.protocol": protocol,
            **trust,
            **given,
        }
    )


def view_of(servers: Sandbox, listener: str, given: Given, topic: str = TOPIC) -> ClusterView:
    return ClusterView(options_of(servers, listener, given, topic))


def read(view: ClusterView, topic: str = TOPIC, until: int = RECORDS) -> pa.Table:
    """As a task does, on another machine: what it gets was pickled."""
    ranges = (TaskRange(TopicPartition(topic, 0), OffsetRange(0, until)),)
    settings = pickle.loads(pickle.dumps(view.fetch_settings()))
    try:
        return pa.Table.from_batches(task.read(TaskInput("member-0", ranges), settings))
    finally:
        task.POOL.close()


def inline(certificates: Certificates) -> dict[str, str]:
    """Everything in the options themselves, on one line each, with a locked key."""
    return {
        "kafka.ssl.keystore.certificate.chain": one_line(certificates.client.certificate),
        "kafka.ssl.keystore.key": one_line(certificates.locked_key),
        "kafka.ssl.key.password": KEY_PASSWORD,
    }


def one_line(path: Path) -> str:
    return path.read_text().replace("\n", " ")
