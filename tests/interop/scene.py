"""One group of our members and JVM members of one version, with a steady stream of events.

Our members are queries without Spark, triggered in turn while something is waited for: each trigger
is a boundary and, where there are new records, a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kazoo.exceptions import NoNodeError

from pyspark_zkgroup.inspect.jvm_consumers import imitate
from pyspark_zkgroup.inspect.jvm_version import JvmVersion
from pyspark_zkgroup.model import TopicPartition
from tests.harness.group import Group
from tests.harness.oracle import Record, Verdict, judge
from tests.harness.spark_order import Checkpoint, CrashError, Query
from tests.harness.waiting import wait_until
from tests.interop.old_consumer import OldConsumer, in_hand
from tests.interop.old_tools import OldTools
from zkgroup_sandbox.produce import Paced, Produced

# Partitions 10 and 2 stand in another order by their hash than by their number, and in another one
# again before 1.0.
PARTITIONS = {"a": 11, "b": 4}
PER_SECOND = {"a": 240.0, "b": 80.0}
THREADS = 2
SESSION_MS = 3000
# A JVM member tries 4 times, 2 s apart, before it gives up; a session ends within its timeout.
PATIENCE_S = 30.0

Member = TypeVar("Member", Query, OldConsumer)


@dataclass(frozen=True)
class Setup:
    version: str
    strategy: str = "range"
    pattern: str = "static"

    def __str__(self) -> str:
        return f"{self.version}-{self.strategy}-{self.pattern}"


class Scene:
    def __init__(self, setup: Setup, group: Group, tools: OldTools, directory: Path) -> None:
        self.setup, self.group, self.tools, self.directory = setup, group, tools, directory
        self.topics = {group.topic(n, f"{group.name}-{t}"): t for t, n in PARTITIONS.items()}
        self.members: list[Query] = []
        self.jvms: list[OldConsumer] = []
        self.done: list[Query | OldConsumer] = []
        self.may_come_twice: set[Record] = set()
        self._paced: list[Paced] = []
        self._produced: list[Produced] = []

    # -- events

    def produce(self) -> None:
        for topic, short in self.topics.items():
            rate = PER_SECOND[short]
            self._paced.append(Paced(self.group.sandbox.bootstrap_servers, topic, rate).start())

    def stop_producing(self) -> None:
        while self._paced:
            self._produced.append(self._paced.pop().stop())

    def delivered(self) -> Iterator[Record]:
        for reader in (*self.members, *self.jvms, *self.done):
            yield from list(reader.rows)

    def verdict(self) -> Verdict:
        produced = (*self._produced, *self.group.produced.values())
        return judge((r for one in produced for r in one.offsets()), self.delivered())

    # -- who takes part

    def join(self, checkpoint: Checkpoint | None = None, **options: str) -> Query:
        if checkpoint is None:
            directory = self.directory / f"checkpoint-{len(self.members) + len(self.done)}"
            checkpoint = Checkpoint(directory=directory)
        given = {
            "checkpointLocation": str(checkpoint.directory),
            "strategy": self.setup.strategy,
            "order": JvmVersion.parse(self.setup.version).order,
            "session": str(SESSION_MS),
            **options,
        }
        if not given.keys() & {"pattern", "excludePattern"}:
            if self.setup.pattern == "static":
                given["subscribe"] = ",".join(self.topics)
            else:
                given["pattern"] = self.expression
        query = self.group.query("", checkpoint, available_now=False, **given)
        self.members.append(query)
        return query

    def join_jvm(self, version: str = "", **properties: str) -> OldConsumer:
        entries = self.topics if self.setup.pattern == "static" else [self.expression]
        jvm = OldConsumer(
            version or self.setup.version,
            (self.setup.pattern, dict.fromkeys(entries, THREADS)),
            {
                "zookeeper.connect": self._connect,
                "group.id": self.group.name,
                "zookeeper.session.timeout.ms": str(SESSION_MS),
                "partition.assignment.strategy": self.setup.strategy,
                "auto.offset.reset": "smallest",
                "auto.commit.interval.ms": "1000",
                **{name.replace("_", "."): value for name, value in properties.items()},
            },
            self.directory / f"jvm-{len(self.jvms) + len(self.done)}.log",
        )
        self.jvms.append(jvm)
        return jvm

    def leave(self, query: Query) -> None:
        """A clean stop: the last batch is in Spark's commit log, so it is committed on leaving."""
        query.stop()
        self._gone(self.members, query)

    def end_jvm(self, jvm: OldConsumer) -> None:
        jvm.terminate()
        self._gone(self.jvms, jvm)

    def kill_jvm(self, jvm: OldConsumer) -> None:
        """What it had read and not committed comes again, and nothing else."""
        jvm.kill()
        self._gone(self.jvms, jvm)
        self.may_come_twice |= self._uncommitted(jvm.rows)

    def crash_in_batch(self, query: Query, step: str) -> None:
        """kill -9 of our driver in mid-batch, after `step`."""

        def at(reached: str) -> None:
            if reached == step:
                raise CrashError

        def crashed() -> bool:
            try:
                query.trigger(at)
            except CrashError:
                return True
            return False

        wait_until(crashed, PATIENCE_S, f"a batch to reach {step!r}", interval_s=0.0)
        self.crash(query)

    def crash(self, query: Query) -> None:
        """The same between two batches."""
        query.crash()
        self._gone(self.members, query)
        self.may_come_twice |= self._uncommitted(query.rows)

    # -- waiting

    def until(
        self, condition: Callable[[], object], what: str, deadline_s: float = PATIENCE_S
    ) -> None:
        """Trigger our members in turn until the condition holds; their errors are the test's."""
        ends = time.monotonic() + deadline_s
        if not self.members:
            wait_until(condition, deadline_s, what)
            return
        while True:
            for query in self.members:
                query.trigger()
            try:
                if condition():
                    return
                last = ""
            except (AssertionError, NoNodeError) as error:
                # Owner nodes come and go between two reads.
                last = repr(error)
            if time.monotonic() >= ends:
                raise AssertionError(f"waited {deadline_s} s for {what}; last: {last}")

    def settle(self, what: str) -> dict[TopicPartition, str]:
        """Wait until the group is as it must be, and Kafka's tools agree. Returns the owners.

        Both at once: a JVM member that is notified twice of one change releases everything again.
        """
        began = time.monotonic()
        self.until(
            lambda: self.assert_settled() and self.assert_tools_agree(),
            f"{what}: the group to settle",
        )
        took = time.monotonic() - began
        owners = self.owners()
        shares = {
            name: sum(text.rpartition("-")[0] == name for text in owners.values())
            for name in self._consumers
        }
        print(f"{self.setup}: {what}: {shares}, settled in {took:.1f} s, the tools agree")
        return owners

    def assert_settled(self) -> bool:
        """Every partition is owned by the thread that a JVM member would expect, ours included."""
        for jvm in self.jvms:
            assert jvm.is_ready, f"{jvm} is not ready"
        ids = self.ids()
        assert ids.keys() == self._consumers, f"registered are {sorted(ids)}"
        owners = self.owners()
        for version in {jvm.version for jvm in self.jvms} or {self.setup.version}:
            assert owners == self.expected(version, ids), f"{version} expects others: {owners}"
        for query in self.members:
            assert self.said_by(query) == {
                p: text for p, text in owners.items() if is_of(text, query.membership.member)
            }
        missing = [p for p in owners if p not in self.offsets()]
        assert not missing, f"nothing is committed of {missing}"
        return True

    def expected(self, version: str, ids: Mapping[str, bytes]) -> dict[TopicPartition, str]:
        """What members of that version make of the group."""
        partitions = {t: tuple(range(PARTITIONS[s])) for t, s in self.topics.items()}
        found = imitate(JvmVersion.parse(version), self.setup.strategy, ids, partitions, True)
        assert found.failure is None, found.failure
        return {p: str(thread) for p, thread in found.owners.items()}

    def assert_tools_agree(self) -> bool:
        described = self.tools.assert_agree(
            self._connect, self.group.name, self.owners, self.offsets
        )
        for query in self.members:
            for partition, known in query.membership.holdings.known.items():
                assert described[partition].offset == known.value, (partition, known)
        return True

    def finish(self) -> None:
        """Nothing more is produced: what was, is read to the end, and counted."""
        self.stop_producing()

        def complete() -> bool:
            verdict = self.verdict()
            assert not verdict.missing, str(verdict)
            return True

        self.until(complete, "everything to be read")
        verdict = self.verdict()
        print(f"{self.setup}: {verdict}, {len(self.may_come_twice)} were read and not committed")
        assert not verdict.unknown, str(verdict)
        jvms = [m for m in (*self.jvms, *self.done) if isinstance(m, OldConsumer)]
        unexplained = verdict.duplicates.keys() - self.may_come_twice - in_hand(jvms)
        assert not unexplained, (
            f"{sorted(unexplained)} came twice; neither a kill nor a JVM member's own rebalance "
            f"explains it: {verdict}"
        )

    # -- what ZooKeeper holds

    def said_by(self, query: Query) -> dict[TopicPartition, str]:
        held = query.membership.holdings.held
        return {p: f"{query.membership.member}-{h.thread}" for p, h in held.items()}

    def owners(self) -> dict[TopicPartition, str]:
        return {
            TopicPartition(topic, number): text
            for topic in self.topics
            for number, text in self.group.owners(topic).items()
        }

    def lives(self) -> dict[TopicPartition, int]:
        """Which life of each owner node this is."""
        return {
            TopicPartition(topic, number): life
            for topic in self.topics
            for number, life in self.group.owner_lives(topic).items()
        }

    def offsets(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(topic, number): int(value)
            for topic in self.topics
            for number, value in self.group.offsets(topic).items()
        }

    def close(self) -> None:
        for paced in self._paced:
            paced.stop()
        for jvm in self.jvms:
            jvm.close()

    def _uncommitted(self, rows: Iterable[Record]) -> set[Record]:
        """What a member that has just been killed leaves uncommitted: its successor reads it again.

        Of partitions it gave away in its life it has committed everything before.
        """
        committed = self.offsets()
        return {r for r in rows if r[2] >= committed.get(TopicPartition(r[0], r[1]), 0)}

    def _gone(self, members: list[Member], one: Member) -> None:
        members.remove(one)
        self.done.append(one)

    def ids(self) -> Mapping[str, bytes]:
        path = f"/consumers/{self.group.name}/ids"
        return {
            c: self.group.client.get(f"{path}/{c}")[0] for c in self.group.client.get_children(path)
        }

    @property
    def _consumers(self) -> set[str]:
        return {q.membership.member for q in self.members} | {jvm.id for jvm in self.jvms}

    @property
    def _connect(self) -> str:
        return self.group.sandbox.kafka_zookeeper_connect

    @property
    def expression(self) -> str:
        return f"{self.group.name}-.*"


def is_of(thread: str, consumer: str) -> bool:
    return thread.rpartition("-")[0] == consumer
