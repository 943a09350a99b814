"""Each block of the pages, and how it is run: as it is printed, in a story that makes sense of it.

A block is named by its page and its first line. One that is in no scene fails a test, so does a
scene whose block is gone.
"""

from __future__ import annotations

from tests.documents.steps import NotRun, Printed, Python, Scene, Shell

README, CONTRIBUTING = "README.md", "CONTRIBUTING.md"
BATCHES, DELTA = "docs/batch-reads.md", "docs/delta.md"
INGEST = "docs/delta-ingest.md"
FROM_SPARK, FROM_UTILS = "docs/from-spark-kafka.md", "docs/from-kafkautils.md"
SECURITY, CLUSTER = "docs/security.md", "docs/cluster.md"
COORDINATOR, STOP = "docs/security-coordinator.md", "docs/stop.md"
JOBS, SUBMIT = "docs/jobs.md", "docs/spark-submit.md"
DRAIN = (
    "python jobs/drain.py --zookeeper zk1:2181/kafka --group billing --subscribe orders,payments \\"
)
FIRST, TWO, ONCE = "docs/first-query.md", "docs/two-members.md", "docs/exactly-once.md"
TYPED = "docs/typed-columns.md"
UNTIL_ENDED = "runs until it is ended: the scene runs it while the next steps run"
SHARED = (
    "python jobs/stream_to_delta.py --bootstrap-servers broker1:9092 --group shared "
    "--subscribe tutorial --table /data/shared --checkpoint /data/checkpoints/shared"
)
TRIED_THERE = "tried with two workers by tests/packages/test_cluster.py"

# A page's next command is for a group with a member: a drained member is listed as well.
HAS_MEMBER = (
    "until zkgroup members list billing --zookeeper zk1:2181/kafka --json "
    """| grep -q '"state": "member"'; do sleep 1; done"""
)
HAS_ONE_MEMBER, HAS_TWO_MEMBERS = (
    "until zkgroup describe shared --bootstrap-servers broker1:9092 --json "
    """| python -c 'import json, sys; sys.exit(len(json.load(sys.stdin)["members"]) != """
    f"{count})'; do sleep 1; done"
    for count in (1, 2)
)
# How scenes see that rows came. The fixed part of it is in story.py.
_ALL_IN_DELTA = """\
table = story.data("billing")
(query,) = spark.streams.active
story.wait_for(
    lambda: spark.read.format("delta").load(table).count() >= story.records(), "all rows", query
)
story.stop(query)
story.expect(spark.read.format("delta").load(table).count(), story.records())"""
_STREAM_WITH_DELTA = "spark = story.spark(delta=True)\norders = story.orders(spark)"
_READS = """\
with story.paced("orders"):
    query = {stream}.writeStream.format("memory").queryName("rows").start()
    story.wait_for(lambda: spark.table("rows").count() > 0, "rows", query)
    story.stop(query)
print("rows:", spark.table("rows").count())"""

# First: what the others stand on.
TRY_IT = Scene(
    "try it",
    (
        Printed(
            README,
            "make demo    # starts ZooKeeper, Kafka and Spark; members join, leave and die; "
            "checks every record",
            first_rows=r"in Delta [1-9]",
        ),
    ),
    servers="none",
    in_clone=True,
    by_make=True,
)
INSTALL = Scene(
    "install",
    (
        Printed(README, "python -m pip install '.[spark,delta]'    # about a minute"),
        Shell("zkgroup --version"),
    ),
    servers="none",
    in_clone=True,
)

_EACH_ONCE = """\
story.expect(table.select("topic", "partition", "offset").distinct().count(), rows)
assert rows > 0"""

