"""What has to work on every version of PySpark and of the brokers, or is known to differ.

`make test-matrix` runs it with each version; on that of .venv it is part of the long tests.
"""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_zkgroup import delta, progress
from pyspark_zkgroup import stop as stop_drained
from pyspark_zkgroup.spark.source import HAS_ADMISSION_CONTROL
from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.matrix.lab import PATIENCE_S, Lab, Sink, records
from tests.matrix.session import HAS_DELTA
from zkgroup_sandbox.produce import produce

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    # Of third parties, in versions that setup.cfg does not know.
    pytest.mark.filterwarnings("default"),
]

COUNT = 100
NOW = {"availableNow": True}
ONCE = {"once": True}
# What Spark before 4.2 does not report, and the option must say.
ENDS = {} if HAS_ADMISSION_CONTROL else {"endsByItself": "true"}
# message Visit { int64 id = 1; string user = 2; Duration took = 3; } and that Duration; by protoc.
VISIT = (
    "CpwBCgp0ZXN0LnByb3RvIjoKCER1cmF0aW9uEhgKB3NlY29uZHMYASABKANSB3NlY29uZHMSFAoFbmFub3MYAiAB"
    "KAVSBW5hbm9zIkoKBVZpc2l0Eg4KAmlkGAEgASgDUgJpZBISCgR1c2VyGAIgASgJUgR1c2VyEh0KBHRvb2sYAyAB"
    "KAsyCS5EdXJhdGlvblIEdG9va2IGcHJvdG8z"
)
GOES_ON = {} if HAS_ADMISSION_CONTROL else {"endsByItself": "false"}


def test_it_is_found_by_its_name_and_names_a_wrong_option(lab: Lab) -> None:
    frame = lab.stream(lab.options(lab.name(), "t", includeHeaders="true"))
    assert frame.columns[:3] == ["key", "value", "topic"]
    with pytest.raises(AnalysisException, match=r"ZKG-001.*'thraeds'.*Did you mean 'threads'"):
        lab.stream({**lab.options(lab.name(), "t"), "thraeds": "4"})


def test_rows_are_what_was_produced(lab: Lab) -> None:
    before = time.time()
    topic, group = lab.topic(count=COUNT), lab.name()
    after = time.time()
    sink = Sink()
    options = lab.options(group, topic, includeHeaders="true")
    lab.run(lab.stream(options), sink, lab.checkpoint(), **NOW)
    for row in sink.rows:
        n = row["offset"] * 4 + row["partition"]
        assert (row["key"], row["value"]) == (b"k%d" % n, b"v%d" % n)
        assert (row["timestampType"], row["headers"]) == (0, None)
        assert before - 1 <= row["timestamp"].timestamp() <= after + 1
    assert lab.verdict(topic, sink).exactly_once


def test_the_schema_names_the_columns(lab: Lab) -> None:
    """In any order; as text a value keeps bytes that are not UTF-8, as in Spark's own cast."""
    topic, sink = lab.topic(1), Sink()
    values = [b"v0", "gr\u00f6\u00dfe".encode(), b"\xff\xed\xa0", b""]
    events = lambda n: (b"k", values[n])  # noqa: E731
    produce(lab.sandbox.bootstrap_servers, topic, len(values), make_event=events)
    options, group = lab.options(lab.name(), topic), lab.name()
    asked = "offset BIGINT, value STRING, topic STRING"
    lab.run(lab.stream(options, asked), sink, lab.checkpoint(), **NOW)
    assert [row["offset"] for row in sink.rows] == [0, 1, 2, 3]
    assert sink.rows[1].asDict() == {"offset": 1, "value": "gr\u00f6\u00dfe", "topic": topic}
    ours = lab.batch(lab.options(group, topic), asked).selectExpr("offset", "hex(value) AS value")
    theirs = lab.batch(lab.options(group, topic)).selectExpr(
        "offset", "hex(cast(value AS STRING)) AS value"
    )
    assert ours.columns == ["offset", "value"]
    assert sorted(ours.collect()) == sorted(theirs.collect())
    refused = (AnalysisException, StreamingQueryException)
    with pytest.raises(refused, match=r"ZKG-001.*'valeu'.*Did you mean 'value'"):
        lab.run(lab.stream(options, "valeu STRING"), Sink(), lab.checkpoint(), **NOW)


