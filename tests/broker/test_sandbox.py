"""The sandbox as a user meets it: the command, and what happens to servers and their starter."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.errors import SandboxError
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox, bring_up, process
from zkgroup_sandbox.ports import LOOPBACK, free_ports
from zkgroup_sandbox.process import Identity
from zkgroup_sandbox.state import StateFile

ROOT = Path(__file__).parents[2]
COMMAND = [
    sys.executable,
    "-c",
    "from pyspark_zkgroup.cli.main import main; main(prog_name='zkgroup')",
    "sandbox",
]
LISTENING = "0A"

NewSandbox = Callable[..., Sandbox]


def environment(**changes: str) -> dict[str, str]:
    path = f"{ROOT}{os.pathsep}{ROOT / 'sandbox'}"
    return {**os.environ, "PYTHONPATH": path, **changes}


def run(
    verb: str, directory: Path, *options: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, verb, "--dir", str(directory), *options],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment() if env is None else env,
        check=False,
    )


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def processes(directory: Path) -> list[Identity]:
    state = StateFile(directory).read()
    return [s.process for s in state.servers if s.process] if state is not None else []


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory for `zkgroup sandbox`; whatever runs in it at the end of the test is ended."""
    path = tmp_path / "sandbox"
    yield path
    for identity in processes(path):
        process.kill(identity)


def test_start_status_and_stop(directory: Path) -> None:
    alone = ("--brokers", "0", "--json")
    first = run("start", directory, *alone)
    started = told(first)
    assert (started["phase"], started["bootstrap_servers"]) == ("running", "")
    assert [s["name"] for s in started["servers"]] == ["zookeeper-1"]
    assert told(run("status", directory, "--json")) == started, "it outlives the command"

    again = run("start", directory, *alone)
    assert told(again) == started
    assert "runs already" in again.stderr

    other = run("start", directory, *alone, "--tick-ms", "1000")
    assert other.returncode == 1
    assert "already runs" in other.stderr
    assert "tick_ms 500" in other.stderr
    assert "tick_ms 1000" in other.stderr
    assert told(run("status", directory, "--json")) == started

    running = processes(directory)
    assert told(run("stop", directory, "--json"))["phase"] == "stopped"
    assert [process.life_of(p) for p in running] == ["dead"]
    assert told(run("status", directory, "--json"))["phase"] == "stopped"
    nothing = run("stop", directory)
    assert nothing.returncode == 0
    assert "nothing runs" in nothing.stderr

    anew = told(run("start", directory, *alone))
    assert anew["zookeeper_connect"] == started["zookeeper_connect"], "addresses stay"


def test_stopped_data_of_another_kind_is_not_touched(directory: Path) -> None:
    with Sandbox(directory, brokers=0):
        pass
    other = run("start", directory, "--brokers", "0", "--zookeepers", "3")
    assert other.returncode == 1
    assert "contains the data of a sandbox with" in other.stderr
    assert "Give another --dir, or delete this one" in other.stderr
    assert (directory / "data" / "zookeeper-1").exists()


def test_missing_java_is_one_clear_line(directory: Path) -> None:
    bare = environment(PATH="")
    bare.pop("JAVA_HOME", None)
    done = run("start", directory, "--brokers", "0", env=bare)
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: [ZKG-010] No Java was found: JAVA_HOME is not set")
    assert "Install Java 17 or later" in line


def test_status_without_a_sandbox(directory: Path) -> None:
    done = run("status", directory)
    assert done.returncode == 1
    assert f"There is no sandbox in {directory}" in done.stderr
    assert not directory.exists()


def test_server_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    broken = Sandbox(tmp_path, brokers=0, zookeeper_heap_mb=1)
    with pytest.raises(SandboxError, match="Too small maximum heap") as caught:
        broken.start()
    assert "zookeeper-1 ended during its start; its log ends" in f"{caught.value}"
    assert broken.status().phase == "stopped"


@pytest.mark.long
def test_killed_server_is_reported_and_started_again(directory: Path) -> None:
    """Also: the command starts Kafka, data survives, and nothing listens beyond the loopback."""
    told(run("start", directory, "--kafka", "3.9", "--json"))
    sandbox = Sandbox.attach(directory)
    sandbox.create_topic("kept", 3)
    assert_listening_on_loopback_only(processes(directory))
    os.kill(sandbox.brokers[0].pid or 0, signal.SIGKILL)
    wait_until(lambda: not sandbox.brokers[0].alive, 5, "the broker to die")

    seen = told(run("status", directory, "--json"))
    assert seen["phase"] == "degraded"
    assert [s["life"] for s in seen["servers"]] == ["running", "dead"]

    healed = run("start", directory, "--json")
    assert told(healed)["phase"] == "running"
    assert "kafka-1 had ended; starting it again" in healed.stderr
    sandbox.add_partitions("kept", 4)


