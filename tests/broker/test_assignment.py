"""`zkgroup assignment` on a live group: the nodes are real, the members need not be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.group.paths import GroupPaths, topic_path
from tests.harness.group import Group, settle
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.sessions import session

GOLDEN = Path(__file__).parents[1] / "golden" / "assignments"


def assignment(connect: str, *options: str) -> Result:
    words = ["assignment", "--zookeeper", connect, "--group", "g", *options]
    return CliRunner().invoke(main, words)


@pytest.fixture
def laid_out(zookeeper: Sandbox, chroot: str) -> str:
    """The topics and registrations of a golden file, and one owner node."""
    golden = json.loads((GOLDEN / "multi_static_2x2_roundrobin_1.1.1.json").read_text())
    connect = zookeeper.zookeeper_connect + chroot
    paths = GroupPaths("g")
    nodes = {topic_path(topic): _topic(count) for topic, count in golden["topics"].items()}
    nodes |= {paths.id(consumer): text for consumer, text in golden["ids_raw"].items()}
    nodes[f"{paths.owner_topic('a3')}/0"] = "stranger-0"
    with session(connect) as client:
        for path, text in nodes.items():
            client.create(path, text.encode(), makepath=True)
    return connect


def _topic(partitions: int) -> str:
    return json.dumps({"version": 1, "partitions": {str(n): [1] for n in range(partitions)}})


@pytest.mark.parametrize(
    ("options", "file"),
    [
        (["--assignor", "roundrobin"], "multi_static_2x2_roundrobin_1.1.1.json"),
        (["--version", "1.0.2"], None),
    ],
)
def test_it_says_what_members_would_own(
    laid_out: str, options: list[str], file: str | None
) -> None:
    result = assignment(laid_out, *options, "--json")
    assert result.exit_code == 0
    owners = json.loads(result.stdout)["owners"]
    if file is not None:
        assert owners == json.loads((GOLDEN / file).read_text())["owners"]
    assert sum(map(len, owners.values())) == 16


def test_the_table_also_has_the_present_owners(laid_out: str) -> None:
    result = assignment(laid_out)
    assert result.exit_code == 0
    assert "is owned by" in result.stdout
    assert "stranger-0" in result.stdout


def test_what_a_new_member_would_own_is_what_it_owns_when_it_comes(group: Group) -> None:
    topic = group.topic(5)
    group.produce(topic, 10)
    first = group.query(topic, member_id="one")
    settle(first)
    asked = ("--group", group.name, "--zookeeper", group._connect())
    without = CliRunner().invoke(main, ["assignment", *asked, "--with", "two"])
    told = CliRunner().invoke(main, ["assignment", *asked, "--with", "two", "--json"])
    assert (told.exit_code, without.exit_code) == (0, 0), told.output
    assert "2 of 5 owned partitions would go to another member" in without.stdout
    assert f"{group.name}_two: as {group.name}_one, with its topics and threads" in told.stderr
    second = group.query(topic, member_id="two")
    settle(first, second)
    expected = json.loads(told.stdout)["owners"][topic]
    assert {str(number): text for number, text in group.owners(topic).items()} == expected
    gone = CliRunner().invoke(main, ["assignment", *asked, "--without", "one", "--json"])
    left = json.loads(gone.stdout)["owners"][topic].values()
    assert {thread.rpartition("-")[0] for thread in left} == {f"{group.name}_two"}
    nobody = CliRunner().invoke(main, ["assignment", *asked, "--without", "three"])
    assert nobody.exit_code == 1
    assert f"Name one of: {group.name}_one, {group.name}_two" in nobody.stderr


def test_a_group_that_is_not_there_is_refused(zookeeper: Sandbox, chroot: str) -> None:
    result = assignment(zookeeper.zookeeper_connect + chroot, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "There is no group 'g'" in result.stderr
