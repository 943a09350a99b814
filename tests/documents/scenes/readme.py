"""The blocks of README."""

from __future__ import annotations

from tests.documents.pages import ALL_IN_DELTA, README
from tests.documents.steps import Printed, Scene

README_SCENES = (
    Scene(
        "the quick start with KRaft",
        (
            Printed(
                README,
                "# KRaft: the brokers coordinate the group",
                given="spark = story.spark()",
                proof="""\
def rows() -> int:
    return sum(one["numInputRows"] for one in query.recentProgress)


with story.paced("orders"):
    story.wait_for(lambda: rows() > 0, "rows", query)
    story.stop(query)
print("rows:", rows())""",
            ),
        ),
    ),
    Scene(
        "the quick start with ZooKeeper",
        (
            Printed(
                README,
                "# ZooKeeper: stores the group, in the format of Kafka's old consumers",
                given="spark = story.spark()",
                proof="""\
checkpoint = story.data("checkpoints/billing-1")
with story.paced("orders"):
    writer = orders.writeStream.format("memory").queryName("rows")
    query = writer.option("checkpointLocation", checkpoint).start()
    story.wait_for(lambda: spark.table("rows").count() > 0, "rows", query)
    story.stop(query)
print("rows:", spark.table("rows").count())""",
            ),
        ),
    ),
    Scene(
        "the writer of the README",
        (
            Printed(
                README,
                "from pyspark_zkgroup import delta",
                proof=f"""\
{ALL_IN_DELTA}
found = spark.read.format("delta").load(table).select("value.amount").dropna()
story.expect(found.count(), story.records())""",
            ),
        ),
    ),
)