def test_starter_killed_in_the_middle_leaves_nothing_behind(directory: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "start", "--dir", str(directory)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as starter:
        left = wait_until(lambda: processes(directory), 30, "the first server to be noted")
        starter.send_signal(signal.SIGKILL)
    assert process.life_of(left[0]) == "running"
    assert told(run("status", directory, "--json"))["phase"] == "cut off"

    anew = run("start", directory, "--brokers", "0", "--json")  # others than the first time
    assert told(anew)["phase"] == "running"
    assert f"ending zookeeper-1 (process {left[0].pid}), left by a start" in anew.stderr
    assert process.life_of(left[0]) == "dead"


def test_starter_that_is_terminated_stops_its_servers(directory: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "start", "--dir", str(directory)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as starter:
        launched = wait_until(lambda: processes(directory), 30, "the first server to be noted")
        starter.send_signal(signal.SIGTERM)
        assert starter.wait(timeout=30) != 0
    assert process.life_of(launched[0]) == "dead"


def test_servers_end_with_a_killed_program_that_started_them(directory: Path) -> None:
    program = (
        "import sys; from zkgroup_sandbox import Sandbox;"
        "Sandbox(sys.argv[1], brokers=0).start(); print('up', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"up\n"
        running = processes(directory)
        user.send_signal(signal.SIGKILL)
    wait_until(lambda: process.life_of(running[0]) == "dead", 10, "the guard to end ZooKeeper")
    assert told(run("status", directory, "--json"))["phase"] == "stopped"


def test_sandbox_of_another_process_outlives_a_visitor(directory: Path) -> None:
    told(run("start", directory, "--brokers", "0", "--json"))
    with Sandbox(directory, brokers=0) as visitor:
        assert visitor.status().phase == "running"
    assert visitor.status().phase == "running"


def test_port_taken_between_choice_and_start(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with socket.socket() as taken:
        port = free_ports(1)[0]
        taken.bind((LOOPBACK, port))
        taken.listen()
        choices = iter([(port, *free_ports(2)), free_ports(3)])
        monkeypatch.setattr(bring_up, "free_ports", lambda count, **_: next(choices))
        with Sandbox(directory, brokers=0, say=said.append) as sandbox:
            assert sandbox.zookeepers[0].port != port
            assert sandbox.status().phase == "running"
    assert [text for text in said if "a port was taken by another program" in text]


def test_paused_server_is_reported(new_sandbox: NewSandbox) -> None:
    sandbox = new_sandbox(brokers=0)
    server = sandbox.zookeepers[0]
    server.pause()
    [paused] = sandbox.status().servers
    assert (paused.life, paused.answers, sandbox.status().phase) == ("paused", False, "degraded")
    server.resume()
    wait_until(lambda: sandbox.status().phase == "running", 10, "ZooKeeper to answer again")
    server.kill()
    with pytest.raises(SandboxError, match="zookeeper-1 does not run and cannot receive SIGSTOP"):
        server.pause()


def assert_listening_on_loopback_only(identities: list[Identity]) -> None:
    if not Path("/proc/net/tcp").exists():
        return
    sockets = {
        str(link.readlink())
        for identity in identities
        for link in Path(f"/proc/{identity.pid}/fd").iterdir()
        if link.is_symlink()
    }
    listening = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                listening.add(fields[1].split(":")[0])
    assert listening == {f"{struct.unpack('<I', socket.inet_aton(LOOPBACK))[0]:08X}"}


def test_a_kafka_without_zookeeper_has_topics_and_events(tmp_path: Path) -> None:
    directory = tmp_path / "box"
    try:
        started = run("start", directory, "--kafka", "4.1", "--zookeepers", "0")
        assert "zookeeper.connect" not in started.stdout
        created = run("topic", directory, "orders", "--partitions", "2")
        assert created.stdout == "Created topic orders with 2 partitions\n"
        assert "already exists" in run("topic", directory, "orders").stderr
        example = ("--json", '{"id": 1}')
        written = run("produce", directory, "orders", "--count", "3", *example)
        assert written.stdout == "Wrote 3 events to orders: ends are {0: 2, 1: 1}\n"
        paced = run("produce", directory, "orders", "--count", "3", "--rate", "50")
        assert paced.stdout == "Wrote 3 events to orders: ends are {0: 4, 1: 2}\n"
        assert "Known topics: orders" in run("produce", directory, "order").stderr
    finally:
        Sandbox.attach(directory).kill()


def test_only_kraft_does_without_zookeeper(tmp_path: Path) -> None:
    refused = run("start", tmp_path / "box", "--zookeepers", "0")
    assert "For brokers without ZooKeeper, choose Kafka 4.1 or 4.4 (--kafka)" in refused.stderr
