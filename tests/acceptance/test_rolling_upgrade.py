"""Members of the release before and of this one in one group, and a checkpoint that goes from the
one to the other. The older release is taken from the history of the repository.
"""

from __future__ import annotations

import io
import json
import select
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.light import LightGroup, served
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "c56028c"
"""The last commit of 0.1.0's first wave: plans of version 1, and none of the rooms of today."""
MEMBER = ROOT / "tests" / "acceptance" / "member_process.py"
PARTITIONS = 4


class Member:
    def __init__(self, root: Path, options: dict[str, str], checkpoint: Any = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(MEMBER)],
            env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.rows: list[tuple[str, int, int]] = []
        self.checkpoint = checkpoint or {"offsets": [], "commits": []}
        self._say(json.dumps({"options": options, **self.checkpoint}))

    def begin(self, until: str = "") -> None:
        """A trigger; with a step, no further than that."""
        self._say(f"trigger {until}")

    def answers(self) -> bool:
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], 0.1)[0])

    def end(self) -> int:
        """How many partitions it holds after it."""
        answer = self._answer()
        self.rows += [tuple(row) for row in answer["rows"]]
        self.checkpoint = {name: answer[name] for name in ("offsets", "commits")}
        return len(answer["held"])

    def stop(self) -> None:
        self._say("stop")
        self._answer()
        self.close()

    def kill(self) -> None:
        self._say("die")
        self.close()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if self.process.poll() is None and not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        assert answer, f"the member has ended with status {self.process.wait(30)}"
        return json.loads(answer)


def trigger(*members: Member) -> list[int]:
    """Trigger all at once, and again until all are done: a member may wait for the next trigger of
    another.
    """
    for member in members:
        member.begin()
    held: dict[int, int] = {}
    busy = set(range(len(members)))
    while busy:
        for number in sorted(busy):
            if members[number].answers():
                held[number] = members[number].end()
                busy.discard(number)
                if len(held) < len(members):
                    members[number].begin()
                    busy.add(number)
    return [held[number] for number in range(len(members))]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = subprocess.run(
        ["git", "-C", str(ROOT), "archive", BEFORE, "pyspark_zkgroup", "tests"],
        capture_output=True,
        check=False,
    )
    if found.returncode != 0:
        pytest.skip(f"the history without {BEFORE}: {found.stderr.decode()[:200]}")
    path = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as tar:
        tar.extractall(path, filter="data")
    return path


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[LightGroup]:
    with served(sandbox) as made:
        yield made


def options_of(group: LightGroup, topic: str, protocol: str) -> dict[str, str]:
    options = group.options(topic, protocol=protocol)
    if protocol == "kafka":
        del options["zookeeper.connect"], options["zookeeper.session.timeout.ms"]
        options |= {"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"}
    return options


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator", "kafka"])
@pytest.mark.parametrize("first", ["before", "now"])
def test_both_releases_share_a_group(
    before: Path, group: LightGroup, protocol: str, first: str
) -> None:
    """Each row is read once: by the first member, by both, and by the remaining one, which
    continues from the checkpoint of the other. That ended with a batch planned and not read.
    """
    topic = group.topic(PARTITIONS)
    options = options_of(group, topic, protocol)
    roots = {"before": before, "now": ROOT}
    members: list[Member] = []

    def join(root: Path, checkpoint: Any = None) -> Member:
        members.append(Member(root, options, checkpoint))
        return members[-1]

    def rows() -> list[tuple[str, int, int]]:
        return [row for member in members for row in member.rows]

    def all_read(count: int, *running: Member) -> bool:
        trigger(*running)
        return len(rows()) >= count

    try:
        group.produce(topic, 5)
        old, new = join(roots.pop(first)), None
        wait_until(lambda: all_read(20, old), 60, "the first to read")
        new = join(*roots.values())
        wait_until(lambda: trigger(old, new) == [2, 2], 60, "a share for each")
        group.produce(topic, 5)
        wait_until(lambda: all_read(40, old, new), 60, "both to read")
        group.produce(topic, 5)
        old.begin("logged")
        old.end()
        wait_until(lambda: all_read(50, new), 60, "the second to read its share")
        old.kill()
        last = join(ROOT, old.checkpoint)
        wait_until(lambda: all_read(60, last, new), 90, "the third to read on from there")
        new.stop()
        last.stop()
    finally:
        for member in members:
            member.process.kill()
            member.close()
    read = Counter(rows())
    assert len(read) == 60
    assert set(read.values()) == {1}


@pytest.mark.long
def test_a_light_member_of_the_previous_release_learns_that_the_versions_differ(
    before: Path, group: LightGroup
) -> None:
    topic = group.topic(PARTITIONS)
    found = subprocess.run(
        [sys.executable, str(MEMBER)],
        env={"PYTHONPATH": str(before), "PATH": "/usr/bin:/bin"},
        cwd=before,
        input=json.dumps({"options": group.options(topic), "offsets": [], "commits": []})
        + "\ntrigger \n" * 5,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode != 0
    assert "version" in found.stderr
    print(found.stderr[-600:])
