"""The command's face: what it prints where, and how it ends. What it prints is tested in golden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.assignment import assignment

GROUP = {
    "assignor": "range",
    "topics": {"b": 1, "a": 11},
    "ids": {"c": {"subscription": {"a": 2, "b": 1}, "pattern": "static"}},
}


def run(content: object, *options: str) -> Result:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return CliRunner().invoke(assignment, ["--from", "-", *options], input=data)


def test_json_has_only_the_owners_in_order() -> None:
    result = run({**GROUP, "note": "other keys are passed over"}, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    owners = json.loads(result.stdout)
    assert list(owners) == ["owners"]
    assert list(owners["owners"]) == ["a", "b"]
    assert list(owners["owners"]["a"]) == [str(number) for number in range(11)]


def test_a_group_that_fails_has_no_owners_and_says_why() -> None:
    result = run({**GROUP, "ids": {"bad": "garbage"}}, "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"owners": {}})
    assert "every member fails to rebalance: the registration of bad" in result.stderr


def test_the_table_names_topic_partition_and_thread() -> None:
    result = run(GROUP)
    assert result.exit_code == 0
    assert "range of 1.1.1, 1 member" in result.stdout
    assert "c-1" in result.stdout


def test_no_member_no_owner() -> None:
    result = run({**GROUP, "ids": {}}, "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"owners": {}})


def test_a_strategy_of_old_that_means_range_is_remarked() -> None:
    result = run({**GROUP, "assignor": "sticky", "version": "0.8.2.2"}, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["owners"]
    assert "consumers of 0.8.2.2 take 'sticky' for range" in result.stderr


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"garbage", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"assignor": NaN}', "NaN"),
        ([], "an object"),
        ({"topics": {}, "ids": {}}, '"assignor"'),
        ({"assignor": "range", "ids": {}}, '"topics"'),
        ({"assignor": "range", "topics": {}}, '"ids"'),
        ({**GROUP, "assignor": 1}, '"assignor"'),
        ({**GROUP, "assignor": "sticky"}, "sticky"),
        ({**GROUP, "version": "2.0.0"}, "2.0.0"),
        ({**GROUP, "version": 1.1}, '"version"'),
        ({**GROUP, "exclude_internal_topics": "yes"}, '"exclude_internal_topics"'),
        ({**GROUP, "topics": ["a"]}, '"topics"'),
        ({**GROUP, "topics": {"a": -1}}, "'a'"),
        ({**GROUP, "topics": {"a": True}}, "'a'"),
        ({**GROUP, "topics": {"a": 1.0}}, "'a'"),
        ({**GROUP, "topics": {"a": 10**9}}, "'a'"),
        ({**GROUP, "topics": {"a b": 1}}, "a b"),
        ({**GROUP, "ids": ["c"]}, '"ids"'),
        ({**GROUP, "ids": {"": {}}}, '"ids"'),
        ({**GROUP, "ids": {"a/b": {}}}, "a/b"),
        (
            {**GROUP, "ids": {"c": {"subscription": {r"(a)*\1": 1}, "pattern": "white_list"}}},
            "is not supported",
        ),
    ],
)
def test_a_bad_file_is_one_clear_error(content: object, named: str) -> None:
    result = run(content, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert named in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--group", "g"],
        ["--zookeeper", "h:1"],
        ["--from", "nowhere.json"],
        ["--from", "-", "--group", "g"],
        ["--from", "-", "--assignor", "range"],
        ["--from", "-", "--include-internal-topics"],
        ["--zookeeper", "h:1", "--group", "g", "--version", "9"],
        ["--zookeeper", "h:1", "--group", "a/b"],
        ["--zookeeper", "h:1", "--group", "g", "--assignor", "sticky"],
        ["--zookeeper", "h:1", "--group", "g", "--assignor", "sticky", "--version", "1.1.1"],
        ["--zookeeper", "h:1", "--group", "g", "--partitions", "orders"],
        ["--zookeeper", "h:1", "--group", "g", "--partitions", "orders=-1"],
        ["--zookeeper", "h:1", "--group", "g", "--partitions", "orders=9999999"],
        ["--zookeeper", "h:1", "--group", "g", "--with", "a/b"],
        ["--from", "-", "--with", "x"],
        ["--from", "-", "--partitions", "orders=3"],
    ],
)
def test_options_that_do_not_go_together(options: list[str]) -> None:
    result = CliRunner().invoke(assignment, options, input=b"{}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


def test_zookeeper_from_the_environment_does_not_go_against_a_file() -> None:
    words, data = ["--from", "-"], json.dumps(GROUP).encode()
    there = {"ZKGROUP_ZOOKEEPER": "h:1"}
    assert CliRunner().invoke(assignment, words, input=data, env=there).exit_code == 0


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "group.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(GROUP).encode())
    result = CliRunner().invoke(assignment, ["--from", str(file), "--json"])
    assert result.exit_code == 0


def test_a_file_with_a_consumer_twice_is_refused() -> None:
    text = '{"assignor": "range", "topics": {"t": 1}, "ids": {"c": {}, "c": {}}}'
    result = CliRunner().invoke(assignment, ["--from", "-"], input=text)
    assert result.exit_code == 2
    assert "the file has 'c' more than once" in result.stderr
