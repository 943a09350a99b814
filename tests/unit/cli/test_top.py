"""The screen of `zkgroup top`, of groups as values."""

from __future__ import annotations

from io import StringIO
from typing import Any, cast

import pytest
from click.testing import CliRunner
from rich.console import Console

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.cli.top import Moment, _moments, screen
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.motion import Pace
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition

T = [TopicPartition("orders", n) for n in range(30)]
A = "billing-fc8e5a51-aa16-47fa-bc48-472264af1e56"
B = "billing-e63bedf0-342a-4aef-8993-02fe610d5fa0"
TOPICS = {"orders": tuple(range(30))}


def moment(events: tuple[tuple[float, str], ...] = (), trouble: str = "") -> Moment:
    first = frozenset(T)
    read = ("orders",)
    members = (
        BrokeredMember(A, "billing", "/10.0.0.1", None, read, "", first, first - {T[3]}),
        BrokeredMember(B, "[red]", "/10.0.0.2", None, read, target=frozenset({T[3]})),
    )
    group = BrokeredGroup("billing", "consumer", "Reconciling", "uniform", 7, members)
    facts = BrokeredFacts(group, {p: StoredOffset(p.partition) for p in T}, TOPICS)
    seen = brokered_report(facts, dict.fromkeys(T, 1000))
    return Moment(seen, 1_700_000_000_000, dict.fromkeys(T, Pace(10, 5)), events, trouble)


def shown(what: Moment, width: int, height: int | None) -> list[str]:
    out = Console(width=width, record=True, file=StringIO())
    out.print(screen(what, width, height))
    return out.export_text().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_what_moves_comes_first_and_nothing_is_wider_than_the_screen(width: int) -> None:
    lines = shown(moment(((0.0, "joined: " + "x" * 200),)), width, 24)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 24
    text = "\n".join(lines)
    at = next(n for n, line in enumerate(lines) if line.startswith("partition"))
    assert lines[at + 2].split()[:3] == ["orders-3", "472264af1e56", "to"]
    assert "when its owner's batch ends" in lines[at + 2] or width < 100
    assert "more partitions" in text
    assert "300/s in, 150/s committed: falls behind" in text


@pytest.mark.parametrize(("lag", "trend"), [(2, ""), (100, ": falls behind")])
def test_the_lag_of_a_batch_is_no_trend(lag: int, trend: str) -> None:
    """Between the commits of two batches more comes in than is committed."""
    member = BrokeredMember(A, "billing", "/10.0.0.1", None, ("orders",), "", frozenset(T))
    group = BrokeredGroup("billing", "classic", "Stable", "range", None, (member,))
    facts = BrokeredFacts(group, {p: StoredOffset(0) for p in T}, TOPICS)
    seen = brokered_report(facts, dict.fromkeys(T, lag))
    lines = shown(Moment(seen, 0.0, dict.fromkeys(T, Pace(1.0, 0.9)), (), ""), 80, 24)
    assert lines[1].endswith(f"30/s in, 27/s committed{trend}")


def test_all_partitions_are_printed_into_a_pipe() -> None:
    text = "\n".join(shown(moment(), 120, None))
    assert all(str(partition) in text for partition in T)
    assert "[red] at 10.0.0.2" in text
    assert "nothing" in text


def test_shares_are_unknown_while_a_classic_group_rebalances() -> None:
    member = BrokeredMember(A, "billing", "/10.0.0.1", None, ("orders",))
    group = BrokeredGroup("billing", "classic", "PreparingRebalance", "", None, (member,))
    facts = BrokeredFacts(group, {p: StoredOffset(0) for p in T}, TOPICS)
    lines = shown(Moment(brokered_report(facts, dict.fromkeys(T, 1)), 0.0, {}, (), ""), 80, 24)
    (row,) = [line for line in lines if "billing at 10.0.0.1" in line]
    assert row.split()[-5:-2] == ["?", "?", "?"]


def test_a_failed_look_is_shown_with_the_last_good_one() -> None:
    text = "\n".join(shown(moment(trouble="No Kafka broker answered"), 80, 24))
    assert "last look failed: No Kafka broker answered" in text
    assert "orders-3" in text


def test_a_group_that_is_gone_is_a_failed_look() -> None:
    """Its last member may have left, or its offsets may have expired; it may come back."""

    class Live:
        number = 0

        def look(self) -> GroupReport:
            self.number += 1
            if self.number == 2:
                raise OptionError("The brokers coordinate no group 'billing'")
            return moment().seen

    _, gone, back = _moments(cast(Any, Live()), 0.01, 3)
    assert (gone.trouble, back.trouble) == ("The brokers coordinate no group 'billing'", "")


def test_a_place_is_required() -> None:
    no_places = {"ZKGROUP_ZOOKEEPER": None, "ZKGROUP_BOOTSTRAP_SERVERS": None}
    result = CliRunner().invoke(main, ["top", "billing"], env=no_places)
    assert result.exit_code == 2
    assert "give --bootstrap-servers, or --zookeeper" in result.stderr
