"""What all cases have: topics with records, and members in separate processes, each with a log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.exercise.draw import Drawn
from tests.exercise.load import Load
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
SESSION_MS = 10_000


class Running:
    """A process of the case with its log. `name` is that of the log."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.name = log.stem
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                cwd=PROJECT,
            )

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def terminate(self) -> None:
        """A clean end."""
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """As kill -9: its session stays behind."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.is_alive:
            self.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()


class Cast:
    """`place` are the options with which the members find their group."""

    marker = '"member": "'
    """What precedes the id of a member in the progress of its query."""

    def __init__(
        self,
        drawn: Drawn,
        sandbox: Sandbox,
        load: Load,
        logs: Path,
        state: Path,
        place: Mapping[str, str],
    ) -> None:
        self.drawn, self.sandbox, self.load = drawn, sandbox, load
        self.group = drawn.group
        self.dice = drawn.dice()
        self.logs, self.state = logs, state
        for directory in (logs, state):
            directory.mkdir(parents=True)
        self.place = place
        self.partitions: dict[str, int] = {}
        self.members: list[Running] = []
        self.options: dict[str, dict[str, str]] = {}
        self.running: list[Running] = []

    # -- what the group reads

    def topic(self, index: int, partitions: int, per_second: Mapping[int, float] | float) -> str:
        name = self.drawn.topics[index]
        self.sandbox.create_topic(name, partitions)
        self.partitions[name] = partitions
        rates = per_second
        if not isinstance(rates, Mapping):
            rates = dict.fromkeys(range(partitions), rates)
        self.load.add(name, rates)
        return name

    # -- who reads it

    def member(self, **changes: str) -> Running:
        """Another query of the group, of all its topics unless told otherwise."""
        name = f"member-{len(self.options) + 1}"
        self.options[name] = {
            **self.place,
            "group.id": self.group,
            "subscribe": ",".join(self.partitions),
            "startingOffsets": "earliest",
            "threads": "1",
            "checkpointLocation": str(self.state / name),
            **{name.replace("_", "."): value for name, value in changes.items()},
        }
        return self.start(name)

    def start(self, name: str) -> Running:
        """Once more, on its old checkpoint, if it has run before."""
        member = self.process("tests.exercise.member", [], name)
        told = {"options": self.options[name], "checkpoint": str(self.state / name)}
        member.tell(json.dumps(told))
        self.members.append(member)
        return member

    def process(self, module: str, arguments: list[str], name: str) -> Running:
        return self.program([sys.executable, "-m", module, *arguments], name)

    def program(self, command: list[str], name: str) -> Running:
        running = Running(command, self.logs / f"{name}.log")
        self.running.append(running)
        return running

    def stop_members(self) -> list[str]:
        """Cleanly; the names, for `start`."""
        names = [member.name for member in self.members]
        for member in self.members:
            member.process.terminate()
        for member in self.members:
            member.process.wait(PATIENCE_S)
        self.members.clear()
        return names

    # -- what their logs say

    def consumer(self, member: Running) -> str:
        """The consumer id of a member, as its log has it; empty until it has said so."""
        for line in reversed((self.logs / f"{member.name}.log").read_text().splitlines()):
            if self.marker in line:
                return line.partition(self.marker)[2].partition('"')[0]
        return ""

    # -- waiting

    def wait(self, what: str, condition: object) -> None:
        assert callable(condition)
        wait_until(condition, PATIENCE_S, f"case {self.drawn.number}: {what}", interval_s=0.2)

    def wait_said(self, member: Running, text: str) -> None:
        log = self.logs / f"{member.name}.log"
        self.wait(f"{member.name} to say {text!r}", lambda: text in log.read_text())

    def wait_ended(self, member: Running) -> None:
        self.wait(f"{member.name} to end", lambda: not member.is_alive)

    def close(self) -> None:
        for running in self.running:
            running.close()