def test_values_of_json_become_columns(lab: Lab) -> None:
    topic, group, sink = lab.topic(1), lab.name(), Sink()
    values = [b'{"id":1,"at":"2024-07-01 12:00:00","amount":1.005}', b'{"id":"x"}', b"", b"{"]
    events = lambda n: (b"k", values[n])  # noqa: E731
    produce(lab.sandbox.bootstrap_servers, topic, len(values), make_event=events)
    zone = str(lab.spark.conf.get("spark.sql.session.timeZone"))
    options = lab.options(group, topic, **{"value.format": "json", "json.timeZone": zone})
    kind = "STRUCT<id: BIGINT, at: TIMESTAMP, amount: DECIMAL(12,2)>"
    asked = f"offset BIGINT, value {kind}, corrupt STRUCT<bytes: BINARY, reason: STRING>"
    lab.run(lab.stream(options, asked), sink, lab.checkpoint(), **NOW)
    told = {row["offset"]: row["corrupt"] for row in sink.rows}
    assert [told[n] is None for n in range(4)] == [True, False, True, False]
    assert (told[1]["bytes"], told[3]["bytes"]) == (values[1], values[3])
    assert told[1]["reason"] == "value: id: found a string, expected BIGINT"

    permissive = {**lab.options(lab.name(), topic), "value.format": "json", "json.timeZone": zone}
    ours = lab.batch({**permissive, "bad.records": "permissive"}, f"offset BIGINT, value {kind}")
    theirs = lab.batch(lab.options(lab.name(), topic)).selectExpr(
        "offset", f"from_json(cast(value AS STRING), '{kind}') AS value"
    )
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))
    with pytest.raises(Exception, match=r"ZKG-017.* record at offset [13] of .*-0 is bad: value: "):
        lab.batch(permissive, f"value {kind}").collect()


def test_values_of_avro_become_columns(lab: Lab) -> None:
    topic, group, sink = lab.topic(1), lab.name(), Sink()
    values = [b"\x02\x02\x06ann", b"\x04\x00", b"\x06\x09"]
    events = lambda n: (b"k", values[n])  # noqa: E731
    produce(lab.sandbox.bootstrap_servers, topic, len(values), make_event=events)
    schema = """{"type": "record", "name": "order", "fields": [
        {"name": "id", "type": "long"}, {"name": "user", "type": ["null", "string"]}]}"""
    given = {"value.format": "avro", "value.avro.schema": schema}
    options = lab.options(group, topic, **given)
    kind = "STRUCT<user: STRING, id: BIGINT>"
    asked = f"offset BIGINT, value {kind}, corrupt STRUCT<bytes: BINARY, reason: STRING>"
    lab.run(lab.stream(options, asked), sink, lab.checkpoint(), **NOW)
    rows = sorted(sink.rows, key=lambda row: int(row["offset"]))
    assert [row["value"]["id"] for row in rows] == [1, 2, None]
    assert [row["value"]["user"] for row in rows] == ["ann", None, None]
    assert rows[2]["corrupt"]["reason"] == "value: user: its branch of a union is number -5 of 2"

    permissive = {**lab.options(lab.name(), topic), **given, "bad.records": "permissive"}
    found = lab.batch(permissive)
    assert found.schema["value"].dataType.simpleString() == "struct<id:bigint,user:string>"
    assert [row["value"]["id"] for row in found.orderBy("offset").collect()] == [1, 2, None]


