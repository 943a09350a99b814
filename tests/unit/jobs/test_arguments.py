"""The arguments of all jobs: errors are reported before Spark is started, with status 2."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from pyspark_zkgroup.jobs.arguments import reader_options, timestamp
from tests.unit.jobs.loading import job

SERVERS = ("--zookeeper", "zk1:2181/kafka", "--subscribe", "orders")
TABLE = ("--table", "/data/t", "--checkpoint", "/data/c")
RIGHT = {
    "drain": (*SERVERS, *TABLE, "--group", "g"),
    "stream_to_delta": (*SERVERS, *TABLE, "--group", "g"),
    "backfill": (*SERVERS, *TABLE),
    "compare": SERVERS,
}
STREAMS = ("drain", "stream_to_delta")
BATCHES = ("backfill", "compare")


@pytest.mark.parametrize("name", RIGHT)
def test_help_names_every_argument_that_is_wanted(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        job(name).main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for argument in (a for a in RIGHT[name] if a.startswith("--")):
        assert f"{argument} " in shown


@pytest.mark.parametrize("name", RIGHT)
def test_right_arguments_are_taken(name: str) -> None:
    module = job(name)
    arguments = module._arguments([*RIGHT[name], "--option", "kafka.client.rack=a"])
    found = reader_options(arguments, "stream" if name in STREAMS else "batch")
    assert found["zookeeper.connect"] == "zk1:2181/kafka"
    assert found["kafka.client.rack"] == "a"


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    ("checkpoint", "seen"),
    [
        ("/data/c", "/data/c"),
        ("file:/data/c", "file:/data/c"),
        # Spark opens these and Python cannot: the reader is shown none, and the job runs.
        ("hdfs://nn/c", None),
        ("s3a://lake/c", None),
        ("abfss://lake@a.b/c", None),
    ],
)
def test_the_reader_is_shown_a_checkpoint_that_it_can_open(
    name: str, checkpoint: str, seen: str | None
) -> None:
    given = [*SERVERS, "--table", "/data/t", "--checkpoint", checkpoint, "--group", "g"]
    arguments = job(name)._arguments(given)
    assert reader_options(arguments, "stream").get("checkpointLocation") == seen


EVERYWHERE = [
    (["--option", "trheads=2"], "[ZKG-001] Option 'trheads'"),
    (["--option", "threads"], "'threads' is not NAME=VALUE"),
    (["--threads", "0"], "[ZKG-001] Option 'threads' is '0'"),
    (["--subscribe-pattern", "a.*"], "not allowed with argument --subscribe"),
    (["--tab", "x"], " --tab "),
]
STREAMED = [
    (["--group", "a/b"], "[ZKG-001] Option 'group.id' is 'a/b'"),
    (["--follow", "-1"], "'-1' is not a number of seconds"),
    (["--max-offsets", "0"], "'0' is not a whole number from 1 on"),
    (["--option", "endingOffsets=latest"], "a stream has no end"),
]
RANGED = [
    (["--starting-timestamp", "2026-03-01"], "'2026-03-01' is neither milliseconds since 1970"),
    (
        ["--starting-timestamp", "1", "--starting-offsets", "earliest"],
        "not allowed with argument --starting-timestamp",
    ),
    (["--starting-offsets", "latest"], "a batch read that starts at latest reads nothing"),
    (["--ending-offsets", '{"payments": {"0": 1}}'], "[ZKG-001] Option 'endingOffsets'"),
    (["--option", "member.id=a"], "a batch read joins no group"),
]
WRONG = [
    *((name, *case) for name in RIGHT for case in EVERYWHERE),
    *((name, *case) for name in STREAMS for case in STREAMED),
    *((name, *case) for name in BATCHES for case in RANGED),
    ("stream_to_delta", ["--available-now", "--follow", "1"], "not allowed with argument"),
    ("compare", ["--show", "none"], "'none' is not a whole number"),
]


@pytest.mark.parametrize(("name", "arguments", "told"), WRONG)
def test_wrong_usage(
    name: str, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module: Any = job(name)
    module._run = lambda _: pytest.fail("it is taken: Spark would be started now")
    with pytest.raises(SystemExit) as ended:
        module.main([*RIGHT[name], *arguments])
    assert ended.value.code == 2
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_missing_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    without_servers = [a for a in RIGHT[name] if a not in SERVERS[:2]]
    for arguments, told in (
        ([], "required: " if name != "compare" else "is required"),
        (without_servers, "Option 'kafka.bootstrap.servers' (or 'zookeeper.connect') is missing"),
    ):
        with pytest.raises(SystemExit) as ended:
            job(name).main(arguments)
        assert ended.value.code == 2
        assert told in " ".join(capsys.readouterr().err.split())


def test_one_argument_has_one_meaning_in_all_jobs() -> None:
    """The same kind of value, and the same placeholder."""
    known: dict[str, tuple[str, object, object]] = {}
    for name in RIGHT:
        # Whether it is right is not looked at: only what the parser knows.
        made: list[argparse.ArgumentParser] = []
        module: Any = job(name)
        module.checked = lambda parser, *_, made=made: made.append(parser)
        module._arguments([])
        for action in made[0]._actions:
            for option in action.option_strings:
                one = (name, action.type, action.metavar if option != "--starting-offsets" else "")
                first = known.setdefault(option, one)
                assert first[1:] == one[1:], f"{option} of {first[0]} and of {name}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1767225600000", 1767225600000),
        ("2026-01-01T00:00:00+00:00", 1767225600000),
        ("2026-01-01T01:00:00.250+01:00", 1767225600250),
    ],
)
def test_times(text: str, found: int) -> None:
    assert timestamp(text) == found


@pytest.mark.parametrize("text", ["", "now", "2026-01-01T00:00:00", "-1", "1.5"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="neither milliseconds"):
        timestamp(text)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(("given", "through_spark"), [([], False), (["--through-spark"], True)])
def test_tasks_write_the_files_unless_spark_is_to(
    name: str, given: list[str], through_spark: bool
) -> None:
    assert job(name)._arguments([*RIGHT[name], *given]).through_spark is through_spark
    assert job(name)._arguments([*RIGHT[name], "--direct"]).through_spark is False


@pytest.mark.parametrize("name", [*RIGHT, "compact"])
def test_a_misspelt_argument_is_named_before_the_one_that_is_missing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    misspelt = "--tabel" if name in (*STREAMS, "compact", "backfill") else "--subscrib"
    with pytest.raises(SystemExit) as ended:
        job(name).main([misspelt, "x"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"there is no argument {misspelt} (similar names: --" in said
