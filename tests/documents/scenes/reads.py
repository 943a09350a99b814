"""Batch reads, and pages for those who come from another source."""

from __future__ import annotations

from tests.documents.pages import (
    BATCHES,
    FROM_SPARK,
    FROM_UTILS,
    HAS_KAFKA_MEMBER,
    IN_KAFKA,
    READS,
)
from tests.documents.steps import NotRun, Printed, Python, Scene, Shell

BATCH_SCENES = (
    Scene(
        "batch reads",
        (
            Printed(
                BATCHES,
                "rows = (",
                given="spark = story.spark()",
                proof='story.expect(rows.count(), story.records("orders"))',
            ),
            Printed(
                BATCHES,
                'spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")',
                given="spark = story.spark()",
                proof="narrow = rows.where('partition = 3 and offset between 1000 and 1999')\n"
                "story.expect(narrow.count(), 1000)",
            ),
            NotRun(
                "docs/formats.md",
                "events = (",
                "its topic has other values; tests/matrix/test_cases.py reads JSON like that",
            ),
            NotRun(
                "docs/avro.md",
                "orders = (",
                "its topic has other values; tests/spark/test_avro_equality.py reads Avro",
            ),
            NotRun(
                "docs/avro.md",
                "payments = (",
                "there is no such registry; tests/spark/test_avro_registry.py reads with one",
            ),
            NotRun(
                "docs/protobuf.md",
                "protoc --include_imports --descriptor_set_out=visit.desc visit.proto",
                "protoc is not installed; tests/harness/compiled_proto.py runs it",
            ),
            NotRun(
                "docs/protobuf.md",
                "visits = (",
                "its topic has other values; tests/matrix/test_cases.py reads Protobuf like that",
            ),
            NotRun(
                "docs/protobuf.md",
                "trips = (",
                "there is no such registry; tests/broker/test_protobuf_registry.py reads with one",
            ),
            NotRun(
                "docs/formats.md",
                "zkgroup peek orders --bootstrap-servers broker1:9092 --format json --count 3",
                "there is no such registry; tests/broker/test_peek.py runs the commands",
            ),
            Printed(
                "docs/options.md",
                "orders = (",
                given="spark = story.spark()",
                proof=READS.format(stream="orders"),
            ),
        ),
    ),
)

COMING_SCENES = (
    Scene(
        "from format(kafka), and back",
        (
            Python(
                """\
spark = story.spark(kafka=True)
old = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", story.facts()["brokers"])
    .option("subscribe", "orders,payments")
    .option("startingOffsets", "earliest")
    .load()
)
story.expect(story.read(old, story.data("checkpoints/old")), story.records())
story.produce("orders", 500)"""
            ),
            Printed(FROM_SPARK, "cd /data/checkpoints/old"),
            Printed(
                FROM_SPARK,
                "zkgroup offsets import billing /data/place.json --bootstrap-servers broker1:9092",
            ),
            Printed(
                FROM_SPARK,
                "events = (",
                given="spark = story.spark()",
                proof='story.expect(story.read(events, story.data("checkpoints/billing-1")), 500)',
            ),
            Shell(
                'python "$CLONE"/jobs/stream_to_delta.py --bootstrap-servers broker1:9092 '
                "--group billing --subscribe orders,payments --table /data/billing "
                "--checkpoint /data/checkpoints/billing-2",
                beside=True,
            ),
            Shell(HAS_KAFKA_MEMBER),
            Printed(
                FROM_SPARK, "zkgroup stop billing --all --yes --bootstrap-servers broker1:9092"
            ),
            Python('story.produce("orders", 100)'),
            Printed(
                FROM_SPARK,
                'place = open("place.json").read()',
                given="spark = story.spark(kafka=True)",
                proof='story.expect(story.read(events, story.data("checkpoints/new")), 100)',
            ),
            Printed(
                FROM_SPARK,
                "zkgroup offsets reset billing --topic orders --to-time 2026-11-23T02:08:20Z \\",
            ),
        ),
    ),
    Scene(
        "from KafkaUtils.createStream",
        (
            NotRun(
                FROM_UTILS,
                "stream = KafkaUtils.createStream(",
                "what was before: Spark 3 took KafkaUtils out",
            ),
            Printed(
                FROM_UTILS,
                "rows = (",
                given="spark = story.spark()\nsaved = []\n\n\n"
                "def save(frame, batch_id):\n    saved.append(frame.count())",
                proof='story.wait_for(lambda: sum(saved) >= story.records(), "all rows", query)\n'
                "story.stop(query)\nstory.expect(sum(saved), story.records())",
            ),
            Printed(
                FROM_UTILS,
                "zkgroup offsets reset billing --to-time 2026-11-23T02:08:20Z "
                "--zookeeper zk1:2181/kafka --execute",
            ),
            Printed(
                FROM_UTILS,
                "zkgroup offsets reset billing --shift-by 1 --zookeeper zk1:2181/kafka"
                "              # shows",
            ),
        ),
    ),
    Scene(
        "from KafkaUtils.createDirectStream",
        (
            Printed(
                FROM_UTILS,
                "import json",
                # Of Spark 2 only this much of an RDD is needed.
                given="""\
from types import SimpleNamespace

done = SimpleNamespace(topic="orders", partition=0, untilOffset=1200)
rdd = SimpleNamespace(offsetRanges=lambda: [done])
stream = SimpleNamespace(foreachRDD=lambda function: function(rdd))


def save(rdd):
    print("saved")
""",
            ),
            Shell(
                "zkgroup offsets import billing /data/place.json --zookeeper zk1:2181/kafka "
                "--execute"
            ),
            Shell("zkgroup offsets show billing --zookeeper zk1:2181/kafka"),
        ),
    ),
    Scene(
        "from offsets in Kafka",
        (
            Python(
                """\
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

consumer = KafkaConsumer(bootstrap_servers=story.facts()["brokers"], group_id="billing")
consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(1200, "", -1)})
consumer.close()"""
            ),
            Printed(
                FROM_UTILS,
                "zkgroup offsets export billing --in-kafka --zookeeper zk1:2181/kafka "
                "--to place.json",
            ),
            Printed(
                IN_KAFKA,
                "zkgroup offsets export billing --in-kafka --to in-kafka.json "
                "--zookeeper zk1:2181/kafka",
            ),
            Shell("zkgroup offsets show billing --zookeeper zk1:2181/kafka"),
        ),
    ),
)
