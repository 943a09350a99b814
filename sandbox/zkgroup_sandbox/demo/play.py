"""The play: members of one group join, leave and die while events come in; then all is counted.

Each scene ends when ZooKeeper shows what it was about, not after a time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.driver import Driver
from zkgroup_sandbox.demo.look import Look, Onlooker
from zkgroup_sandbox.demo.screen import Picture, Screen
from zkgroup_sandbox.demo.spark_jobs import SparkJobs
from zkgroup_sandbox.demo.table_log import TableLog
from zkgroup_sandbox.produce import Paced, Produced, produce

GROUP, TOPIC, PARTITIONS = "demo", "events", 12
EVENTS_MIN = 100_000
BACKLOG_EVENTS = 60_000
EVENTS_PER_S = 500
# What the last job finds to drain, at the least.
REST_EVENTS_MIN = 10_000
BATCH_ROWS_MAX = 4_000
SESSION_TIMEOUT_MS = 4_000
SCENE_DEADLINE_S = 300.0
WATCHED_S = 3.0
LOOK_EVERY_S = 0.25
FIRST, SECOND, THIRD = "member-1", "member-2", "member-3"


@dataclass(frozen=True)
class Balance:
    line: str
    right: bool


class Play:
    def __init__(self, sandbox: Sandbox, jobs: SparkJobs, screen: Screen) -> None:
        self._sandbox, self._jobs, self._screen = sandbox, jobs, screen
        self._drivers: dict[str, Driver] = {}
        self._states: dict[str, str] = {}
        self._table = TableLog(jobs.table)
        self._backlog = Produced(TOPIC)
        self._paced: Paced | None = None
        self._onlooker: Onlooker | None = None

    def run(self, *, remove_one_row: bool) -> Balance:
        self._open()
        self._two_share()
        self._one_joins()
        self._one_leaves()
        self._one_dies()
        produced = self._all_is_produced()
        self._screen.close()
        self._drain()
        return self._count(produced, remove_one_row=remove_one_row)

    def close(self) -> None:
        """Ends what still runs, whatever has happened."""
        self._screen.close()
        for driver in self._drivers.values():
            driver.kill()
        if self._onlooker is not None:
            self._onlooker.close()

    # -- the scenes

    def _open(self) -> None:
        self._sandbox.create_topic(TOPIC, PARTITIONS)
        servers = self._sandbox.bootstrap_servers
        self._backlog = produce(servers, TOPIC, BACKLOG_EVENTS)
        self._onlooker = Onlooker(self._jobs.zookeeper_connect, servers, GROUP, TOPIC, PARTITIONS)
        self._screen.say(f"{BACKLOG_EVENTS} events are in topic {TOPIC}, {PARTITIONS} partitions")

    def _two_share(self) -> None:
        self._screen.say(f"{FIRST} and {SECOND} start: two Spark drivers, one group", "bold")
        for name in (FIRST, SECOND):
            self._start(name)
        look = self._until(
            "the two members to share the partitions and to finish a batch",
            lambda look: self._reads(look, {FIRST: 6, SECOND: 6}),
        )
        servers = self._sandbox.bootstrap_servers
        self._paced = Paced(servers, TOPIC, EVENTS_PER_S, first=BACKLOG_EVENTS).start()
        self._screen.say(
            f"they share the partitions: {_shares(look)}; "
            f"from now on {EVENTS_PER_S} events come in each second"
        )
        self._watch()

    def _one_joins(self) -> None:
        before = self._look()
        self._screen.say(f"{THIRD} starts", "bold")
        self._start(THIRD)
        self._until(f"{THIRD} to register", lambda look: _consumer(THIRD) in look.members)
        joined = time.monotonic()
        look = self._until(
            f"{THIRD} to get its share",
            lambda look: self._owns(look, {FIRST: 4, SECOND: 4, THIRD: 4}),
        )
        self._screen.say(
            f"{time.monotonic() - joined:.1f} s after it registered: {_shares(look)}; "
            f"{PARTITIONS - look.kept_since(before)} partitions moved, "
            "the other owner nodes stand as before"
        )
        self._until(
            "all three to finish a batch",
            lambda look: self._reads(look, {FIRST: 4, SECOND: 4, THIRD: 4}),
        )
        self._watch()

    def _one_leaves(self) -> None:
        self._screen.say(f"{FIRST} leaves (SIGTERM, which stops its query)", "bold")
        self._states[FIRST] = "told to leave"
        self._drivers[FIRST].leave()
        self._until(f"{FIRST} to leave", lambda look: _consumer(FIRST) not in look.members)
        left = time.monotonic()
        self._states[FIRST] = "left"
        look = self._until(
            "the others to take its share", lambda look: self._owns(look, {SECOND: 6, THIRD: 6})
        )
        self._screen.say(f"{time.monotonic() - left:.1f} s after it left: {_shares(look)}")
        self._await_end(FIRST)
        self._watch()

    def _one_dies(self) -> None:
        # The worst moment: rows are in Delta, and the group does not know them as read.
        self._until(
            f"a batch of {SECOND} to be in Delta before it is committed",
            lambda look: self._unknown_rows(look, SECOND) > 0,
        )
        driver = self._drivers[SECOND]
        self._states[SECOND] = "killed"
        driver.kill()
        killed = time.monotonic()
        look = self._look()
        self._screen.say(f"{SECOND} is killed (kill -9)", "bold")
        self._screen.say(
            f"{self._unknown_rows(look, SECOND)} of its rows are in Delta, but not committed to "
            "the group: they will be read again"
        )
        self._until("its session to end", lambda look: _consumer(SECOND) not in look.members)
        expired = time.monotonic()
        look = self._until(
            f"{THIRD} to take the partitions of the dead",
            lambda look: self._owns(look, {THIRD: PARTITIONS}),
        )
        self._screen.say(
            f"{expired - killed:.1f} s later its session has ended "
            f"(timeout {SESSION_TIMEOUT_MS / 1000:.0f} s), and {time.monotonic() - expired:.1f} s "
            f"after that {THIRD} owns all {len(look.owners)}"
        )
        self._watch()
        self._all_leave()

    def _all_leave(self) -> None:
        self._states[THIRD] = "told to leave"
        self._drivers[THIRD].leave()
        self._until(f"{THIRD} to leave", lambda look: not look.members)
        self._states[THIRD] = "left"
        self._await_end(THIRD)
        self._screen.say(f"{THIRD} has left too")

    def _all_is_produced(self) -> Produced:
        assert self._paced is not None
        paced, self._paced = self._paced.stop(), None
        so_far = self._backlog.count + paced.count
        rest_count = max(EVENTS_MIN - so_far, REST_EVENTS_MIN)
        rest = produce(self._sandbox.bootstrap_servers, TOPIC, rest_count, first=so_far)
        self._backlog = _together(self._backlog, paced, rest)
        self._screen.say(f"{rest_count} more events; all {self._backlog.count} are in Kafka")
        self._show(self._look())
        return self._backlog

    def _drain(self) -> None:
        self._screen.say("jobs/drain.py is submitted: it reads what is left, and ends", "bold")
        driver = self._run("drain", self._jobs.drain())
        if driver.status != 0:
            raise _failed(driver)
        self._screen.say(_last(driver.lines("drain: ")).removeprefix("drain: "))

    def _count(self, produced: Produced, *, remove_one_row: bool) -> Balance:
        path = self._jobs.directory / "produced.json"
        path.write_text(json.dumps({"topic": TOPIC, "ranges": produced.ranges}), "utf-8")
        self._screen.say("all records in Delta are compared with what was produced")
        command = self._jobs.verify(path, remove_one_row=remove_one_row)
        driver = self._run("verify", command)
        counted = driver.lines("produced ")
        if not counted:
            raise _failed(driver)
        return Balance(counted[-1], driver.status == 0)

    # -- how they are played

    def _start(self, name: str) -> None:
        command = self._jobs.member(name, BATCH_ROWS_MAX, SESSION_TIMEOUT_MS)
        self._drivers[name] = self._driver(name, command)
        self._states[name] = "starts"

    def _run(self, name: str, command: list[str]) -> Driver:
        driver = self._drivers[name] = self._driver(name, command)
        ends = time.monotonic() + SCENE_DEADLINE_S
        while driver.status is None:
            if time.monotonic() > ends:
                raise _too_late(f"jobs/{name}.py to end", driver)
            time.sleep(LOOK_EVERY_S)
        return driver

    def _driver(self, name: str, command: list[str]) -> Driver:
        logs = self._jobs.directory / "drivers"
        logs.mkdir(exist_ok=True)
        return Driver(name, command, logs, self._jobs.environment())

    def _await_end(self, name: str) -> None:
        driver = self._drivers[name]
        self._until(f"the driver of {name} to end", lambda _: driver.status is not None)
        if driver.status != 0:
            raise _failed(driver)

    def _watch(self) -> None:
        ends = time.monotonic() + WATCHED_S
        self._until("", lambda _: time.monotonic() > ends)

    def _until(self, what: str, condition: Callable[[Look], bool]) -> Look:
        ends = time.monotonic() + SCENE_DEADLINE_S
        while True:
            look = self._look()
            self._show(look)
            if condition(look):
                return look
            for name, driver in self._drivers.items():
                if driver.status is not None and self._states.get(name) in ("starts", "reads"):
                    raise _failed(driver)
            if time.monotonic() > ends:
                raise _too_late(what, *self._drivers.values())
            time.sleep(LOOK_EVERY_S)

    def _look(self) -> Look:
        assert self._onlooker is not None
        look = self._onlooker.look()
        for name, state in self._states.items():
            if state == "starts" and _consumer(name) in look.members:
                self._states[name] = "reads"
        return look

    def _show(self, look: Look) -> None:
        produced = self._backlog.count
        if self._paced is not None:
            produced += self._paced.so_far.count
        members = {}
        for name, state in self._states.items():
            consumer = _consumer(name)
            if state == "killed" and consumer in look.members:
                state = "killed; its session has not ended yet"
            members[name] = (consumer, state)
        title = f"group {GROUP}, topic {TOPIC}"
        rows = self._table.catch_up().rows
        self._screen.show(Picture(title, look, members, produced, rows))

    def _owns(self, look: Look, shares: Mapping[str, int]) -> bool:
        return all(len(look.share(_consumer(name))) == n for name, n in shares.items())

    def _reads(self, look: Look, shares: Mapping[str, int]) -> bool:
        """Whether the members own so many, and each has committed something that it has read."""
        read = all(driver_has_read(self._drivers[name]) for name in shares)
        return read and self._owns(look, shares)

    def _unknown_rows(self, look: Look, name: str) -> int:
        ends = self._table.catch_up().ends
        share = look.share(_consumer(name))
        return sum(max(0, ends.get(p, 0) - look.committed.get(p, 0)) for p in share)


def driver_has_read(driver: Driver) -> bool:
    return any("drain: batch " in line for line in driver.lines())


def _consumer(name: str) -> str:
    """The consumer id of a member whose member.id is its name."""
    return f"{GROUP}_{name}"


def _shares(look: Look) -> str:
    counts = {c: len(look.share(c)) for c in sorted(look.members)}
    return " + ".join(str(n) for n in counts.values() if n)


def _together(*parts: Produced) -> Produced:
    whole = Produced(TOPIC)
    for part in parts:
        for partition, ranges in part.ranges.items():
            for start, until in ranges:
                whole.add(partition, start, until)
    return whole


def _last(lines: list[str]) -> str:
    return lines[-1] if lines else "(nothing was printed)"


def _failed(driver: Driver) -> SandboxError:
    return SandboxError.of(
        "driver_ended",
        driver=driver.name,
        status=driver.status,
        line=_last(driver.lines()),
        log=driver.log,
    )


def _too_late(what: str, *drivers: Driver) -> SandboxError:
    logs = ", ".join(str(d.log) for d in drivers)
    return SandboxError.of("scene_too_long", waited_s=SCENE_DEADLINE_S, what=what, log=logs)
