"""Reads the same ranges through Spark's own Kafka source and through zkgroup, and compares them.

    python jobs/compare.py --zookeeper zk1:2181/kafka --subscribe orders \
        --starting-timestamp 2026-03-01T00:00:00+00:00

    spark-submit --jars "$(python -m zkgroup_sandbox.kafka_source_jars)" jobs/compare.py ...

Ranges are looked up once, and given to both as offsets. For each partition both count the rows, and
add up a SHA-256 of every row: key, value, headers, offset, timestamp and its type. Where these
differ, the rows of the partition are compared one by one, and the first differences are shown. The
job joins no group and writes nothing.

Options given by --option are those of zkgroup; the ones that begin with kafka., and failOnDataLoss,
go to Spark's source as well.

Exit status: 0 when all rows are equal; 1 when some differ, there was nothing to compare, or it
failed; 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jobs import ranges
from pyspark_zkgroup.jobs.arguments import (
    add_ranges,
    add_servers,
    add_topics,
    checked,
    count,
    job_parser,
    reader_options,
)
from pyspark_zkgroup.jobs.outcome import Job

SHOWN = 10
TEXT_SHOWN_MAX = 300
JOB = Job("compare")
Sums = Mapping[tuple[str, int], tuple[Any, ...]]


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    return JOB.status(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    options = reader_options(arguments, "batch")
    wanted, brokers = ranges.looked_up(options)
    if not wanted:
        JOB.say("there is nothing to compare: the ranges hold no offsets")
        return 1
    spark = _session()
    JOB.say(f"{ranges.size(wanted)} offsets of {len(wanted)} partitions")
    common = {**ranges.reading(wanted), "includeHeaders": "true"}
    ours = spark.read.format("zkgroup").options(**ranges.without_ranges(options), **common).load()
    shared = {
        name: value
        for name, value in options.items()
        if name.lower().startswith("kafka.") or name.lower() == "failondataloss"
        if name.lower() != "kafka.group.id"
    }
    theirs = (
        spark.read.format("kafka")
        .options(**{"kafka.bootstrap.servers": brokers, **shared, **common})
        .load()
    )
    if arguments.change_one_row:
        ours = _changed(ours, wanted)
    by_ours, by_theirs = _timed_sums("zkgroup", ours), _timed_sums("Spark's Kafka source", theirs)
    differing = sorted(p for p in {*by_ours, *by_theirs} if by_ours.get(p) != by_theirs.get(p))
    for topic, partition in differing:
        rows = (_rows(sums, (topic, partition)) for sums in (by_ours, by_theirs))
        JOB.say("{}-{} differs: {} rows of zkgroup, {} of Spark's".format(topic, partition, *rows))
    for line in _first_differences(ours, theirs, differing, arguments.show) if differing else ():
        JOB.say(line)
    spark.stop()
    if differing:
        JOB.say(f"{len(differing)} of {len(wanted)} partitions differ")
        return 1
    compared = sum(_rows(by_theirs, p) for p in by_theirs)
    JOB.say(f"all {compared} rows of {len(wanted)} partitions are equal")
    return 0


def _canonical(columns: Sequence[str]) -> Column:
    """Return a row as one text, in which null and an empty value differ in every position."""
    binary = {"key": f.base64("key"), "value": f.base64("value")}
    found = [binary.get(name, f.col(name)).alias(name) for name in columns]
    found.append(f.unix_micros("timestamp").alias("timestamp"))
    headers = f.transform(
        "headers",
        lambda h: f.struct(h["key"].alias("key"), f.base64(h["value"]).alias("value")),
    )
    found.append(headers.alias("headers"))
    return f.to_json(f.struct(*found), {"ignoreNullFields": "false"})


def _rows_as_text(frame: DataFrame) -> DataFrame:
    columns = ("topic", "partition", "offset", "key", "value", "timestampType")
    return frame.select("topic", "partition", "offset", _canonical(columns).alias("row"))


def _timed_sums(name: str, frame: DataFrame) -> Sums:
    """Of each partition: rows, lowest and highest offset, and the sum of 120 bits of the hashes."""
    began = time.monotonic()
    digest = f.sha2("row", 256)

    def part(start: int) -> Column:
        bits = f.conv(f.substring(digest, start, 15), 16, 10).cast("decimal(38,0)")
        return f.sum(bits)

    grouped = (
        _rows_as_text(frame)
        .groupBy("topic", "partition")
        .agg(f.count("row"), f.min("offset"), f.max("offset"), part(1), part(16))
    )
    found = {(row[0], row[1]): tuple(row[2:]) for row in grouped.collect()}
    rows = sum(_rows(found, p) for p in found)
    JOB.say(f"{name}: {rows} rows in {time.monotonic() - began:.1f} s")
    return found


def _rows(sums: Sums, partition: tuple[str, int]) -> int:
    return int(sums[partition][0]) if partition in sums else 0


def _first_differences(
    ours: DataFrame, theirs: DataFrame, differing: Sequence[tuple[str, int]], most: int
) -> list[str]:
    """As often as one of the two has a row and the other has not, so a doubled one is seen too."""
    where = f.struct("topic", "partition").isin(
        [f.struct(f.lit(topic), f.lit(partition)) for topic, partition in differing]
    )
    sides = [
        _rows_as_text(frame.where(where)).withColumn("side", f.lit(side))
        for frame, side in ((ours, 1), (theirs, -1))
    ]
    found = (
        sides[0]
        .union(sides[1])
        .groupBy("topic", "partition", "offset", "row")
        .agg(f.sum("side").alias("more"))
        .where("more != 0")
        .orderBy("topic", "partition", "offset", f.desc("more"))
        .limit(most)
    )
    return [
        f"only in {'zkgroup' if row['more'] > 0 else 'the other'}"
        + (f", {abs(row['more'])} times" if abs(row["more"]) > 1 else "")
        + f": {_shortened(row['row'])}"
        for row in found.collect()
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN_MAX else f"{text[:TEXT_SHOWN_MAX]}..."


def _changed(frame: DataFrame, wanted: ranges.Ranges) -> DataFrame:
    """For the test of this test: the value of the last record of the first partition."""
    first = min(wanted)
    there = (
        (f.col("topic") == first.topic)
        & (f.col("partition") == first.partition)
        & (f.col("offset") == wanted[first].until - 1)
    )
    value = f.when(there, f.lit(b"changed")).otherwise(f.col("value"))
    return frame.withColumn("value", value)


def _session() -> SparkSession:
    """A job run by plain Python gets the jars of Spark's source from the cache of the user."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName("zkgroup compare")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        # A submitted job brings its jars, and may run where the sandbox is not installed.
        from zkgroup_sandbox.kafka_source_jars import kafka_source_jars

        jars = kafka_source_jars(JOB.say)
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    provider: Any = spark._jvm
    if type(provider.org.apache.spark.sql.kafka010.KafkaSourceProvider).__name__ == "JavaPackage":
        spark.stop()
        raise SandboxError.of("no_kafka_source")
    return spark


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = job_parser("compare.py", __doc__, "It joins no group and writes nothing.")
    add_servers(parser)
    add_topics(parser)
    add_ranges(parser)
    parser.add_argument(
        "--show",
        type=count,
        default=SHOWN,
        metavar="N",
        help=f"how many differing rows to show ({SHOWN})",
    )
    parser.add_argument("--change-one-row", action="store_true", help=argparse.SUPPRESS)
    return checked(parser, given, "batch")


if __name__ == "__main__":
    sys.exit(main())
