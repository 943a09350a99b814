"""Where scenes are played: servers that are started when first needed, and steps one by one."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.documents import places, running
from tests.documents.blocks import Block
from tests.documents.commands import MARK, Act, acts, bare, commands, script
from tests.documents.log import Log
from tests.documents.places import Place
from tests.documents.stand_ins import standing_in
from tests.documents.steps import (
    NotRun,
    Python,
    Scene,
    Servers,
    Shell,
    Step,
    block_of,
    program,
)

PATIENCE_S = 3600.0
# A worker of Spark's has 10 seconds to start, which cannot be set: too few on a busy machine.
TOO_BUSY = "Python worker failed to connect back"
PROPERTIES = "client.properties"
# Of docs/security.md, which takes them from the environment.
PASSWORDS = {"KAFKA_PASSWORD": "alice-of-the-pages", "BILLING_PASSWORD": "billing-of-the-pages"}


class Stage:
    def __init__(
        self, place: Place, environment: Mapping[str, str], found: list[Block], log: Log
    ) -> None:
        self.place, self.blocks, self.log = place, found, log
        self.first_rows: running.Line | None = None
        self.was_busy = False
        """The last scene has failed as others had the machine: played again it may go well."""
        self._plain = dict(environment)
        self._number = 0
        self._beside: list[tuple[str, running.Running]] = []
        self._serving: dict[Servers, bool] = {}
        """Those that were started, and whether they are as scenes want them."""
        # For the scene that is played.
        self._cwd, self._environment = place.root, self._plain
        self._addresses: Mapping[str, str] = {}

    def play(self, scene: Scene) -> bool:
        """Whether all of it went as it should. It ends at the first step that does not."""
        self.log.say(f"\n== {scene.name}")
        right = self.was_busy = False
        try:
            right = self._set(scene) and all(self._step(scene, step) for step in scene.steps)
        finally:
            right &= self._end_background(scene)
        return right

    def close(self) -> None:
        self._environment = places.with_installed(self._plain, self.place)
        for servers in self._serving:
            self._ours(f"zkgroup sandbox stop --dir {self.place.box(servers)}")

    # -- before a scene

    def _set(self, scene: Scene) -> bool:
        self._number += 1
        directory = self.place.scene(self._number)
        shutil.rmtree(directory, ignore_errors=True)  # of an earlier run
        data = directory / "data"
        for folder in (data / "checkpoints", directory / "here"):
            folder.mkdir(parents=True)
        self._cwd = self.place.clone if scene.in_clone else directory / "here"
        self._environment = {**self._plain, **PASSWORDS, "LISTEN": places.free_address()}
        self._addresses = {}
        if not scene.by_make:
            self._environment = places.with_installed(self._environment, self.place)
            if not self._has_environment():
                return False
        if scene.servers == "none":
            return True
        facts = self.place.facts(scene.servers)
        self._environment |= {"STORY_DATA": str(data), "STORY_SERVERS": str(facts)}
        if not self._serve(scene.servers):
            return False
        known = json.loads(facts.read_text("utf-8"))
        self._addresses = {**known, "data": str(data)}
        return True

    def _has_environment(self) -> bool:
        """What the README's installation is made in: a newcomer has one, or makes it so."""
        if self.place.installed.exists():
            return True
        return self._ours(f"python3 -m venv {self.place.installed}")

    def _serve(self, servers: Servers) -> bool:
        story, box = self.place.story / "story.py", self.place.box(servers)
        if self._serving.get(servers):
            return self._ours(f"python {story} forget")
        if box.exists():  # not filled, or of an earlier run
            self._ours(f"zkgroup sandbox stop --dir {box}")
            shutil.rmtree(box)
        self._serving[servers] = False
        if servers == "open":
            wanted = [f"zkgroup sandbox start --dir {box} --registry", f"python {story} open {box}"]
        else:
            wanted = [f"{self.place.clone}/.venv/bin/python {story} secured {box}"]
        self._serving[servers] = self._ours(*wanted)
        return self._serving[servers]

    # -- the steps of a scene

    def _step(self, scene: Scene, step: Step) -> bool:
        if isinstance(step, Shell):
            return self._shell(scene, step)
        if isinstance(step, Python):
            return self._python(f"{scene.name}: around it", program(step, ""), step.code)
        block = block_of(step, self.blocks)
        self.log.say(f"-- {block.name}")
        if isinstance(step, NotRun):
            self.log.command(block.text)
            self.log.leave_out(block.name, step.why)
            return True
        if block.language == "python":
            text = standing_in(block.text, self._addresses)
            return self._python(block.name, program(step, text), block.text)
        if block.language == "properties":
            file = self._cwd / PROPERTIES
            file.write_text(standing_in(block.text, self._addresses))
            file.chmod(0o600)  # as the page says
            self.log.say(f"    [written to {PROPERTIES}]")
            return True
        found = commands(block.text)
        for command in found:
            if why := step.left_out.get(bare(command)):
                self.log.command(command)
                self.log.leave_out(f"{block.name}: {bare(command)}", why)
        wanted = acts(found, step.instead, step.left_out)
        return self._run(block.name, wanted, first_rows=step.first_rows)

    def _shell(self, scene: Scene, step: Shell) -> bool:
        if not step.beside:
            return self._run(scene.name, [Act(step.line, step.line)])
        self.log.command(f"{step.line} &")
        command = ["sh", "-c", f"exec {standing_in(step.line, self._addresses)}"]
        self._beside.append((step.line, running.start(command, self._cwd, self._environment)))
        return True

    def _python(self, name: str, text: str, shown: str) -> bool:
        path = self.place.story / f"{re.sub('[^A-Za-z0-9]+', '-', name)}.py"
        path.write_text(text, encoding="utf-8")
        return self._run(name, [Act(shown.rstrip(), f"python {path}")])

    def _ours(self, *commands_of_ours: str) -> bool:
        return self._run("servers and tools", [Act(line, line) for line in commands_of_ours])

    def _run(self, name: str, wanted: Sequence[Act], *, first_rows: str = "") -> bool:
        """All in one shell. Whether each ended as it should."""
        text = script([standing_in(act.run, self._addresses) for act in wanted])
        started = running.start(["sh", "-c", text], self._cwd, self._environment)
        try:
            status = started.wait(PATIENCE_S)
        except BaseException:
            started.kill()
            raise
        ended = time.monotonic()
        if first_rows and self.first_rows is None:
            of_rows = (line for line in started.lines if re.search(first_rows, line.text))
            self.first_rows = next(of_rows, None)
        parts = parts_of(started.lines, started.began)
        self.was_busy |= any(TOO_BUSY in line.text for line in started.lines)
        right = True
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            act = wanted[part.number]
            self.log.command(act.shown)
            if act.note:
                self.log.say(f"    ({act.note})")
            right &= self.log.outcome(
                f"{name}: {act.title}",
                part.said,
                status if is_last else 0,
                (ended if is_last else parts[number + 1].began) - part.began,
            )
        for act in wanted[parts[-1].number + 1 :]:
            self.log.command(act.shown)
            right &= self.log.outcome(f"{name}: {act.title}", ["not reached"], status or 1, 0.0)
        return right

    def _end_background(self, scene: Scene) -> bool:
        right = True
        for line, one in self._beside:
            status = one.end()
            self.log.command(f"{line} &")
            seconds = time.monotonic() - one.began
            said = [said.text for said in one.lines]
            self.was_busy |= any(TOO_BUSY in text for text in said)
            right &= self.log.outcome(f"{scene.name}: {line}", said, status, seconds)
        self._beside.clear()
        return right


@dataclass(frozen=True)
class Part:
    """What one command of a script said."""

    number: int
    began: float
    said: Sequence[str]


def parts_of(lines: Sequence[running.Line], began: float) -> list[Part]:
    """Lines before any command (of a shell that cannot read the script) belong to the first one."""
    found: list[tuple[int, float, list[str]]] = []
    for line in lines:
        if line.text.startswith(MARK):
            found.append((int(line.text[1:]), line.at, []))
        else:
            if not found:
                found.append((0, began, []))
            found[-1][2].append(line.text)
    return [Part(*one) for one in found] or [Part(0, began, [])]
