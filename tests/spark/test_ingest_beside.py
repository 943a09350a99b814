"""`delta.ingest` of rival groups into one table, of topics with holes, while others rewrite its
files: a `light` and a `kafka` group read the same transactional topic and the same compacted one,
our job compacts the table, and another Spark optimizes and vacuums it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from kafka import KafkaConsumer

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.coordinators import Coordinators
from tests.chaos.job import Job
from tests.chaos.process import ROOT, Process
from tests.chaos.table import places_in
from tests.chaos.transactions import Transactions
from tests.harness.oracle import Record
from tests.harness.planted_secrets import COORDINATOR_TOKEN
from tests.harness.producing import produce
from tests.harness.waiting import wait_until
from tests.spark.ingest_kills import appended
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Produced

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

PARTITIONS, KEYS, ROUNDS = 3, 20, 2
PATIENCE_S = 240.0
# The broker's cleaner never touches the newest segment.
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "16384",
    "min.cleanable.dirty.ratio": "0.001",
}
ROUND = re.compile(r"\b[1-9]\d* files? (?:into|rewritten)")


@dataclass
class Beside:
    """A program that rewrites files meanwhile, and the lines that it has printed."""

    process: subprocess.Popen[str]
    output: Path

    def rounds(self) -> int:
        """Those that rewrote files."""
        text = self.output.read_text("utf-8", errors="replace")
        assert self.process.poll() is None, text[-2000:]
        return len(ROUND.findall(text))

    def end(self) -> None:
        with self.process:
            self.process.kill()


@dataclass
class Scene:
    sandbox: Sandbox
    directory: Path
    transactional: str
    compacted: str
    transactions: Transactions
    members: dict[str, Process] = field(default_factory=dict)
    keyed: set[Record] = field(default_factory=set)
    passed: bool = False

    @property
    def table(self) -> Path:
        return self.directory / "table"

    def member(self, name: str, **options: str) -> Process:
        home = self.directory / name
        given = {
            "kafka.bootstrap.servers": self.sandbox.bootstrap_servers,
            "kafka.isolation.level": "read_committed",
            "group.id": f"{name}-{self.transactional}",
            "subscribe": f"{self.transactional},{self.compacted}",
            "startingOffsets": "earliest",
            "session.timeout.ms": "6000",
            "member.id": name,
            "threads": "1",
            **options,
        }
        self.members[name] = Process(Job(name, home, self.table, given, 0.5, direct=True), [])
        return self.members[name]

    def produce_keyed(self) -> None:
        for partition in range(PARTITIONS):
            of = TopicPartition(self.compacted, partition)
            keys = [b"%d" % n for n in range(KEYS)]
            offsets = produce(
                self.sandbox.bootstrap_servers, of, [bytes(300)] * KEYS, keys=keys, linger_ms=5
            )
            self.keyed |= {(self.compacted, partition, offset) for offset in offsets}

    def in_logs(self) -> set[Record]:
        """The committed records that the broker has now."""
        consumer: Any = KafkaConsumer(
            self.transactional,
            self.compacted,
            bootstrap_servers=self.sandbox.bootstrap_servers.split(","),
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            consumer_timeout_ms=3000,
            enable_auto_commit=False,
            group_id=None,
        )
        try:
            return {(one.topic, one.partition, one.offset) for one in consumer}
        finally:
            consumer.close()

    def beside(self, name: str, command: Sequence[str]) -> Beside:
        output = self.directory / f"{name}.out"
        with output.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                text=True,
            )
        return Beside(process, output)


@pytest.fixture
def scene(sandbox: Sandbox) -> Iterator[Scene]:
    """In a directory of short name: the paths of Unix sockets lie below it. It stays where the test
    fails.
    """
    name = uuid.uuid4().hex[:8]
    transactional, compacted = f"transactional-{name}", f"compacted-{name}"
    sandbox.create_topic(transactional, PARTITIONS)
    sandbox.create_topic(compacted, PARTITIONS, COMPACTED)
    transactions = Transactions(sandbox.bootstrap_servers, transactional, 1)
    directory = Path(tempfile.mkdtemp(prefix="zkb"))
    made = Scene(sandbox, directory, transactional, compacted, transactions)
    yield made
    if made.passed:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        print(f"table and logs are kept in {directory}")


def test_rival_groups_and_those_that_rewrite_files_lose_and_repeat_nothing(scene: Scene) -> None:
    with ExitStack() as stack:
        zookeepers = [server.address for server in scene.sandbox.zookeepers]
        chroot = "".join(scene.sandbox.kafka_zookeeper_connect.partition("/")[1:])
        coordinators = Coordinators(scene.directory / "coordinators", zookeepers, chroot, 4.0)
        stack.callback(coordinators.close)
        light = scene.member(
            "light",
            **{
                "protocol": "light",
                "coordinator.addresses": ",".join(coordinators.addresses),
                "coordinator.token": COORDINATOR_TOKEN,
            },
        )
        kafka = scene.member("kafka", protocol="kafka")
        for member in (light, kafka):
            stack.callback(member.close)
            member.start()
        scene.transactions.start()
        wait_until(
            lambda: (
                len(DeltaTable(str(scene.table)).file_uris()) > 2 * PARTITIONS
                if DeltaTable.is_deltatable(str(scene.table))
                else False
            ),
            PATIENCE_S,
            "files in the table",
        )
        table = str(scene.table)
        job = ["jobs/compact.py", "--table", table, "--every", "3", "--files-min", "2"]
        compaction = scene.beside("compact", [*job, "--vacuum-hours", "168"])
        stack.callback(compaction.end)
        optimizer = scene.beside("optimizer", ["-m", "tests.spark.optimizer", table])
        stack.callback(optimizer.end)

        def rewritten() -> bool:
            scene.produce_keyed()
            return compaction.rounds() >= ROUNDS and optimizer.rounds() >= ROUNDS

        wait_until(rewritten, PATIENCE_S, "files to be rewritten", interval_s=0.2)
        for member in (light, kafka):
            member.kill()
            member.start()
        before = {member.name: len(appended(member)) for member in (light, kafka)}
        more = (compaction.rounds() + ROUNDS, optimizer.rounds() + ROUNDS)

        def went_on() -> bool:
            scene.produce_keyed()
            return (
                all(len(appended(m)) > before[m.name] + ROUNDS for m in (light, kafka))
                and (compaction.rounds(), optimizer.rounds()) >= more
            )

        wait_until(went_on, PATIENCE_S, "commits of the members after a kill", interval_s=0.2)
        compacted, optimized = compaction.rounds(), optimizer.rounds()
        scene.transactions.stop()
        logged = scene.in_logs()
        wait_until(
            lambda: not logged - places_in(scene.table).keys(),
            PATIENCE_S,
            "all records to be there",
        )
    found = places_in(scene.table)
    committed = set(Produced(scene.transactional, scene.transactions.ranges()).offsets())
    gone = len(committed | scene.keyed) - len(logged)
    print(
        f"{len(found)} records in the table, {len(logged)} in the logs, {gone} compacted away, "
        f"{scene.transactions.book.aborted} transactions aborted, {len(appended(light))} and "
        f"{len(appended(kafka))} batches, {compacted} compactions, {optimized} times optimized"
    )
    assert found - Counter(committed | scene.keyed) == Counter()
    assert not logged - found.keys()
    assert committed == {place for place in found if place[0] == scene.transactional}
    assert gone > 0
    assert scene.transactions.book.aborted > 0
    for member in (light, kafka):
        died = [event["error"] for event in member.look() if event["event"] == "died"]
        assert not [error for error in died if "DeltaError" in error], died
    scene.passed = True
