"""Tables."""

from __future__ import annotations

from tests.documents.pages import ALL_IN_DELTA, DELTA, INGEST, JOBS, STREAM_WITH_DELTA
from tests.documents.steps import NotRun, Printed, Python, Scene, Shell

DELTA_SCENES = (
    Scene(
        "the jobs",
        (
            Printed(
                JOBS,
                "python jobs/drain.py --zookeeper zk1:2181/kafka --group billing "
                "--subscribe orders,payments \\",
            ),
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
                proof=ALL_IN_DELTA,
            ),
            NotRun(INGEST, "query = delta.ingest(", "tests/spark/test_ingest_s3.py writes to S3"),
            NotRun(INGEST, "from deltalake import DeltaTable", "its table is in S3"),
            Printed(JOBS, "python jobs/compact.py --table /data/billing --vacuum-hours 168"),
        ),
        in_clone=True,
    ),
    Scene(
        "the whole writer",
        (
            Printed(
                DELTA,
                "from pyspark_zkgroup import delta",
                given=STREAM_WITH_DELTA,
                proof=ALL_IN_DELTA,
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
                given=f"from pyspark_zkgroup import delta\n\n{STREAM_WITH_DELTA}",
                proof=ALL_IN_DELTA,
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
