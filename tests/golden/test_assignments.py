"""`zkgroup assignment` gives what real JVM consumers left in ZooKeeper, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.assignment import assignment
from pyspark_zkgroup.group.snapshot import read_snapshot
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import encode_registration

# The order of colliding topics in strict versions; what is an internal topic before 0.11.
OF_ITS_VERSION_ONLY = {"colliding_topics_roundrobin_0.10.1.1", "internal_topics_range_0.10.2.2"}
FILES = sorted((Path(__file__).parent / "assignments").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_command_prints_the_owners(file: Path) -> None:
    result = CliRunner().invoke(assignment, ["--from", str(file), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"owners": json.loads(file.read_text())["owners"]}


def comparable(file: Path) -> bool:
    """Groups in which all JVM members fail and zkgroup members continue are left out."""
    return bool(json.loads(file.read_text())["owners"]) and file.stem not in OF_ITS_VERSION_ONLY


@pytest.mark.parametrize("file", [*filter(comparable, FILES)], ids=lambda file: file.stem)
def test_a_zkgroup_member_has_the_same_target(file: Path) -> None:
    golden = json.loads(file.read_text())
    ids = {consumer: text.encode() for consumer, text in golden["ids_raw"].items()}
    topics = {topic: tuple(range(count)) for topic, count in golden["topics"].items()}
    order = "new" if golden["version"].startswith("1.") else "old"
    exclude = golden.get("exclude_internal_topics", True)
    found = target(read_snapshot("g", ids, topics), golden["assignor"], order, exclude)
    owners: dict[str, dict[str, str]] = {}
    for partition, thread in found.items():
        owners.setdefault(partition.topic, {})[str(partition.partition)] = str(thread)
    assert owners == golden["owners"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_registrations_come_out_byte_for_byte(file: Path) -> None:
    ids = json.loads(file.read_text())["ids_raw"]
    written_by_hand = {consumer for consumer in ids if consumer.endswith("_odd")}
    members = read_snapshot("g", {each: text.encode() for each, text in ids.items()}, {}).members
    for consumer in members.keys() - written_by_hand:
        assert encode_registration(members[consumer]) == ids[consumer].encode()