def test_values_of_protobuf_become_columns(lab: Lab) -> None:
    topic, group, sink = lab.topic(1), lab.name(), Sink()
    values = [b"\x08\x01\x12\x03ann\x1a\x02\x08\x05", b"\x08\x02", b"\x08"]
    events = lambda n: (b"k", values[n])  # noqa: E731
    produce(lab.sandbox.bootstrap_servers, topic, len(values), make_event=events)
    given = {
        "value.format": "protobuf",
        "value.protobuf.descriptor": VISIT,
        "value.protobuf.message": "Visit",
    }
    options = lab.options(group, topic, **given)
    kind = "STRUCT<took: INTERVAL DAY TO SECOND, user: STRING, id: BIGINT>"
    asked = f"offset BIGINT, value {kind}, corrupt STRUCT<bytes: BINARY, reason: STRING>"
    lab.run(lab.stream(options, asked), sink, lab.checkpoint(), **NOW)
    rows = sorted(sink.rows, key=lambda row: int(row["offset"]))
    assert [row["value"] and row["value"].asDict() for row in rows] == [
        {"took": timedelta(seconds=5), "user": "ann", "id": 1},
        {"took": None, "user": None, "id": 2},
        None,
    ]
    assert rows[2]["corrupt"]["reason"] == "value: id: a value in it does not end"

    permissive = {**lab.options(lab.name(), topic), **given, "bad.records": "permissive"}
    found = lab.batch(permissive)
    assert found.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,user:string,took:interval day to second>"
    )
    read = [row["value"] for row in found.orderBy("offset").collect()]
    assert [value and value["id"] for value in read] == [1, 2, None]


def test_available_now_with_a_limit_reads_to_the_end(lab: Lab) -> None:
    topic, group, sink = lab.topic(count=COUNT), lab.name(), Sink()
    options = lab.options(group, topic, maxOffsetsPerTrigger="40")
    if not HAS_ADMISSION_CONTROL:
        with pytest.raises((AnalysisException, StreamingQueryException), match="endsByItself="):
            lab.run(lab.stream(options), sink, lab.checkpoint(), **NOW)
        assert sink.batches == {}
    lab.run(lab.stream({**options, **ENDS}), sink, lab.checkpoint(), **NOW)
    assert sink.sizes == ([40, 40, 20] if HAS_ADMISSION_CONTROL else [COUNT])
    assert lab.verdict(topic, sink).exactly_once


def test_once_reads_all_in_one_batch_whatever_the_limit(lab: Lab) -> None:
    topic, group, sink = lab.topic(count=COUNT), lab.name(), Sink()
    options = lab.options(group, topic, maxOffsetsPerTrigger="40", **ENDS)
    lab.run(lab.stream(options), sink, lab.checkpoint(), **ONCE)
    assert sink.sizes == [COUNT]
    assert lab.verdict(topic, sink).exactly_once


def test_what_a_job_has_read_is_committed_when_it_ends(lab: Lab) -> None:
    """With the checkpoint's place, so that the last batch is known to be finished."""
    topic, group, sink = lab.topic(count=COUNT), lab.name(), Sink()
    checkpoint = lab.checkpoint()
    options = lab.options(group, topic, checkpointLocation=checkpoint)
    lab.run(lab.stream(options), sink, checkpoint, **NOW)
    ends = lab.ends(topic)
    wait_until(lambda: lab.offsets(group, topic) == ends, PATIENCE_S, "the last batch's commit")


def test_a_restart_continues_behind_what_is_done(lab: Lab) -> None:
    topic, group, sink = lab.topic(count=COUNT), lab.name(), Sink()
    options, checkpoint = lab.options(group, topic), lab.checkpoint()
    for round_ in range(3):
        lab.run(lab.stream(options), sink, checkpoint, **NOW)
        assert lab.verdict(topic, sink).exactly_once
        lab.produce(topic, COUNT, first=COUNT * (round_ + 1))
    assert sink.sizes == [COUNT] * 3


