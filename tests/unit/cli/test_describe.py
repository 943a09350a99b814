"""What `describe` prints and tells programs, of a group as a value."""

from __future__ import annotations

import time

import pytest

from pyspark_zkgroup.cli.describe import as_value, show
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, Written, report
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy, encode_candidacy
from pyspark_zkgroup.protocols.coordinator.rules.command_json import encode
from pyspark_zkgroup.protocols.coordinator.rules.commands import Stop
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation

T = [TopicPartition("orders", n) for n in range(8)]


def registration(light: LightSeat | None = None) -> bytes:
    made = Registration(Subscription.static({"orders": 2}), "1", "sticky", light=light)
    return encode_registration(made)


def coordinated(now_ms: int) -> GroupReport:
    """A light member has joined, and the first member has not released half of its partitions."""
    facts = GroupFacts(
        "[billing]",
        {
            "first": Seen(registration(), 7, now_ms - 900_000, 4),
            "second": Seen(registration(LightSeat("x", 3000, "90.7")), 0, now_ms - 300_000, 5),
        },
        {"orders": tuple(range(8))},
        {p: Seen(b"first-%d" % (p.partition % 2), 7, now_ms - 90_000) for p in T},
        dict.fromkeys(T, b"10"),
        frozenset({"first", "second"}),
        Seen(encode_candidacy(Candidacy("one", "host:7000")), 3, now_ms - 400_000, 90),
        {"first": {"/c/1": encode(Stop(Generation(90, 8), 4, frozenset(T[:4])))}},
    )
    return report(facts, dict.fromkeys(T, 15))


