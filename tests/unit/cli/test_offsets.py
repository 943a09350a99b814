"""`zkgroup offsets` and `zkgroup coordinator` report wrong arguments before they need a server.

There is no server at the address given: a command that connected would fail with another error.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.cli.offset_tables import kafka_table, moves_table, outcome
from pyspark_zkgroup.cli.offsets import _check_there, _chosen, _time_ms
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.inspect.reset import KeptOffsets, Move
from pyspark_zkgroup.model import TopicPartition

RUBBISH = b"\x89\xff\x00\xfe"
# Brokers too: a coordinator that accepted wrong arguments would wait for ZooKeeper without end.
NOWHERE = {"ZKGROUP_ZOOKEEPER": "127.0.0.1:1", "ZKGROUP_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
SECOND_MS = 1_795_399_700_000


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env=NOWHERE)


def assert_refused(result: Result, *named: str) -> None:
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: [ZKG-001] ")
    assert [text for text in named if text not in line] == []


@pytest.mark.parametrize(
    "where",
    [
        (),
        ("--to-earliest", "--to-latest"),
        ("--to-latest", "--to-earliest"),
        ("--to-earliest", "--to-offset", "7"),
        ("--to-time", "2026-11-23T02:08:20Z", "--shift-by", "0"),
    ],
)
def test_a_reset_goes_to_one_place(where: tuple[str, ...]) -> None:
    result = run("offsets", "reset", "billing", *where)
    assert result.exit_code == 2
    assert "give one of --to-earliest, --to-latest" in result.stderr


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("2026-11-23T02:08:20Z", SECOND_MS),
        ("2026-11-23T02:08:20+00:00", SECOND_MS),
        ("2026-11-23 03:08:20+01:00", SECOND_MS),
        ("2026-11-23T02:08:20.001Z", SECOND_MS + 1),
        (str(SECOND_MS), SECOND_MS),
        ("1970-01-01T00:00:00Z", 0),
        ("100000000000", 10**11),
        ("253402300799999", 253402300799999),
    ],
)
def test_a_time_is_the_same_on_every_machine(text: str, at_ms: int) -> None:
    assert _time_ms(text) == at_ms


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yesterday", "'yesterday' is not a time"),
        ("ZZ", "'ZZ' is not a time"),
        ("2026-11-23T02:08:20", "has no time zone"),
        ("2026-11-23", "has no time zone"),
        ("1969-12-31T23:59:59.999Z", "is before 1970"),
        ("1795399700", "it is probably in seconds"),
        ("99999999999", "it is probably in seconds"),
        ("0", "it is probably in seconds"),
        ("253402300800000", "after the year 9999"),
        ("1" * 5000, "after the year 9999"),
    ],
)
def test_a_time_that_may_be_another_one_is_refused(text: str, why: str) -> None:
    result = run("offsets", "reset", "billing", "--to-time", text)
    assert_refused(result, "--to-time", why, "such as 2026-11-23T02:08:20Z")


def test_an_import_of_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_bytes(RUBBISH)
    result = run("offsets", "import", "billing", str(file))
    assert_refused(result, f"{file} is not text in UTF-8", 'Give JSON like {"orders"')


@pytest.mark.parametrize("option", ["--token-file", "--tls-key", "--tls-trust"])
def test_a_file_of_the_coordinator_that_is_no_text_is_refused(option: str, tmp_path: Path) -> None:
    file, key = tmp_path / "given", tmp_path / "key"
    file.write_bytes(RUBBISH)
    key.write_text("")
    key.chmod(0o600)
    more = () if option != "--tls-trust" else ("--tls-key", str(key))
    result = run("coordinator", "--listen", "127.0.0.1:0", option, str(file), *more)
    assert_refused(result, f"{option} {file} cannot be read: it is no UTF-8")


@pytest.mark.parametrize("address", ["foo", "foo:", ":7070", "foo:x", "foo:65536", "::1:7070"])
@pytest.mark.parametrize("option", ["--listen", "--advertise"])
def test_an_address_of_the_coordinator_is_host_and_port(option: str, address: str) -> None:
    listen = () if option == "--listen" else ("--listen", "127.0.0.1:0")
    result = run("coordinator", *listen, option, address)
    assert_refused(result, f"{option} {address!r} is not HOST:PORT", "to 65535", "10.0.0.5:7070")


def test_port_0_cannot_be_advertised() -> None:
    result = run("coordinator", "--listen", "[::1]:0", "--advertise", "here:0")
    assert_refused(result, "--advertise 'here:0' is not HOST:PORT with a port from 1 to 65535")


def test_the_result_has_the_words_of_the_preview() -> None:
    same, other = Move(TopicPartition("a", 0), 5, 5), Move(TopicPartition("a", 1), 5, 6)
    for wanted, shown, told in (
        ((same,), "0 of 1 offset changes", "0 of 1 offset changed"),
        ((same, other), "1 of 2 offsets change", "1 of 2 offsets changed"),
    ):
        assert str(moves_table("billing", wanted, {}).title).endswith(shown)
        assert outcome(wanted, 0) == told
    assert outcome((other,), 1) == "1 of 1 offset changed, 1 set in Kafka too"


def test_one_offset_is_no_offsets() -> None:
    assert str(kafka_table("billing", {TopicPartition("a", 0): 5}).title) == (
        "group billing: 1 offset in Kafka"
    )
    assert str(kafka_table("billing", {}).title) == "group billing: 0 offsets in Kafka"


def test_an_unknown_topic_suggests_similar_names() -> None:
    kept = KeptOffsets("g", (), {}, {"orders": (0,), "alerts": (0,)}, frozenset())
    assert _check_there(kept, "orders", [0]) == (0,)
    with pytest.raises(OptionError, match=r"no topic 'oders' \(similar names: orders\)\. Name one"):
        _check_there(kept, "oders", [])
    with pytest.raises(OptionError, match=r"no topic 'xyz'\. Name one of: alerts, orders"):
        _check_there(kept, "xyz", [])


@pytest.mark.parametrize(
    ("topics", "numbers"),
    [
        (("orders:0", "orders:2"), [0, 2]),
        (("orders:0,1", "orders:1"), [0, 1]),
        (("orders", "orders:1"), [0, 1, 2]),
        (("orders:1", "orders"), [0, 1, 2]),
        (("orders:1", "orders", "orders:2"), [0, 1, 2]),
    ],
)
def test_a_topic_named_more_than_once_has_all_the_partitions_named(
    topics: tuple[str, ...], numbers: list[int]
) -> None:
    kept = KeptOffsets("g", (), {}, {"orders": (0, 1, 2)}, frozenset())
    assert _chosen(kept, topics) == [TopicPartition("orders", n) for n in numbers]