def test_a_batch_that_failed_comes_again_as_it_was(lab: Lab) -> None:
    topic, group, sink = lab.topic(count=COUNT), lab.name(), Sink()
    options, checkpoint = lab.options(group, topic), lab.checkpoint()
    lab.run(lab.stream(options), sink, checkpoint, **NOW)
    lab.produce(topic, COUNT, first=COUNT)
    sink.fail = True
    with pytest.raises(StreamingQueryException, match="as requested"):
        lab.run(lab.stream(options), sink, checkpoint, **NOW)
    failed = max(sink.batches)
    rows = sink.batches.pop(failed)
    lab.produce(topic, COUNT, first=2 * COUNT)
    lab.run(lab.stream(options), sink, checkpoint, **NOW)
    assert sorted(records(sink.batches[failed])) == sorted(records(rows))
    if not HAS_ADMISSION_CONTROL:
        # Its one batch was the one that had failed.
        assert sink.sizes == [COUNT] * 2
        lab.run(lab.stream(options), sink, checkpoint, **NOW)
    assert lab.verdict(topic, sink).exactly_once


def test_queries_share_the_partitions_and_pass_them_on(lab: Lab) -> None:
    topic, group = lab.topic(count=COUNT), lab.name()
    options = lab.options(group, topic, maxOffsetsPerTrigger="30", **GOES_ON)
    one, two = Sink(), Sink()

    def start(sink: Sink) -> StreamingQuery:
        return lab.start(lab.stream(options), sink, lab.checkpoint(), processingTime="0 seconds")

    def shared(*shares: int) -> None:
        wait_until(lambda: lab.shares(group, topic) == list(shares), PATIENCE_S, f"{shares}")

    def all_read() -> None:
        wait_until(lambda: not lab.verdict(topic, one, two).missing, PATIENCE_S, "all to be read")

    first = start(one)
    all_read()
    assert max(one.sizes) <= 30
    second = start(two)
    shared(2, 2)
    lab.produce(topic, COUNT, first=COUNT)
    all_read()
    assert two.rows
    # The sink has the last batch before Spark has reported its progress.
    wait_until(lambda: not (progress(first) or {"lag": 1})["lag"], PATIENCE_S, "the last progress")
    shown = progress(first)
    assert shown is not None
    assert (shown["group"], shown["held"]) == (group, 2)
    assert (shown["members"], shown["lag"]) == ((2, 0) if HAS_ADMISSION_CONTROL else (None, None))
    assert stop_drained(first)
    shared(4)
    lab.produce(topic, COUNT, first=2 * COUNT)
    all_read()
    assert stop_drained(second)
    assert lab.verdict(topic, one, two).exactly_once
    assert lab.offsets(group, topic) == lab.ends(topic)


def test_two_sources_of_one_group_in_one_query(lab: Lab) -> None:
    """A union: two members of the group, each of which reads what it has subscribed to."""
    left, right, group = lab.topic(count=COUNT), lab.topic(count=COUNT), lab.name()
    limit = {"maxOffsetsPerTrigger": "60", **ENDS}
    sink, checkpoint = Sink(), lab.checkpoint()

    def both() -> DataFrame:
        frames = [lab.stream(lab.options(group, topic, **limit)) for topic in (left, right)]
        return frames[0].union(frames[1])

    lab.run(both(), sink, checkpoint, **NOW)
    # The next time one of them alone has something to read.
    lab.produce(right, COUNT, first=COUNT)
    lab.run(both(), sink, checkpoint, **NOW)
    verdict = judge(lab.acknowledged(left, right), sink.records())
    assert verdict.exactly_once, str(verdict)