@pytest.mark.parametrize("columns", [100, 160])
def test_protocol_generation_coordinator_and_waiting_members_are_shown(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    show(coordinated(int(time.time() * 1000)))
    lines = capsys.readouterr().out.splitlines()
    shown = [" ".join(line.split()) for line in lines]
    assert max(map(len, lines)) <= columns
    assert shown[0] == "group [billing]: 2 members, protocol coordinator, generation 90.8"
    assert shown[1] == "coordinator one at host:7000, for 7 min, epoch 90"
    assert "│ first │ zkgroup │ 15 min │ orders │ 2 │ sticky │ 8 │ 0 │" in shown
    assert "│ second │ zkgroup light │ 5 min │ orders │ 2 │ sticky │ 0 │ 4 │" in shown
    text = " ".join(shown)
    assert "second waits for first to release orders-0, orders-1, orders-2, orders-3" in text
    assert "first has yet to follow 1 of its coordinator's commands" in text


def test_the_same_for_programs() -> None:
    value = as_value(coordinated(1_000_000))
    assert (value["protocol"], value["generation"]) == ("coordinator", "90.8")
    assert value["coordinator"] == {
        "id": "one",
        "address": "host:7000",
        "epoch": 90,
        "since_ms": 600_000,
    }
    first, second = value["members"]
    assert (first["protocol"], first["generation"], first["unanswered"]) == (
        "coordinator",
        "90.8",
        1,
    )
    assert (second["protocol"], second["generation"], second["unanswered"]) == (
        "light",
        "90.7",
        None,
    )
    assert first["waiting"] == []
    assert second["waiting"] == [
        {"topic": "orders", "partition": n, "owner": f"first-{n % 2}"} for n in range(4)
    ]


def test_what_is_not_known_is_null_and_shown_as_such(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    jvm = encode_registration(Registration(Subscription.static({"orders": 1}), "1"))
    seen = report(GroupFacts("g", {"j": Seen(jvm, 7, 1)}, {"orders": (0,)}), {})
    value = as_value(seen)
    assert (value["protocol"], value["generation"], value["coordinator"]) == (
        "zookeeper",
        None,
        None,
    )
    assert value["members"][0]["waiting"] is None
    show(seen)
    out = capsys.readouterr().out
    assert "group g: 1 member, protocol zookeeper" in out
    assert "? │" in out
    assert as_value(report(GroupFacts("g"), {}))["protocol"] is None


def described(
    capsys: pytest.CaptureFixture[str],
    owners: dict[TopicPartition, Seen],
    strategies: tuple[str, ...] = ("range", "range"),
    *,
    coordinator: bool | None = None,
    ends: dict[TopicPartition, int] | None = None,
) -> list[str]:
    """Of members a, b and so on, that share two partitions."""
    ids = {
        name: Seen(
            encode_registration(
                Registration(Subscription.static({"orders": 1}), "1", strategy, "new")
            ),
            session=7,
            made_ms=1000,
        )
        for name, strategy in zip("abc", strategies, strict=False)
    }
    seat = Seen(encode_candidacy(Candidacy("one")), 5, 3000, 90) if coordinator else None
    told = frozenset(ids if coordinator is not None else ())
    offsets = dict.fromkeys(ends or (), b"0")
    facts = GroupFacts("g", ids, {"orders": (0, 1)}, owners, offsets, told, seat)
    show(report(facts, ends or {}))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def owned(*consumers: str) -> dict[TopicPartition, Seen]:
    return {p: Seen(f"{c}-0".encode(), 7, 2000) for p, c in zip(T, consumers, strict=False)}


HINT = "zkgroup doctor g says what to do"


@pytest.mark.parametrize(
    ("owners", "strategies"),
    [
        (owned("a"), ("range", "range")),
        (owned("a", "gone"), ("range", "range")),
        (owned("a", "a"), ("range", "range")),
        (owned("a", "b"), ("range", "roundrobin")),
        (owned("a", "b"), ("range", "range", "range")),
    ],
    ids=["free", "stuck", "waiting", "mixed", "spare"],
)
def test_where_something_is_open_doctor_is_named_last(
    owners: dict[TopicPartition, Seen],
    strategies: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert described(capsys, owners, strategies)[-1] == HINT


def test_no_target_is_shown_if_strategies_differ_or_no_coordinator_is_active(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "180")
    by_rules = described(capsys, owned("a"), ("range", "roundrobin"))
    (free,) = [line for line in by_rules if "free" in line]
    assert "│ free │ unknown: members assign by different rules │" in free
    headless = described(capsys, owned("a"), ("sticky", "sticky"), coordinator=False)
    (free,) = [line for line in headless if "free" in line]
    assert "│ free │ none: no coordinator is in office │" in free


def test_where_all_is_well_doctor_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert HINT not in described(capsys, owned("a", "b"))


def test_where_one_partition_lags_far_behind_doctor_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for end, is_named in ((5000, True), (900, False)):
        lines = described(capsys, owned("a", "b"), ends={T[0]: end, T[1]: 9})
        assert (HINT in lines) is is_named


def test_without_members_doctor_is_named_where_records_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for end, last in ((9, True), (5, False)):
        facts = GroupFacts("g", offsets={T[0]: b"5"})
        show(report(facts, {T[0]: end}))
        assert (HINT in capsys.readouterr().out) is last


def busy(*, has_members: bool) -> GroupReport:
    """Long names and large numbers, as they are at work."""
    topic = "payments.transactions.v2"
    partitions = [TopicPartition(topic, n) for n in range(4)]
    consumer = "billing-pipeline_driver-7f-1700000000000-abcdef0"
    made = Registration(Subscription.static({topic: 2}), "1", "roundrobin", "new")
    ids = {f"{consumer}{n}": Seen(encode_registration(made), 7 + n, 1000) for n in range(2)}
    owners = {
        partitions[0]: Seen(f"{consumer}0-0".encode(), 7, 2000),
        partitions[1]: Seen(f"{consumer}1-1".encode(), 8, 2000),
        partitions[2]: Seen(b"gone-0", 9, 2000),
    }
    facts = GroupFacts(
        "billing-pipeline",
        ids if has_members else {},
        {topic: tuple(range(4))},
        owners if has_members else {},
        dict.fromkeys(partitions, b"1234567"),
        written={p: Written(1000, 2000) for p in partitions},
    )
    return report(facts, dict.fromkeys(partitions, 1334567))


@pytest.mark.parametrize("has_members", [True, False])
@pytest.mark.parametrize("columns", [80, 100])
def test_names_fold_and_nothing_is_cut(
    columns: int,
    has_members: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    seen = busy(has_members=has_members)
    show(seen)
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns
    words = set(out.replace("│", " ").replace("┃", " ").split())
    assert {row.state for row in seen.partitions} - {"owned", "unread"} <= words
    assert ("no reader" in out) is any(row.state == "unread" for row in seen.partitions)
    assert {"partition", "state", "committed", "end", "lag", "owns", "threads"} <= words
    assert {"1,234,567", "1,334,567", "100,000"} <= words


@pytest.mark.parametrize(("columns", "is_whole"), [(80, False), (180, True)])
def test_where_room_is_short_owners_go_by_what_ends_their_names(
    columns: int,
    is_whole: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for one whose end another has as well."""
    monkeypatch.setenv("COLUMNS", str(columns))
    names = ("g_vm-17-aaaa", "g_vm-18-bbbb", "g_vm-19-bbbb")
    ids = {
        name: Seen(encode_registration(Registration(Subscription.static({"t": 1}), "1")), 7, 1000)
        for name in names
    }
    partitions = [TopicPartition("t", n) for n in range(3)]
    owners = {
        p: Seen(f"{name}-0".encode(), 7, 2000) for p, name in zip(partitions, names, strict=True)
    }
    show(report(GroupFacts("g", ids, {"t": (0, 1, 2)}, owners), {}))
    table = capsys.readouterr().out.rpartition("partitions, ")[2].split()
    assert ("g_vm-17-aaaa-0" in table) is is_whole
    assert ("aaaa-0" in table) is not is_whole
    assert "bbbb-0" not in table


def test_a_lag_of_which_nothing_is_known_is_not_0(capsys: pytest.CaptureFixture[str]) -> None:
    show(report(GroupFacts("g", offsets={T[0]: b"5"}), {}))
    assert "1 partition, lag unknown" in capsys.readouterr().out
