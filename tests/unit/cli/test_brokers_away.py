"""`groups` and `doctor` where brokers tell of some groups, or are away between two looks."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli import group_health, groups
from pyspark_zkgroup.cli.finding import Finding
from pyspark_zkgroup.cli.group_health import of_groups
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition

ORDERS = TopicPartition("orders", 0)
MEMBER = BrokeredMember("a-1", "app", "/10.0.0.1", None, ("orders",), "", frozenset({ORDERS}))


class Ends(LogEnds):
    """`told`: how many descriptions succeed before the brokers are away."""

    def __init__(self, *described: BrokeredGroup, told: int = 1000) -> None:
        super().__init__("b:1", ())
        self.described, self.told = described, told

    def groups(self, names: Any) -> tuple[BrokeredGroup, ...]:
        self.told -= 1
        if self.told < 0:
            raise ServerError("No Kafka broker answered", "Check the brokers")
        return tuple(one for one in self.described if names is None or one.group in names)

    def topics(self) -> dict[str, tuple[int, ...]]:
        return {"orders": (0,)}

    def stored(self, group: str, _partitions: Any) -> dict[TopicPartition, StoredOffset]:
        if group == "secret":
            raise ServerError("The offsets are denied")
        return {ORDERS: StoredOffset(5)}

    def read(self, partitions: Any) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 9)

    def starts(self, partitions: Any) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)


def stable(name: str) -> BrokeredGroup:
    return BrokeredGroup(name, "classic", "Stable", "range", None, (MEMBER,))


@pytest.mark.parametrize("as_json", [False, True])
def test_a_group_that_is_not_told_is_not_shown_as_empty_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    untold = BrokeredGroup("lost", coordinator="b:1", trouble="no answer")
    ends = Ends(stable("billing"), untold, stable("secret"))
    monkeypatch.setattr(groups, "LogEnds", lambda *_: ends)
    arguments = ["groups", "--bootstrap-servers", "b:1", *(["--json"] if as_json else [])]
    result = CliRunner().invoke(main, arguments, env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    assert "lost" not in result.stdout
    assert "billing" in result.stdout
    assert "group 'lost', b:1, did not describe it: no answer" in result.stderr
    assert "A group is not shown: [ZKG-002] The offsets are denied" in result.stderr
    if as_json:
        assert [row["group"] for row in json.loads(result.stdout)] == ["billing"]


def found(ends: Ends, wanted: list[str] | None) -> list[Finding]:
    return list(of_groups(None, wanted, cast(Any, ends), 0.05))


@pytest.mark.parametrize("again_s", [10.0, 0.001])
def test_brokers_that_go_away_between_two_looks_are_a_finding(
    monkeypatch: pytest.MonkeyPatch, again_s: float
) -> None:
    """And what was seen before is reported."""
    monkeypatch.setattr(group_health, "_LOOK_AGAIN_S", again_s)
    findings = found(Ends(stable("billing"), told=1), ["billing"])
    assert findings[0].text.startswith("'billing' has 1 member and offsets of 1 partition")
    assert findings[-1] == Finding("group", "ill", "No Kafka broker answered", "Check the brokers")


def test_brokers_that_do_not_list_their_groups_are_a_finding() -> None:
    (finding,) = found(Ends(told=0), None)
    assert finding == Finding("groups", "ill", "No Kafka broker answered", "Check the brokers")
