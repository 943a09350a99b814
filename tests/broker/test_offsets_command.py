"""`zkgroup offsets` on a live group: members continue at the offset set, and it can be undone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from tests.harness.group import Group, group_of, settle
from tests.harness.kept_offsets import keep, kept, live_consumer
from zkgroup_sandbox import Sandbox


def run(group: Group, *arguments: str) -> Result:
    environment = {"ZKGROUP_ZOOKEEPER": group.sandbox.kafka_zookeeper_connect, "COLUMNS": "160"}
    return CliRunner().invoke(main, ["offsets", *arguments], env=environment)


def done(group: Group, *arguments: str) -> str:
    result = run(group, *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def read_once(group: Group, topic: str) -> None:
    query = group.query(topic)
    settle(query)
    query.stop()


def test_reset_and_undo(sandbox: Sandbox, tmp_path: Path) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        read_once(group, topic)
        undo, later, last = (str(tmp_path / f"{n}.json") for n in ("undo", "later", "last"))

        shown = run(group, "reset", group.name, "--to-offset", "4", "--undo", undo)
        assert "Nothing was changed" in shown.stderr
        assert "2 of 2 offsets change" in shown.stdout
        assert group.offsets(topic) == {0: b"10", 1: b"10"}

        done(group, "reset", group.name, "--to-offset", "4", "--undo", undo, "--execute")
        assert group.offsets(topic) == {0: b"4", 1: b"4"}
        again = group.query(topic)
        settle(again)
        again.stop()
        assert sorted(again.rows) == [(topic, p, n) for p in (0, 1) for n in range(4, 10)]

        done(group, "reset", group.name, "--to-earliest", "--undo", later, "--execute")
        done(group, "import", group.name, later, "--undo", last, "--execute")
        assert group.offsets(topic) == {0: b"10", 1: b"10"}


def test_a_group_that_had_no_offsets_is_promised_no_way_back(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        offsets, undo = tmp_path / "offsets.json", tmp_path / "undo.json"
        offsets.write_text(json.dumps({topic: {"0": 3}}))
        named = (group.name, str(offsets), "--undo", str(undo), "--execute")
        assert "nothing to go back to" in run(group, "import", *named).stderr
        assert not undo.exists()
        undo.write_text("of another day")
        assert "already exists" in run(group, "import", *named).stderr
        undo.unlink()
        offsets.write_text(json.dumps({topic: {"0": 4, "1": 5}}))
        assert "(1 that the group did not have" in run(group, "import", *named).stderr
        assert json.loads(undo.read_text()) == {topic: {"0": 3}}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("--to-latest",), {0: b"10", 1: b"10"}),
        (("--to-earliest",), {0: b"0", 1: b"0"}),
        (("--shift-by", "-3"), {0: b"7", 1: b"7"}),
        (("--shift-by", "+3"), {0: b"10", 1: b"10"}),
        (("--to-time", "1980-01-01T00:00:00+01:00"), {0: b"0", 1: b"0"}),
        (("--to-time", "2999-01-01T00:00:00Z"), {0: b"10", 1: b"10"}),
        (("--to-offset", "3", "--topic", "{topic}:1"), {0: b"10", 1: b"3"}),
    ],
)
def test_where_to(
    sandbox: Sandbox, tmp_path: Path, where: tuple[str, ...], expected: dict[int, bytes]
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        read_once(group, topic)
        arguments = [argument.replace("{topic}", topic) for argument in where]
        done(group, "reset", group.name, *arguments, "--undo", str(tmp_path / "u"), "--execute")
        assert group.offsets(topic) == expected


def test_to_a_time_between_two_records(sandbox: Sandbox, tmp_path: Path) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(1)
        group.produce(topic, 5)
        between = int(time.time() * 1000) + 1
        while time.time() * 1000 <= between:
            pass
        group.produce(topic, 5)
        read_once(group, topic)
        undo = str(tmp_path / "u")
        done(group, "reset", group.name, "--to-time", str(between), "--undo", undo, "--execute")
        assert group.offsets(topic) == {0: b"5"}


def test_live_members_refuse_a_reset_unless_forced(sandbox: Sandbox, tmp_path: Path) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        query = group.query(topic)
        settle(query)
        arguments = ("reset", group.name, "--to-earliest", "--undo", str(tmp_path / "u"))
        refused = run(group, *arguments, "--execute")
        assert refused.exit_code == 1
        assert query.membership.member in refused.stderr
        assert group.offsets(topic) == {0: b"10", 1: b"10"}

        done(group, *arguments, "--execute", "--force")
        group.produce(topic, 1)
        query.until(20 + 2 + 20)
        assert len(query.rows) == 42


def test_a_new_group_can_be_given_offsets(sandbox: Sandbox, tmp_path: Path) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        file = tmp_path / "saved.json"
        file.write_text(json.dumps({topic: {"1": 6}}))
        done(group, "import", group.name, str(file), "--undo", str(tmp_path / "u"), "--execute")
        assert json.loads(done(group, "export", group.name)) == {topic: {"1": 6}}
        assert json.loads(done(group, "show", group.name, "--json")) == {topic: {"1": 6}}


def test_what_cannot_be_meant_is_refused_by_name(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        read_once(group, topic)
        assert (
            "no topic 'nowhere'"
            in run(group, "reset", group.name, "--to-latest", "--topic", "nowhere").stderr
        )
        assert (
            "has no partition 2"
            in run(group, "reset", group.name, "--to-latest", "--topic", f"{topic}:2").stderr
        )


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ({"{topic}": {"0": 1, "99": 1}}, "'{topic}' has no partition 99. It has 2: 0 to 1"),
        ({"{topic}": {"0": 1}, "nowhere": {"0": 1}}, "There is no topic 'nowhere'. Name one of"),
    ],
)
def test_an_import_into_what_is_not_there_is_no_fault_of_the_brokers(
    sandbox: Sandbox, tmp_path: Path, file: dict[str, dict[str, int]], why: str
) -> None:
    with group_of(sandbox) as group:
        topic, saved = group.topic(2), tmp_path / "saved.json"
        saved.write_text(json.dumps(file).replace("{topic}", topic))
        refused = run(group, "import", group.name, str(saved), "--execute")
        assert refused.exit_code == 1
        assert "[ZKG-001]" in refused.stderr
        assert why.replace("{topic}", topic) in refused.stderr
        assert group.offsets(topic) == {}


@pytest.mark.parametrize("command", ["reset", "import"])
@pytest.mark.parametrize(
    ("undo", "why"),
    [("kept.json", "kept.json already exists"), ("no/u.json", "No such file or directory")],
)
def test_without_a_way_back_nothing_is_set(
    sandbox: Sandbox, tmp_path: Path, command: str, undo: str, why: str
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        read_once(group, topic)
        (tmp_path / "kept.json").write_text("of another day")
        (tmp_path / "saved.json").write_text(json.dumps({topic: {"0": 4}}))
        where = ("--to-earliest",) if command == "reset" else (str(tmp_path / "saved.json"),)
        to = (*where, "--undo", str(tmp_path / undo), "--execute")
        refused = run(group, command, group.name, *to)
        assert refused.exit_code == 1
        assert refused.stderr.startswith("Error: [ZKG-001]")
        assert why in refused.stderr
        assert group.offsets(topic) == {0: b"10", 1: b"10"}
        assert (tmp_path / "kept.json").read_text() == "of another day"


def test_undo_files_of_one_second_have_names_of_their_own(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with group_of(sandbox) as group:
        topic = group.topic(1)
        group.produce(topic, 10)
        read_once(group, topic)
        now = int(time.time())
        taken = [Path(f"{group.name}-{at}.undo.json") for at in range(now, now + 60)]
        for file in taken:
            file.touch()
        done(group, "reset", group.name, "--to-offset", "4", "--execute")
        (saved,) = set(Path().iterdir()) - set(taken)
        assert json.loads(saved.read_text()) == {topic: {"0": 10}}
        assert all(file.read_text() == "" for file in taken)


def test_what_changes_nothing_says_so_before_and_after(sandbox: Sandbox, tmp_path: Path) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        read_once(group, topic)
        saved = str(tmp_path / "saved.json")
        done(group, "export", group.name, "--to", saved)
        to = (saved, "--undo", str(tmp_path / "u"), "--execute")
        told = run(group, "import", group.name, *to)
        assert "0 of 2 offsets change" in told.stdout
        assert "0 of 2 offsets changed. Back:" in told.stderr


def test_a_reset_says_that_the_group_is_a_new_one(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(1)
        group.produce(topic, 5)
        new = f"Group {group.name} has no offsets and no members yet\n"
        to = ("reset", group.name, "--to-latest", "--topic", topic, "--execute")
        assert run(group, *to).stderr.startswith(new)
        assert group.offsets(topic) == {0: b"5"}
        assert new not in run(group, *to[:-1]).stderr


def test_those_in_kafka_are_shown_where_they_are_asked_for(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        read_once(group, topic)
        keep(group, topic, {1: 6})
        shown = done(group, "show", group.name, "--in-kafka")
        assert f"group {group.name}: 1 offset in Kafka" in shown
        assert ("10" in shown.replace(topic, ""), "committed" in shown) == (False, False)
        assert json.loads(done(group, "show", group.name, "--in-kafka", "--json")) == {
            topic: {"1": 6}
        }


def test_what_is_set_is_set_in_kafka_too_where_a_copy_stands(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        query = group.query(topic, storage="kafka")
        settle(query)
        query.stop()
        shown = done(group, "show", group.name)
        assert ("committed" in shown, "in Kafka" in shown) == (True, True)
        assert json.loads(done(group, "show", group.name, "--json")) == {topic: {"0": 10, "1": 10}}

        to = ("--to-offset", "4", "--topic", f"{topic}:1", "--undo", str(tmp_path / "u"))
        told = run(group, "reset", group.name, *to, "--execute")
        assert "1 of 1 offset changed, 1 set in Kafka too" in told.stderr
        in_kafka = json.loads(done(group, "export", group.name, "--in-kafka"))
        assert in_kafka == {topic: {"0": 10, "1": 4}}
        again = group.query(topic, storage="kafka")
        settle(again)
        assert sorted(again.rows) == [(topic, 1, n) for n in range(4, 10)]


def test_offsets_that_others_wrote_to_kafka_are_set_only_if_asked(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        keep(group, topic, {0: 6, 1: 6})
        which = ("reset", group.name, "--to-offset", "3", "--topic", topic)
        to = (*which, "--undo", str(tmp_path / "u"), "--execute")
        told = run(group, *to)
        assert f"Kafka has offsets of {topic}-0 and 1 more partition that no zkgroup" in told.stderr
        assert kept(group, topic) == {0: 6, 1: 6}
        done(group, *to, "--also-kafka")
        assert kept(group, topic) == {0: 3, 1: 3}


def test_a_group_of_the_brokers_can_be_moved_by_a_file(sandbox: Sandbox, tmp_path: Path) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        group.produce(topic, 10)
        keep(group, topic, {0: 6, 1: 2})
        file = tmp_path / "saved.json"
        done(group, "export", group.name, "--in-kafka", "--to", str(file))
        done(group, "import", group.name, str(file), "--undo", str(tmp_path / "u"), "--execute")
        assert group.offsets(topic) == {0: b"6", 1: b"2"}


def test_a_live_group_of_the_brokers_refuses_a_reset_of_its_offsets(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(1)
        group.produce(topic, 10)
        read_once(group, topic)
        to = ("reset", group.name, "--to-earliest", "--undo", str(tmp_path / "u"), "--execute")
        with live_consumer(group.sandbox, group.name, topic):
            refused = run(group, *to, "--also-kafka")
            assert "a-live-consumer" in refused.stderr
            assert group.offsets(topic) == {0: b"10"}, "in neither place"
            done(group, *to)
        assert group.offsets(topic) == {0: b"0"}
