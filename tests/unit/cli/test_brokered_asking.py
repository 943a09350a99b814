"""How far a member of a brokers' group has come with a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli import brokered_asking
from pyspark_zkgroup.cli.brokered_asking import BrokeredAsking, outcome_of
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.group.noted_requests import (
    NotedRequest,
    decode_note,
    encode_note,
    is_requests_group,
)
from pyspark_zkgroup.group.requests import Kind
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition


def asked(kind: Kind) -> NotedRequest:
    return NotedRequest(kind, "c", "me", at_ms=1)


@pytest.mark.parametrize(
    ("kind", "is_member", "request_", "state"),
    [
        ("drain", False, asked("drain"), "drained"),
        ("stop", False, asked("stop"), "ended"),
        # One that is gone has ended, whatever has become of its request.
        ("stop", False, None, "ended"),
        ("drain", True, asked("drain"), "pending"),
        ("stop", True, asked("stop"), "pending"),
        ("stop", True, None, "withdrawn"),
        # Another operator has replaced the request.
        ("stop", True, asked("drain"), "withdrawn"),
    ],
)
def test_what_an_operator_reads(
    kind: Kind, is_member: bool, request_: NotedRequest | None, state: str
) -> None:
    assert outcome_of(kind, "c", is_member=is_member, request=request_).state == state


class Ends:
    """Brokers whose answers about the group come one after another; the last one stays."""

    def __init__(self, *groups: BrokeredGroup) -> None:
        self.found = list(groups)
        self.noted: dict[TopicPartition, StoredOffset] = {}

    def groups(self, _names: object) -> tuple[BrokeredGroup, ...]:
        return (self.found.pop(0) if len(self.found) > 1 else self.found[0],)

    def stored(self, group: str, _partitions: None) -> dict[TopicPartition, StoredOffset]:
        return dict(self.noted) if is_requests_group(group) else {ORDERS: StoredOffset(3)}

    def topics(self) -> dict[str, tuple[int, ...]]:
        return {"orders": (0,)}

    def read_or_note(self, _partitions: object) -> tuple[dict[TopicPartition, int], tuple[()]]:
        return {}, ()

    def commit(self, group: str, offsets: dict[TopicPartition, int], note: str) -> dict[Any, Any]:
        assert is_requests_group(group)
        self.noted |= {partition: StoredOffset(at, note) for partition, at in offsets.items()}
        return {}


ORDERS = TopicPartition("orders", 0)
STABLE = BrokeredGroup(
    "g", state="Stable", members=(BrokeredMember("c-1", topics=("orders",), is_zkgroup=True),)
)
# Its coordinator names the members, and tells nothing of them.
REBALANCING = BrokeredGroup("g", state="PreparingRebalance", members=(BrokeredMember("c-1"),))
EMPTY = BrokeredGroup("g", state="Empty")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command on a group of which the brokers answer this."""

    def run(ends: Ends, *arguments: str) -> Result:
        @contextmanager
        def asking(*_: str) -> Iterator[BrokeredAsking]:
            yield BrokeredAsking(BrokeredLive("g", cast(Any, ends), may_be_new=False))

        for name in ("stop", "members"):
            module = import_module(f"pyspark_zkgroup.cli.{name}")
            monkeypatch.setattr(module, "asking_members", asking)
        monkeypatch.setattr(brokered_asking, "_LOOK_AGAIN_S", 0.0)
        return CliRunner().invoke(main, [*arguments, "--bootstrap-servers", "b:1"])

    return run


@pytest.mark.parametrize(
    "arguments", [("stop", "g", "--all", "--yes"), ("members", "drain", "g", "c-1")]
)
def test_a_request_waits_for_the_end_of_a_rebalance(
    command: Callable[..., Result], arguments: tuple[str, ...]
) -> None:
    """It may begin again before the request is written."""
    ends = Ends(REBALANCING, REBALANCING, STABLE, REBALANCING, STABLE, EMPTY)
    result = command(ends, *arguments)
    assert result.exit_code == 0, result.output
    assert "c-1: left the group" in result.output
    (note,) = ends.noted.values()
    assert [one.member for one in decode_note(note.note)] == ["c-1"]


@pytest.mark.parametrize(
    "arguments",
    [("stop", "g", ""), ("members", "drain", "g", ""), ("members", "resume", "g", "")],
)
def test_an_empty_name_is_not_the_only_member(
    command: Callable[..., Result], arguments: tuple[str, ...]
) -> None:
    """As in `zkgroup stop billing "$MEMBER"`, where that is not set."""
    ends = Ends(STABLE)
    result = command(ends, *arguments)
    assert result.exit_code == 1
    assert "Group 'g' has no member named ''. Name one of: c-1" in result.stderr
    assert not ends.noted


def test_nothing_is_asked_of_a_group_whose_rebalance_does_not_end(
    command: Callable[..., Result],
) -> None:
    ends = Ends(REBALANCING)
    result = command(ends, "stop", "g", "--all", "--yes", "--timeout", "0")
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    assert "is still rebalancing" in result.output
    assert not ends.noted


def test_a_request_is_withdrawn_in_a_rebalance(command: Callable[..., Result]) -> None:
    ends = Ends(REBALANCING)
    ends.noted = {ORDERS: StoredOffset(0, encode_note([asked("drain")]))}
    result = command(ends, "members", "resume", "g", "c")
    assert "c: it joins at its next boundary" in result.output, result.output


def test_a_group_that_is_not_described_has_lost_no_member(command: Callable[..., Result]) -> None:
    ends = Ends(STABLE, STABLE, BrokeredGroup("g", coordinator="b:1", trouble="no answer"))
    result = command(ends, "stop", "g", "--all", "--yes")
    assert result.exit_code == 1
    assert "did not describe it: no answer" in result.output
    assert ends.noted