def test_two_sources_of_two_groups_joined(lab: Lab) -> None:
    left, right = lab.topic(count=COUNT), lab.topic(2, COUNT)
    one = lab.stream(lab.options(lab.name(), left)).select("key", "topic", "partition", "offset")
    two = lab.stream(lab.options(lab.name(), right)).select("key", col("offset").alias("other"))
    sink = Sink()
    lab.run(one.join(two, "key"), sink, lab.checkpoint(), **NOW)
    assert lab.verdict(left, sink).exactly_once
    assert all(row["other"] == int(row["key"][1:]) // 2 for row in sink.rows)


def test_a_source_joined_with_itself(lab: Lab) -> None:
    """One source, as docs/compared.md has it: both sides come from one select with names of its
    own for all columns. Of others Spark makes two sources, which share the records.
    """
    topic, places = lab.topic(count=COUNT), ["origin", "number", "at"]
    frame = lab.stream(lab.options(lab.name(), topic))
    one = frame.selectExpr(
        "concat(key) as name", "topic as origin", "partition as number", "offset as at"
    )
    joined = one.join(one.withColumnRenamed("name", "again"), places)
    rows = joined.selectExpr(
        "origin as topic", "number as partition", "at as offset", "name", "again"
    )
    sink = Sink()
    lab.run(rows, sink, lab.checkpoint(), **NOW)
    assert lab.verdict(topic, sink).exactly_once
    assert all(row["name"] == row["again"] for row in sink.rows)


def test_a_batch_read_leaves_the_group_alone(lab: Lab) -> None:
    topic, group = lab.topic(count=COUNT), lab.name()
    read = lab.batch(lab.options(group, topic, includeHeaders="true"))
    assert judge(lab.acknowledged(topic), records(read.collect())).exactly_once
    ends = f'{{"{topic}": {{"0": 5, "1": 5, "2": 5, "3": 5}}}}'
    part = lab.batch(lab.options(group, topic, endingOffsets=ends)).collect()
    assert sorted(r["offset"] for r in part) == sorted(list(range(5)) * 4)
    assert lab.shares(group, topic) == []


def test_filters_are_pushed_into_a_batch_read(lab: Lab) -> None:
    topic, group = lab.topic(count=COUNT), lab.name()
    conf = "spark.sql.python.filterPushdown.enabled"
    options = lab.options(group, topic, pushFilters="true")
    if lab.spark.version.startswith("4.0"):
        with pytest.raises(Exception, match="this Spark pushes no filters into Python sources"):
            lab.batch(options).where("offset between 3 and 5").collect()
        pytest.skip("this Spark has none; refused with that reason")
    lab.spark.conf.set(conf, "true")
    try:
        read = lab.batch(options).where("offset between 3 and 5 and partition <> 2")
        rows = read.collect()
    finally:
        lab.spark.conf.unset(conf)
    assert sorted({(r["partition"], r["offset"]) for r in rows}) == [
        (p, o) for p in (0, 1, 3) for o in (3, 4, 5)
    ]
    assert received(read) == len(rows) == 9


def received(frame: DataFrame) -> int:
    """Rows that Python has handed to Spark, before Spark's own filters."""
    leaves: Any = frame._jdf.queryExecution().executedPlan().collectLeaves()
    metrics = [leaves.apply(n).metrics() for n in range(leaves.size())]
    return sum(m.apply("numOutputRows").value() for m in metrics if m.contains("numOutputRows"))


@pytest.mark.skipif(not HAS_DELTA, reason="no Delta for this Spark")
def test_the_delta_writer_holds_each_record_once(lab: Lab, tmp_path: Path) -> None:
    topic, group = lab.topic(count=COUNT), lab.name()
    table = str(tmp_path / "table")
    for round_ in range(2):
        # A new group the second time, so everything is read again.
        frame = lab.stream(lab.options(f"{group}-{round_}", topic))
        writer = delta.writer(frame, table, checkpointLocation=lab.checkpoint())
        lab.finish(writer, **NOW)
    rows = lab.spark.read.format("delta").load(table).collect()
    assert judge(lab.acknowledged(topic), records(rows)).exactly_once


@pytest.mark.skipif(HAS_ADMISSION_CONTROL, reason="this Spark needs no wrapper for available-now")
def test_sparks_wrapper_for_available_now_is_refused(lab: Lab) -> None:
    """It asks twice before a batch has begun, which is no proof that anything was read."""
    topic, group, sink = lab.topic(count=COUNT), lab.name(), Sink()
    conf = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"
    lab.spark.conf.set(conf, "true")
    try:
        with pytest.raises(StreamingQueryException, match="triggerAvailableNowWrapper"):
            lab.run(lab.stream(lab.options(group, topic)), sink, lab.checkpoint(), **NOW)
    finally:
        lab.spark.conf.unset(conf)
    assert sink.batches == {}
    # As it was before the first batch.
    assert set(lab.offsets(group, topic).values()) == {0}
