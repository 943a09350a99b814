"""Stopping, security and deployment."""

from __future__ import annotations

from tests.documents.pages import (
    CLUSTER,
    COORDINATOR,
    LOSS,
    READS,
    SECURITY,
    STOP,
    SUBMIT,
    TRIED_THERE,
)
from tests.documents.steps import NotRun, Printed, Scene, Shell

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
            Printed(
                STOP,
                "zkgroup offsets reset billing --topic orders --to-time 2026-11-23T02:08:20Z \\",
            ),
            Printed(
                STOP,
                "zkgroup offsets import billing undo.json --zookeeper zk1:2181/kafka --execute",
            ),
            Printed(
                LOSS,
                "zkgroup offsets reset billing --topic payments:1 --to-earliest "
                "--zookeeper zk1:2181/kafka",
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
                proof=READS.format(stream="orders"),
            ),
            Printed(
                SECURITY,
                "# TLS to ZooKeeper, and a certificate of ours",
                given="spark = story.spark()",
                proof=READS.format(stream="orders"),
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
                "billing.py is the reader's program; the block of jobs.md submits one of ours",
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
                "tests/packages builds the wheels",
            ),
            NotRun(
                CLUSTER, "export DELTA_JARS=$(python -m pyspark_zkgroup.delta.jars)", TRIED_THERE
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
)

# Last: what takes longest.
