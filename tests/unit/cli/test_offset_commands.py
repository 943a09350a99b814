"""`zkgroup offsets` on a group of the brokers whose answers are values."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli import offsets
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.inspect.reset import LogSpan
from pyspark_zkgroup.model import BrokeredGroup, StoredOffset, TopicPartition

T = [TopicPartition("orders", n) for n in range(3)]


class Ends:
    """Brokers with a group that has no members."""

    def __init__(self, stored: Mapping[TopicPartition, int], *, away: bool = False) -> None:
        self.at = dict(stored)
        self.away = away

    def groups(self, names: list[str]) -> tuple[BrokeredGroup, ...]:
        return (BrokeredGroup(names[0], state="Empty"),)

    def stored(self, _group: str, _partitions: object) -> dict[TopicPartition, StoredOffset]:
        return {p: StoredOffset(at) for p, at in self.at.items()}

    def topics(self) -> dict[str, tuple[int, ...]]:
        return {"orders": (0, 1, 2)}

    def spans(self, partitions: list[TopicPartition]) -> dict[TopicPartition, LogSpan]:
        return dict.fromkeys(partitions, LogSpan(0, 100))

    def commit(self, _group: str, offsets: dict[TopicPartition, int], _note: str) -> dict[Any, Any]:
        """`away`: the answer is lost, and what was asked is done."""
        self.at |= offsets
        if self.away:
            raise ServerError("No broker answered")
        return {}


@pytest.fixture(autouse=True)
def directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(
    monkeypatch: pytest.MonkeyPatch,
    ends: Ends,
    *arguments: str,
    place: tuple[str, ...] = ("--bootstrap-servers", "b:1"),
    environment: Mapping[str, str] | None = None,
) -> Result:
    @contextmanager
    def found(_connect: str, _bootstrap: str, group: str, **_: Any) -> Iterator[BrokeredLive]:
        yield BrokeredLive(group, cast(Any, ends), may_be_new=True)

    monkeypatch.setattr(offsets, "found_group", found)
    command = ["offsets", arguments[0], *place, *arguments[1:]]
    return CliRunner(env=environment).invoke(main, command)


def back_of(result: Result) -> list[str]:
    """The command that goes back, as a shell reads it."""
    (line,) = [line for line in result.stderr.splitlines() if "Back: zkgroup offsets" in line]
    return shlex.split(line.partition("Back: zkgroup offsets ")[2].partition(" (")[0])


@pytest.mark.parametrize(
    "group",
    ["billing", "a/b", "/etc/x", "../x", "-x", "two words", "$(x)'\"", "заказы" * 60, "x" * 400],
)
def test_an_undo_file_of_any_group_is_saved_here_and_read_back(
    monkeypatch: pytest.MonkeyPatch, directory: Path, group: str
) -> None:
    ends = Ends({T[0]: 5, T[1]: 6})
    done = run(monkeypatch, ends, "reset", "--to-offset", "50", "--execute", "--", group)
    assert done.exit_code == 0, done.output
    (saved,) = directory.iterdir()
    assert json.loads(saved.read_text()) == {"orders": {"0": 5, "1": 6}}
    again = run(monkeypatch, ends, *back_of(done))
    assert again.exit_code == 0, again.output
    assert (ends.at[T[0]], ends.at[T[1]]) == (5, 6)


@pytest.mark.parametrize(
    ("given", "environment", "named"),
    [
        (("--bootstrap-servers", "b:1"), {}, ("--bootstrap-servers", "b:1")),
        (
            ("--zookeeper", "z:1/a b", "--bootstrap-servers", "b:1"),
            {},
            ("--zookeeper", "z:1/a b", "--bootstrap-servers", "b:1"),
        ),
        ((), {"ZKGROUP_ZOOKEEPER": "z:1/k"}, ("--zookeeper", "z:1/k")),
        (
            ("--config", "the file"),
            {},
            ("--zookeeper", "z:2", "--config", "the file"),
        ),
        (
            ("--bootstrap-servers", "b:1"),
            {"ZKGROUP_CONFIG": "the file"},
            ("--zookeeper", "z:2", "--bootstrap-servers", "b:1", "--config", "the file"),
        ),
    ],
)
def test_the_way_back_leads_to_the_servers_of_the_command(
    monkeypatch: pytest.MonkeyPatch,
    directory: Path,
    given: tuple[str, ...],
    environment: dict[str, str],
    named: tuple[str, ...],
) -> None:
    """Without --zookeeper the offsets of another group would be set: that of the brokers."""
    (directory / "the file").write_text("zookeeper.connect=z:2\n")
    reset = ("reset", "g", "--to-offset", "50", "--undo", "u", "--execute")
    done = run(monkeypatch, Ends({T[0]: 5}), *reset, place=given, environment=environment)
    assert done.exit_code == 0, done.output
    assert back_of(done) == ["import", "g", "u", *named, "--execute"]


def test_a_failed_reset_tells_how_to_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Ends({T[0]: 5}, away=True)
    failed = run(monkeypatch, ends, "reset", "g", "--to-offset", "50", "--execute")
    assert failed.exit_code == 1
    assert "Not all offsets were set. Back: " in failed.stderr
    assert failed.stderr.splitlines()[-1].startswith("Error: [ZKG-002] No broker answered")
    ends.away = False
    assert run(monkeypatch, ends, *back_of(failed)).exit_code == 0
    assert ends.at[T[0]] == 5


def test_a_number_below_0_is_not_saved_as_an_offset(
    monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    """`offsets import` refuses it, and with it the file."""
    ends = Ends({T[0]: -1, T[1]: 6})
    done = run(monkeypatch, ends, "reset", "g", "--to-offset", "50", "--execute")
    (saved,) = directory.iterdir()
    assert json.loads(saved.read_text()) == {"orders": {"1": 6}}
    assert run(monkeypatch, ends, *back_of(done)).exit_code == 0


def test_an_export_has_offsets_alone_and_names_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To Spark -1 is the end of the log, and `offsets import` refuses a file that has it."""
    result = run(monkeypatch, Ends({T[0]: -1, T[1]: 6}), "export", "g")
    assert json.loads(result.stdout) == {"orders": {"1": 6}}
    assert result.stderr.strip().endswith("no valid offset there: orders-0")


def test_a_shift_names_the_partitions_that_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Ends({T[0]: 10})
    result = run(monkeypatch, ends, "reset", "g", "--topic", "orders", "--shift-by", "5", "--json")
    assert [move["after"] for move in json.loads(result.stdout)] == [15]
    assert "no valid offset there: orders-1, orders-2" in result.stderr
