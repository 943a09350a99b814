"""`delta.ingest` under kills: drivers, planners and workers die before, in and after each step of
a batch, and members are stopped for longer than their session. Each record is in the table once.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.chaos.process import Process
from tests.chaos.table import places_in
from tests.harness.oracle import Record
from tests.harness.waiting import wait_until
from tests.spark.ingest_kills import (
    MOMENTS,
    PATIENCE_S,
    SESSION_S,
    KillScene,
    appended,
    kill_scene,
)
from tests.spark.sink import Sink
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Paced, Produced

pytestmark = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="moments are found by inotify"),
]

PARTITIONS, PER_SECOND = 4, 200.0
# Two hundred in ten parts, each with a separate table. All together have each at each moment.
PARTS = 10
KILLS = {"driver": 3, "planner": 8, "workers": 9}
STOPPED_AT = ("batch planned", "file begun", "file written")
# A batch that takes longer to be there than the members need is lost.
COMPLETE_S = 120.0


@pytest.fixture
def scene(sandbox_41: Sandbox) -> Iterator[KillScene]:
    """In a directory of short name: the paths of Unix sockets lie below it. It stays where a test
    fails.
    """
    topic = f"kills-{uuid.uuid4().hex[:8]}"
    sandbox_41.create_topic(topic, PARTITIONS)
    directory = Path(tempfile.mkdtemp(prefix="zkk"))
    with kill_scene(sandbox_41, directory, topic) as made:
        yield made
    if made.passed:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        print(f"table and logs are kept in {directory}")


def wait_complete(scene: KillScene, produced: Produced) -> None:
    """The judge: by the table's log and its files, and by the numbers within the values."""
    expected = Counter(produced.offsets())

    def complete() -> bool:
        missing = expected - places_in(scene.table)
        assert not missing, f"{len(missing)} records are missing: {sorted(missing)[:10]}"
        return True

    wait_until(complete, COMPLETE_S, "all records to be in the table", interval_s=2.0)
    found = places_in(scene.table)
    assert found - expected == Counter()
    values = DeltaTable(str(scene.table)).to_pyarrow_table(columns=["value"])["value"]
    numbers = sorted(json.loads(value)["event"] for value in values.to_pylist())
    assert numbers == list(range(len(expected)))
    print(f"{len(expected)} records produced, each once in the table")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_twenty_kills_at_all_steps_lose_and_repeat_nothing(scene: KillScene, part: int) -> None:
    chance = random.Random(part)
    names = list(MOMENTS)
    drawn = [
        (who, names[(part * count + n) % len(names)])
        for who, count in KILLS.items()
        for n in range(count)
    ]
    chance.shuffle(drawn)
    member, killed = scene.member("one"), set[int]()
    counted: Counter[tuple[str, str]] = Counter()
    left: Counter[tuple[str, str]] = Counter()
    idle = 0
    with Paced(scene.sandbox.bootstrap_servers, scene.topic, PER_SECOND) as paced:
        member.start()
        scene.watch(member, PARTITIONS)
        places = scene.places(member)
        for number, (who, name) in enumerate(drawn, 1):
            moment, began = MOMENTS[name], time.monotonic()
            # Any file of a batch, not only the first one.
            times = chance.randint(1, PARTITIONS) if name.startswith("file") else 1
            if who == "driver":
                left[name, scene.kill_driver(member, moment, places, times)] += 1
                member.start()
            elif who == "planner":
                scene.kill_planner(member, moment, places, times, killed)
            else:
                idle += not scene.kill_workers(member, moment, places, times)
            counted[who, name] += 1
            took = time.monotonic() - began
            print(f"{number}: {who} killed, {name} ({times}), after {took:.1f} s", flush=True)
        scene.wait_runs(member, killed)
        produced = paced.stop()
        wait_complete(scene, produced)
        show(counted, left, idle)
        check_ends(scene, member)
    scene.passed = True


def show(counted: Counter[tuple[str, str]], left: Counter[tuple[str, str]], idle: int) -> None:
    for name in MOMENTS:
        print(f"{name}: {', '.join(f'{counted[who, name]} x {who}' for who in KILLS)}")
    for (name, what), count in sorted(left.items()):
        print(f"driver killed, {name}: {what}: {count}")
    print(f"{sum(counted.values())} kills; at {idle} of those of workers there was none")


def check_ends(scene: KillScene, member: Process) -> None:
    """Queries have ended by the kills alone, and never by what the table refused."""
    ends = Counter(
        error.splitlines()[0].partition("terminated with exception: ")[2][:120]
        for error in scene.died()
    )
    for error, count in ends.most_common():
        print(f"{count} queries ended: {error}")
    refused = [error for error in scene.died() if "DeltaError" in error]
    assert refused == []
    assert "ZKG-198" not in scene.log_of(member)


@pytest.mark.timeout(1800)
def test_a_member_stopped_beyond_its_session_adds_nothing_that_another_has_taken_over(
    scene: KillScene,
) -> None:
    one, two = scene.member("one"), scene.member("two")
    with Paced(scene.sandbox.bootstrap_servers, scene.topic, PER_SECOND) as paced:
        one.start()
        scene.watch(one, PARTITIONS)
        two.start()
        for name in STOPPED_AT:
            wait_shared(scene, one, two)
            stop_at(scene, one, name)
            stopped, lost = time.monotonic(), scene.plan(one)

            def taken_over(since: float = time.time()) -> bool:
                plan = scene.plan(two)
                return len(plan) == PARTITIONS and appended(two)[-1]["at"] > since

            wait_until(taken_over, PATIENCE_S, "the other member to take over")
            wait_until(
                lambda at=stopped: time.monotonic() > at + 2 * SESSION_S,  # type: ignore[misc]
                PATIENCE_S,
                "two sessions to pass",
            )
            assert all(scene.plan(two)[of][0] >= until for of, (_, until) in lost.items())
            goes_on = time.time()
            one.resume()
            wait_until(
                lambda at=goes_on: appended(one)[-1]["at"] > at,  # type: ignore[misc]
                PATIENCE_S,
                "the stopped member to continue",
            )
            again = records_of(one, since=goes_on) & records_of(two)
            print(
                f"stopped, {name}, for {time.monotonic() - stopped:.1f} s with {len(lost)} "
                f"partitions; it has read {len(again)} records that the other one has",
                flush=True,
            )
        wait_shared(scene, one, two)
        wait_complete(scene, paced.stop())
    check_ends(scene, one)
    check_ends(scene, two)
    scene.passed = True


def records_of(member: Process, since: float = 0.0) -> set[Record]:
    """What its commits were given, whether the table took it or not."""
    deliveries = Sink(member.job.sink).deliveries()
    return {record for d in deliveries if d.ended > since for record in d.records()}


def wait_shared(scene: KillScene, one: Process, two: Process) -> None:
    def shared() -> bool:
        ours, others = scene.plan(one), scene.plan(two)
        both = {*ours, *others}
        return bool(ours and others) and len(both) == len(ours) + len(others) == PARTITIONS

    wait_until(shared, PATIENCE_S, "the members to share the partitions")


def stop_at(scene: KillScene, member: Process, name: str) -> None:
    """Not while it has the table's lock: others wait for its holder, however long it is stopped."""
    while True:
        places = scene.places(member, scene.plan(member))
        scene.events.forget()
        scene.wait(MOMENTS[name], places)
        member.pause()
        if not scene.is_locked() and member.job.unlogged():
            return
        member.resume()