README_SCENES = (
    *(
        Scene(
            f"the quick start {name}",
            (
                Printed(
                    README,
                    opening,
                    given="spark = story.spark()",
                    proof="""\
with story.paced("orders"):
    story.wait_for(lambda: spark.table("billing_events").count() > 0, "rows", query)
    story.stop(query)
print("rows:", spark.table("billing_events").count())""",
                ),
            ),
        )
        for name, opening in {
            "with KRaft": "# KRaft: the brokers coordinate the group",
            "with ZooKeeper": "# ZooKeeper: the group uses the nodes of the old consumers",
        }.items()
    ),
    Scene(
        "the writer of the README",
        (
            Printed(
                README,
                "from pyspark_zkgroup import delta",
                given=_STREAM_WITH_DELTA,
                proof=_ALL_IN_DELTA,
            ),
        ),
    ),
    Scene(
        "the jobs of the README",
        (
            Printed(
                README,
                "export PYSPARK_PYTHON=$(which python)    # driver and executors use this Python",
            ),
            Printed(README, DRAIN),
            Printed(JOBS, DRAIN),
            Printed(
                JOBS,
                'spark-submit --jars "$(python -m pyspark_zkgroup.delta.jars)" jobs/drain.py \\',
            ),
            Python(
                'spark = story.spark(delta=True)\ntable = story.data("billing")\n'
                'story.expect(spark.read.format("delta").load(table).count(), story.records())'
            ),
        ),
        in_clone=True,
    ),
)

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
                proof=_READS.format(stream="orders"),
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
                "zkgroup offsets import billing /data/place.json --zookeeper zk1:2181/kafka",
            ),
            Printed(
                FROM_SPARK,
                "events = (",
                given="spark = story.spark()",
                proof='story.expect(story.read(events, story.data("checkpoints/billing-1")), 500)',
            ),
            Shell(
                'python "$CLONE"/jobs/stream_to_delta.py --zookeeper zk1:2181/kafka '
                "--group billing --subscribe orders,payments --table /data/billing "
                "--checkpoint /data/checkpoints/billing-2",
                beside=True,
            ),
            Shell(HAS_MEMBER),
            Printed(FROM_SPARK, "zkgroup stop billing --all --yes --zookeeper zk1:2181/kafka"),
            Python('story.produce("orders", 100)'),
            Printed(
                FROM_SPARK,
                'place = open("place.json").read()',
                given="spark = story.spark(kafka=True)",
                proof='story.expect(story.read(events, story.data("checkpoints/new")), 100)',
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
                "def save_and_note(rdd):",
                # Of Spark 2 only this much of an RDD is needed.
                given="""\
import json
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
            Shell("zkgroup offsets show billing --zookeeper zk1:2181/kafka"),
        ),
    ),
)

DELTA_SCENES = (
    Scene(
        "straight into the table",
        (
            NotRun(
                INGEST,
                "python -m pip install '.[spark,delta,ingest]'    # in a clone of the repository",
                "tests/packages installs the wheels",
            ),
            Shell("python -m pip install --quiet --disable-pip-version-check deltalake"),
            Printed(
                INGEST,
                "from pyspark_zkgroup import delta",
                given="spark = story.spark(delta=True)",
                proof=_ALL_IN_DELTA,
            ),
            Printed(JOBS, "python jobs/compact.py --table /data/billing --vacuum-hours 168"),
        ),
    ),
    Scene(
        "the whole writer",
        (
            Printed(
                DELTA,
                "from pyspark_zkgroup import delta",
                given=_STREAM_WITH_DELTA,
                proof=_ALL_IN_DELTA,
            ),
        ),
    ),
    Scene(
        "in foreachBatch",
        (
            Printed(
                DELTA,
                'append = delta.appender("/data/billing", '
                'checkpointLocation="/data/checkpoints/billing-1")',
                given=f"from pyspark_zkgroup import delta\n\n{_STREAM_WITH_DELTA}",
                proof=_ALL_IN_DELTA,
            ),
        ),
    ),
    Scene(
        "any frame, and a table alone",
        (
            Printed(
                DELTA,
                'rows = delta.append_once(frame, "/data/billing")',
                given="""\
from pyspark_zkgroup import delta

spark = story.spark(delta=True)
given = {"zookeeper.connect": story.facts()["zookeeper"], "subscribe": "orders"}
frame = spark.read.format("zkgroup").options(**given).load()""",
                proof='story.expect(rows, story.records("orders"))',
            ),
            Printed(
                DELTA,
                'with delta.alone(spark, "/data/billing"):',
                given="from pyspark_zkgroup import delta\n\nspark = story.spark(delta=True)",
            ),
        ),
    ),
)

TUTORIAL_SCENES = (
    Scene(
        "the tutorials",
        (
            NotRun(
                FIRST,
                "python -m pip install '.[spark,delta]' ./sandbox    # package and test brokers",
                "the scene `install` has run it, with README's commands",
            ),
            NotRun(FIRST, "# prints the addresses of the servers", "the scene has servers"),
            Printed(FIRST, "from kafka import KafkaProducer"),
            Printed(FIRST, "from pyspark.sql import SparkSession"),
            Printed(FIRST, "zkgroup lag tutorial --bootstrap-servers broker1:9092"),
            NotRun(TWO, "# terminal 1", UNTIL_ENDED),
            Shell(f"{SHARED}-1", beside=True),
            Shell(HAS_ONE_MEMBER),
            Printed(TWO, "zkgroup describe shared --bootstrap-servers broker1:9092"),
            NotRun(TWO, "# terminal 2", UNTIL_ENDED),
            Shell(f"{SHARED}-2", beside=True),
            Shell(HAS_TWO_MEMBERS),
            Printed(
                ONCE,
                "python jobs/stream_to_delta.py --bootstrap-servers broker1:9092 --group once \\",
            ),
            Printed(
                ONCE, "zkgroup offsets reset once --to-earliest --bootstrap-servers broker1:9092"
            ),
            Printed(ONCE, "# reads every record a second time"),
            Printed(ONCE, "from pyspark_zkgroup import delta", proof=_EACH_ONCE),
            Printed(TWO, "from pyspark_zkgroup import delta", proof=_EACH_ONCE),
        ),
        in_clone=True,
    ),
    Scene(
        "typed columns",
        (
            NotRun(TYPED, "# a broker and a registry", "the scene has servers"),
            Printed(TYPED, "import json"),
            Printed(
                TYPED,
                "from pyspark.sql import SparkSession",
                proof="story.expect(good.count(), 1000)\nstory.expect(orders.count(), 1002)",
            ),
            Shell("python -m pip install --quiet --disable-pip-version-check fastavro"),
            Printed(TYPED, "# registers a schema and writes 1,000 records"),
            Printed(
                TYPED,
                "# no .schema(...): the registry has the types",
                proof="story.expect(paid.select('value.id').distinct().count(), 1000)",
            ),
        ),
    ),
)

STOP_SCENES = (
    Scene(
        "stop, and set offsets",
        (
            Printed(
                STOP,
                "import pyspark_zkgroup",
                given="""\
spark = story.spark()
query = (
    story.orders(spark)
    .writeStream.format("memory")
    .queryName("rows")
    .option("checkpointLocation", story.data("checkpoints/billing-1"))
    .start()
)
story.wait_for(lambda: spark.table("rows").count() >= story.records(), "all rows", query)""",
                proof="story.expect(query.isActive, False)",
            ),
            Printed(
                STOP,
                "zkgroup offsets reset billing --to-earliest --zookeeper zk1:2181/kafka"
                "    # shows the change",
            ),
        ),
    ),
)

SECURITY_SCENES = (
    Scene(
        "TLS and logins",
        (
            Printed(
                SECURITY,
                "# TLS to the brokers, and a login",
                given="spark = story.spark()",
                proof=_READS.format(stream="orders"),
            ),
            Printed(
                SECURITY,
                "# TLS to ZooKeeper, and a certificate of ours",
                given="spark = story.spark()",
                proof=_READS.format(stream="orders"),
            ),
            Printed(COORDINATOR, "(umask 077; openssl rand -hex 32 > coordinator.token)"),
            Printed(COORDINATOR, "zookeeper.connect=zk1:2281/kafka"),
            Shell("zkgroup describe billing --config client.properties"),
            Shell("zkgroup doctor --config client.properties --group billing"),
        ),
        servers="secured",
    ),
)

OTHER_SCENES = (
    Scene(
        "as a service",
        (
            NotRun(
                SUBMIT,
                "export PYSPARK_PYTHON=/opt/zkgroup/bin/python"
                "    # driver, planner and tasks use this Python",
                "billing.py is the reader's program; the block of README submits one of ours",
            ),
            NotRun(SUBMIT, "import pyspark_zkgroup", "runs until it is stopped"),
        ),
        servers="none",
    ),
    Scene(
        "on a cluster",
        (
            NotRun(
                CLUSTER,
                "make wheel    # into dist/: the sources, and the wheel made of them",
                "the block of README runs it",
            ),
            NotRun(CLUSTER, "# on every node, and where the driver runs", TRIED_THERE),
            NotRun(CLUSTER, "python -m pip install --no-deps --target zkgroup \\", TRIED_THERE),
            NotRun(CLUSTER, "python3 -m venv environment", TRIED_THERE),
            NotRun(
                CLUSTER,
                "# tasks of a source that was found by its name do not see --py-files",
                TRIED_THERE,
            ),
            NotRun(CLUSTER, "# for the planner, which does not see them either", TRIED_THERE),
        ),
        servers="none",
    ),
    Scene(
        "on Databricks",
        (
            NotRun(
                "docs/databricks.md",
                'password = dbutils.secrets.get("kafka", "password")',
                "needs Databricks: dbutils is there alone",
            ),
        ),
        servers="none",
    ),
)

# Last: what takes longest.
DEVELOPMENT = Scene(
    "before every commit",
    (
        Printed(
            CONTRIBUTING,
            "make quick             # while you work: no server, a minute",
            instead={
                "make check test": "make check",
                "make sim SEEDS=10000": "make sim SEEDS=20",
                "make chaos MINUTES=30": "make chaos MINUTES=3",
                "make fuzz MINUTES=10": "make fuzz MINUTES=1",
            },
            left_out={
                "make test-long": "takes hours",
                "make test-matrix": "takes an hour and downloads four versions of Spark",
                "make try-documents": "is what runs this",
                "make bench": "takes 20 minutes and wants a machine at rest",
                "make exercise": "runs until a person has named the faults",
                ".ci/run": "make check, docs and test once more",
            },
        ),
    ),
    servers="none",
    in_clone=True,
    by_make=True,
)

PAGES = (
    *README_SCENES,
    *TUTORIAL_SCENES,
    *BATCH_SCENES,
    *COMING_SCENES,
    *DELTA_SCENES,
    *STOP_SCENES,
    *SECURITY_SCENES,
    *OTHER_SCENES,
)
