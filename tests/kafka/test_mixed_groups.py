"""Plain consumers in a group with ours: nothing is lost, and nothing comes twice but what a killed
one had not committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.group import all_rows, twice
from tests.harness.waiting import wait_until
from tests.interop.current_tools import GROUPS, run
from tests.kafka.members import KafkaGroup
from tests.kafka.plain_consumers import JavaConsumer, PythonConsumer
from tests.kafka.test_group_life import missing

PARTITIONS = 6


class Scene:
    """Two queries of ours, triggered in turn, while records keep coming in."""

    def __init__(self, group: KafkaGroup) -> None:
        self.group = group
        self.topic = group.topic(PARTITIONS)
        self.queries = [group.query(self.topic), group.query(self.topic)]
        self.plain: list[JavaConsumer | PythonConsumer] = []

    def go_on(self) -> None:
        self.group.produce(self.topic, 1)
        for query in self.queries:
            query.trigger()

    def until(self, reached: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            self.go_on()
            return reached()

        wait_until(look, 120, what, interval_s=0.0)

    def share(self) -> None:
        """Until everything is held, by all of them, and each has read on."""
        before = [len(each.rows) for each in (*self.queries, *self.plain)]

        def shared() -> bool:
            held = [len(q.held) for q in self.queries] + [c.held for c in self.plain]
            now = [len(each.rows) for each in (*self.queries, *self.plain)]
            read_on = all(n > b for n, b in zip(now, before, strict=True))
            return read_on and sum(held) == PARTITIONS and min(held) > 0

        self.until(shared, "every member to have a share")

    def close(self) -> None:
        for consumer in self.plain:
            consumer.close()

    def rows(self) -> list[tuple[str, int, int]]:
        return all_rows(*self.queries) + [row for c in self.plain for row in c.rows]

    def finish(self) -> None:
        wait_until(self._all_read, 60, "all records to be read", interval_s=0.0)

    def _all_read(self) -> bool:
        for query in self.queries:
            query.trigger()
        return missing(self.group, self.rows()) == []


@pytest.fixture
def scene(group: KafkaGroup) -> Iterator[Scene]:
    made = Scene(group)
    yield made
    made.close()


def members_of(group: KafkaGroup) -> list[list[str]]:
    told = run(
        GROUPS,
        *("--bootstrap-server", group.sandbox.bootstrap_servers),
        *("--describe", "--members", "--verbose", "--group", group.name),
    )
    return [line.split() for line in told.splitlines() if line.startswith(group.name)]


@pytest.mark.interop
@pytest.mark.long
def test_a_jvm_consumer_joins_leaves_and_is_killed(scene: Scene, tmp_path: Path) -> None:
    group = scene.group
    servers = group.sandbox.bootstrap_servers
    scene.until(lambda: sum(len(q.held) for q in scene.queries) == PARTITIONS, "all to be held")
    scene.plain.append(JavaConsumer(servers, group.name, scene.topic, tmp_path / "1.log"))
    scene.share()
    told = members_of(group)
    assert sorted(row[3] for row in told) == [group.name, group.name, "plain-jvm"], told
    assert sum(int(row[4]) for row in told) == PARTITIONS, told
    scene.plain[0].close()
    scene.until(lambda: sum(len(q.held) for q in scene.queries) == PARTITIONS, "its share")
    scene.finish()
    assert twice(scene.rows()) == []
    killed = JavaConsumer(servers, group.name, scene.topic, tmp_path / "2.log")
    scene.plain = [scene.plain[0], killed]
    scene.until(lambda: killed.held > 0 and len(killed.rows) > 0, "the second one's share")
    killed.kill()
    scene.until(lambda: sum(len(q.held) for q in scene.queries) == PARTITIONS, "the dead's share")
    scene.finish()
    # It prints and then commits: what it had in hand when it was killed may come again.
    assert set(twice(scene.rows())) <= set(killed.rows[-20:])


def test_a_python_consumer_joins_and_leaves(scene: Scene) -> None:
    group = scene.group
    scene.until(lambda: sum(len(q.held) for q in scene.queries) == PARTITIONS, "all to be held")
    python = PythonConsumer(group.sandbox.bootstrap_servers, group.name, scene.topic)
    scene.plain.append(python)
    scene.share()
    python.close()
    scene.until(lambda: sum(len(q.held) for q in scene.queries) == PARTITIONS, "its share")
    scene.finish()
    assert twice(scene.rows()) == []


@pytest.mark.long
def test_ours_joins_a_group_that_a_plain_one_leads(group: KafkaGroup) -> None:
    """So no member of ours writes first positions for it."""
    topic = group.topic(2)
    python = PythonConsumer(group.sandbox.bootstrap_servers, group.name, topic)
    wait_until(lambda: python.held == 2, 30, "the plain one to have all")
    query = group.query(topic)

    def shared() -> bool:
        group.produce(topic, 1)
        query.trigger()
        return len(query.held) == python.held == 1 and len(query.rows) > 0

    wait_until(shared, 30, "a share", interval_s=0.0)
    python.close()

    def all_read() -> bool:
        query.trigger()
        return missing(group, query.rows + python.rows) == []

    wait_until(all_read, 30, "the rest", interval_s=0.0)
    assert twice(query.rows + python.rows) == []
