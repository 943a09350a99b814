"""`zkgroup assignment` gives what real JVM consumers left in ZooKeeper, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.assignment import assignment
from pyspark_zkgroup.group.registration import encode_registration
from pyspark_zkgroup.group.snapshot import read_snapshot
from pyspark_zkgroup.group.target import target

FILES = sorted((Path(__file__).parent / "assignments").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_command_prints_the_owners(file: Path) -> None:
    result = CliRunner().invoke(assignment, ["--from", str(file), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"owners": json.loads(file.read_text())["owners"]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_zkgroup_member_has_the_same_target(file: Path) -> None:
    golden = json.loads(file.read_text())
    if not golden["owners"]:
        pytest.skip("JVM members all failed here; zkgroup members go on")
    ids = {consumer: text.encode() for consumer, text in golden["ids_raw"].items()}
    topics = {topic: tuple(range(count)) for topic, count in golden["topics"].items()}
    order = "new" if golden["version"].startswith("1.") else "old"
    found = target(read_snapshot("g", ids, topics), golden["assignor"], order, True)
    owners: dict[str, dict[str, str]] = {}
    for partition, thread in found.items():
        owners.setdefault(partition.topic, {})[str(partition.partition)] = str(thread)
    assert owners == golden["owners"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_registrations_come_out_byte_for_byte(file: Path) -> None:
    golden = json.loads(file.read_text())
    ids = {consumer: text.encode() for consumer, text in golden["ids_raw"].items()}
    members = read_snapshot("g", ids, {}).members
    assert {consumer: encode_registration(member) for consumer, member in members.items()} == ids
