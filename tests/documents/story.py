"""What the programs of a scene take for granted: servers with records, a session, patience.

The runner copies it to the scene, with tests/harness/waiting.py; programs import it as `story`. It
runs with the packages of a reader of the pages: it may import what pyspark-zkgroup installs.

    python story.py open BOX        topics and records in a sandbox that runs in the directory BOX
    python story.py secured BOX     starts one with TLS, logins and ACLs there, and does the same
    python story.py forget          the group is as if it had never been
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Paced, Producer
from zkgroup_sandbox.produce import produce as produce_to
from zkgroup_sandbox.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FACTS = Path(os.environ["STORY_SERVERS"])
"""Where the servers are, and how many records they hold."""
DATA = Path(os.environ["STORY_DATA"])
"""Replaces the pages' /data."""
GROUP = "billing"
TOPICS = ("orders", "payments")
PARTITIONS = 4
RECORDS = 8_000
PATIENCE_S = 600.0


def facts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FACTS.read_text("utf-8"))
    return found


def data(path: str) -> str:
    return str(DATA / path)


def wait_for(
    condition: Callable[[], object], what: str, query: StreamingQuery | None = None
) -> None:
    """For nothing, once the query is dead that should bring it."""

    def died() -> bool:
        return query is not None and query.exception() is not None

    wait_until(lambda: died() or condition(), PATIENCE_S, what, interval_s=0.5)
    if query is not None and died():
        raise AssertionError(f"the query died: {query.exception()}")


def expect(found: object, wanted: object) -> None:
    """The proof's last word, for the log."""
    print(f"found {found}, expected {wanted}")
    assert found == wanted


# -- records


def produce(topic: str, count: int) -> None:
    known = facts()
    first = known["records"][topic]
    assert produce_to(known["brokers"], topic, count, first=first).count == count
    _count(topic, count)


def records(*topics: str) -> int:
    """How many there are."""
    return sum(facts()["records"][topic] for topic in topics or TOPICS)


def ranges(topic: str) -> dict[str, list[list[int]]]:
    """As jobs/verify.py takes them: all that the logs hold, from their beginnings on."""
    with Producer(facts()["brokers"], topic) as asked:
        partitions = asked.partitions
    consumer = KafkaConsumer(bootstrap_servers=facts()["brokers"])
    ends = consumer.end_offsets([TopicPartition(topic, p) for p in partitions])
    consumer.close()
    return {str(at.partition): [[0, end]] for at, end in ends.items()}


@contextmanager
def paced(topic: str) -> Iterator[None]:
    """More and more of them, as long as this lasts."""
    known = facts()
    events = Paced(known["brokers"], topic, 200, first=known["records"][topic]).start()
    try:
        yield
    finally:
        _count(topic, events.stop().count)


def _count(topic: str, count: int) -> None:
    known = facts()
    known["records"][topic] += count
    FACTS.write_text(json.dumps(known), "utf-8")


# -- Spark


def spark(*, kafka: bool = False, delta: bool = False) -> SparkSession:
    """As a reader of the page would have it: with Delta, or with Spark's Kafka source."""
    if delta:
        from pyspark_zkgroup.delta import session as delta_session

        found = delta_session("page", print)
    else:
        from pyspark.sql import SparkSession

        quiet = "spark.ui.showConsoleProgress", "false"
        builder = SparkSession.builder.appName("page").config(*quiet)
        if kafka:
            from zkgroup_sandbox.kafka_source_jars import kafka_source_jars

            jars = kafka_source_jars(print)
            builder = builder.config("spark.jars", ",".join(map(str, jars)))
        found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def orders(spark: SparkSession, **options: str) -> DataFrame:
    """The stream of the README's first block, from the topics' beginnings."""
    given = {
        "zookeeper.connect": facts()["zookeeper"],
        "group.id": GROUP,
        "subscribe": ",".join(TOPICS),
        "startingOffsets": "earliest",
        **options,
    }
    return spark.readStream.format("zkgroup").options(**given).load()


def read(stream: DataFrame, checkpoint: str) -> int:
    """How many rows it has now."""
    query = (
        stream.writeStream.format("memory")
        .queryName("rows")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return stream.sparkSession.table("rows").count()


def stop(query: StreamingQuery) -> None:
    import pyspark_zkgroup

    assert pyspark_zkgroup.stop(query)


# -- servers


def open_servers(box: str) -> None:
    sandbox = Sandbox.attach(box)
    registry = sandbox.status().schema_registry_url
    _fill(sandbox, zookeeper=sandbox.kafka_zookeeper_connect, registry=registry)


def secured_servers(box: str) -> None:
    """Needs the package cryptography, so .venv. Who may come in is named in docs/security.md."""
    from zkgroup_sandbox import access

    sandbox = Sandbox(box, secured=True, detached=True).start()
    (zookeeper,), (broker,) = sandbox.zookeepers, sandbox.brokers
    _fill(
        sandbox,
        zookeeper=sandbox.kafka_zookeeper_connect,
        zookeeper_tls=f"{zookeeper.secure_address}/kafka",
        certificates=str(sandbox.directory / "certificates"),
    )
    access.add_user(broker, "alice", "alice-of-the-pages")
    for topic in TOPICS:
        access.allow(broker, "User:alice", topic, ["READ", "DESCRIBE"])


def _fill(sandbox: Sandbox, **places: str) -> None:
    for topic in TOPICS:
        sandbox.create_topic(topic, PARTITIONS)
    known = {**places, "brokers": sandbox.bootstrap_servers, "records": dict.fromkeys(TOPICS, 0)}
    FACTS.write_text(json.dumps(known), "utf-8")
    for topic in TOPICS:
        produce(topic, RECORDS)


def forget() -> None:
    with session(facts()["zookeeper"]) as client:
        path = f"/consumers/{GROUP}"
        wait_for(
            lambda: not client.exists(f"{path}/ids") or not client.get_children(f"{path}/ids"),
            "the members of the last scene to go",
        )
        if client.exists(path):
            client.delete(path, recursive=True)
    admin = KafkaAdminClient(bootstrap_servers=facts()["brokers"])
    # A group of the same name may have offsets at the brokers: of a member of protocol=kafka, or
    # copied there from ZooKeeper. The next scene would not begin at the topics' beginnings.
    gone = {"OK", "GroupIdNotFoundError"}
    wait_for(
        lambda: admin.delete_groups([GROUP])[GROUP] in gone,
        "the brokers to delete the last scene's group",
    )
    admin.close()


if __name__ == "__main__":
    tasks: dict[str, Callable[..., None]] = {
        "open": open_servers,
        "secured": secured_servers,
        "forget": forget,
    }
    tasks[sys.argv[1]](*sys.argv[2:])
