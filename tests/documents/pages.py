"""The pages, and what several scenes say or wait for."""

from __future__ import annotations

README, CONTRIBUTING = "README.md", "CONTRIBUTING.md"
BATCHES, DELTA = "docs/batch-reads.md", "docs/delta.md"
INGEST = "docs/delta-ingest.md"
FROM_SPARK, FROM_UTILS = "docs/from-spark-kafka.md", "docs/from-kafkautils.md"
SECURITY, CLUSTER = "docs/security.md", "docs/cluster.md"
COORDINATOR, STOP = "docs/security-coordinator.md", "docs/stop.md"
JOBS, SUBMIT = "docs/jobs.md", "docs/spark-submit.md"
LOSS, IN_KAFKA = "docs/data-loss.md", "docs/offsets-in-kafka.md"
FIRST, TWO, ONCE = "docs/first-query.md", "docs/two-members.md", "docs/exactly-once.md"
TYPED = "docs/typed-columns.md"
UNTIL_ENDED = "runs until it is ended: the scene runs it while the next steps run"
SHARED = (
    "python jobs/stream_to_delta.py --bootstrap-servers broker1:9092 --group shared "
    "--subscribe tutorial --table /data/shared --checkpoint /data/checkpoints/shared"
)
TRIED_THERE = "tried with two workers by tests/packages/test_cluster.py"

# A page's next command is for a group with a member: a drained member is listed as well.
HAS_MEMBER, HAS_KAFKA_MEMBER = (
    f"until zkgroup members list billing {place} --json "
    """| grep -q '"state": "member"'; do sleep 1; done"""
    for place in ("--zookeeper zk1:2181/kafka", "--bootstrap-servers broker1:9092")
)
HAS_ONE_MEMBER, HAS_TWO_MEMBERS = (
    "until zkgroup describe shared --bootstrap-servers broker1:9092 --json "
    """| python -c 'import json, sys; sys.exit(len(json.load(sys.stdin)["members"]) != """
    f"{count})'; do sleep 1; done"
    for count in (1, 2)
)
# How scenes see that rows came. The fixed part of it is in story.py.
ALL_IN_DELTA = """\
table = story.data("billing")
(query,) = spark.streams.active
story.wait_for(
    lambda: spark.read.format("delta").load(table).count() >= story.records(), "all rows", query
)
story.stop(query)
story.expect(spark.read.format("delta").load(table).count(), story.records())"""
STREAM_WITH_DELTA = "spark = story.spark(delta=True)\norders = story.orders(spark)"
READS = """\
with story.paced("orders"):
    query = {stream}.writeStream.format("memory").queryName("rows").start()
    story.wait_for(lambda: spark.table("rows").count() > 0, "rows", query)
    story.stop(query)
print("rows:", spark.table("rows").count())"""

EACH_ONCE = """\
story.expect(table.select("topic", "partition", "offset").distinct().count(), rows)
assert rows > 0"""
