"""The state file: it is read as it was written, and stale states do no harm."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.lock import lock
from zkgroup_sandbox import Sandbox, process
from zkgroup_sandbox.bring_up import clean_up
from zkgroup_sandbox.jvm import server_token
from zkgroup_sandbox.layout import Layout
from zkgroup_sandbox.process import Identity
from zkgroup_sandbox.state import (
    Parameters,
    SandboxState,
    ServerRecord,
    StateFile,
)

PARAMETERS = Parameters(
    kafka="3.9",
    brokers=0,
    zookeepers=1,
    tick_ms=500,
    durable=False,
    zookeeper_heap_mb=128,
    kafka_heap_mb=256,
)
STATE = SandboxState(
    phase="running",
    token="abc",
    cluster_id="c",
    java="/usr/bin/java",
    registry_jars="",
    kafka_jars="",
    settled=True,
    parameters=PARAMETERS,
    servers=(
        ServerRecord("zookeeper-1", {"client": 1, "quorum": 2, "election": 3}, Identity(7, "b:8")),
    ),
)
SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = StateFile(tmp_path)
    assert file.read() is None
    file.write(STATE)
    assert file.read() == STATE
    file.write(replace(STATE, phase="stopped"))
    assert file.require().phase == "stopped"


def test_directory_without_a_sandbox_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=f"There is no sandbox in {tmp_path}.*sandbox start"):
        Sandbox.attach(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 99}'])
def test_unreadable_state_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "sandbox.json").write_text(text)
    with pytest.raises(SandboxError, match=r"sandbox\.json is not the state of a sandbox"):
        StateFile(tmp_path).read()


def test_state_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    file = StateFile(tmp_path)
    file.write(STATE)
    newer = {**json.loads(file.path.read_text()), "version": 2}
    file.path.write_text(json.dumps(newer))
    with pytest.raises(SandboxError, match="version is 2, this zkgroup reads 1"):
        file.read()


def test_updates_of_several_threads_are_all_kept(tmp_path: Path) -> None:
    file = StateFile(tmp_path)
    names = [f"zookeeper-{n}" for n in range(1, 9)]
    file.write(replace(STATE, servers=tuple(ServerRecord(n, {"client": 1}) for n in names)))

    def note(name: str) -> None:
        record = ServerRecord(name, {"client": 1}, Identity(1, name))
        file.update(lambda state: state.with_server(record))

    threads = [threading.Thread(target=note, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [s.process and s.process.started for s in file.require().servers] == names


def test_stale_state_with_a_reused_process_id_kills_no_process(tmp_path: Path) -> None:
    with subprocess.Popen(SLEEPER) as stranger:
        try:
            record = replace(STATE.servers[0], process=Identity(stranger.pid, "old boot:1"))
            StateFile(tmp_path).write(replace(STATE, servers=(record,)))
            attached = Sandbox.attach(tmp_path)
            assert attached.status().phase == "stopped"
            attached.stop()
            attached.kill()
            clean_up(StateFile(tmp_path), StateFile(tmp_path).require(), print)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_process_that_was_not_noted_any_more_is_found_and_ended(tmp_path: Path) -> None:
    """The starter was killed after the fork and before it could note the process."""
    layout = Layout(tmp_path)
    layout.make()
    left = process.spawn(
        [*SLEEPER, server_token("abc", "zookeeper-1")],
        log=layout.log("zookeeper-1"),
        pid_file=layout.pid_file("zookeeper-1"),
        cwd=tmp_path,
    )
    assert left is not None
    records = (replace(STATE.servers[0], process=None),)
    state = replace(STATE, phase="starting", settled=False, servers=records)
    file = StateFile(tmp_path)
    file.write(state)
    said: list[str] = []
    assert clean_up(file, state, said.append).phase == "stopped"
    assert process.life_of(left) == "dead"
    assert said == [f"ending zookeeper-1 (process {left.pid}), left by a start that was cut off"]
    assert not (tmp_path / "data").exists(), "data of a start that never completed"


def test_status_tells_a_start_under_way_from_one_that_was_cut_off(tmp_path: Path) -> None:
    records = (replace(STATE.servers[0], process=None),)
    StateFile(tmp_path).write(replace(STATE, phase="starting", servers=records))
    attached = Sandbox.attach(tmp_path)
    with lock(Layout(tmp_path).start_lock):
        assert attached.status().phase == "starting"
    assert attached.status().phase == "cut off"


def test_foreign_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(SandboxError, match=r"contains other files \(thesis.txt\) and no sandbox"):
        Sandbox(tmp_path, brokers=0).start()
    assert (tmp_path / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kafka": "2.8"}, "no sandbox for Kafka '2.8'. Choose one of 3.9, 4.1, 4.4"),
        ({"brokers": -1}, "brokers is -1, but must be from 0 to 9"),
        ({"zookeepers": 0}, "zookeepers is 0, but must be from 1 to 9"),
        ({"tick_ms": 1}, "tick_ms is 1, but must be from 10 to 60000"),
    ],
)
def test_impossible_parameters(tmp_path: Path, parameters: dict[str, int], message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        Sandbox(tmp_path, **parameters)  # type: ignore[arg-type]
