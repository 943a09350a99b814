"""What one join costs ZooKeeper, in groups of different sizes and of different protocols.

    python -m tests.bench.scale [--members 2,10,50,200] [--partitions 1000] [--real] [--json FILE]

Members without Spark and without brokers: the real memberships and the real term of a coordinator,
over the fake ZooKeeper or, with --real, over one of the sandbox. All but one join and settle; then
the last one joins, and what everybody asks until all is settled again is counted: nodes read,
requests that carry them, and transactions. That depends on no machine and no load. The seconds do:
all members are driven one after another by this one process, so they say how the protocols compare,
not how long a group of as many machines would take.
"""

from __future__ import annotations

import argparse
import json
import logging
import queue
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark_zkgroup.clock import SYSTEM
from pyspark_zkgroup.coordinator.term import Term
from pyspark_zkgroup.group.ops import Create, Transaction
from pyspark_zkgroup.group.paths import COORDINATED, COORDINATOR
from pyspark_zkgroup.membership.coordinator import CoordinatorMembership
from pyspark_zkgroup.membership.owner_nodes import OwnerNodeMembership
from pyspark_zkgroup.membership.surroundings import Surroundings
from pyspark_zkgroup.membership.zookeeper import ZookeeperMembership
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.sandbox import Sandbox
from pyspark_zkgroup.zk.session import Session, SessionEvent, SessionSettings
from pyspark_zkgroup.zk.store import Store
from tests.fakes.brokers import FakeBrokers
from tests.fakes.session import Access, FakeSession
from tests.fakes.standing import LookedAt
from tests.fakes.store import FakeStore
from tests.fakes.zookeeper import FakeZookeeper

TOPIC = "t"
PROTOCOLS: dict[str, type[OwnerNodeMembership]] = {
    "zookeeper": ZookeeperMembership,
    "coordinator": CoordinatorMembership,
}
_ROUNDS_MAX = 2000
_TRAVEL_S = 0.3


@dataclass
class Asked:
    """`nodes` that were read, the `reads` that asked for them, and `writes`: transactions."""

    nodes: int = 0
    reads: int = 0
    writes: int = 0

    def minus(self, other: Asked) -> Asked:
        return Asked(self.nodes - other.nodes, self.reads - other.reads, self.writes - other.writes)


@dataclass
class Cost:
    """Of the last join. The most that one of those who were there before has asked, the newcomer's,
    the coordinator's, and the sum; `watches`: the most that a member leaves armed.
    """

    protocol: str
    members: int
    partitions: int
    old: Asked
    new: Asked
    coordinator: Asked
    total: Asked
    watches: int
    coordinator_watches: int
    rounds: int
    seconds: float


class Counting:
    """Counts what goes through a store."""

    def __init__(self, store: Store) -> None:
        self.asked = Asked()
        self.armed: set[tuple[str, str]] = set()
        for name in ("nodes", "stats", "children"):
            setattr(store, name, self._reads(name, getattr(store, name)))
        commit = store.commit

        def counted(transactions: Sequence[Transaction]) -> Any:
            self.asked.writes += sum(1 for t in transactions if t)
            return commit(transactions)

        store.commit = counted  # type: ignore[method-assign]

    def _reads(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        kind = "children" if name == "children" else "data"

        def counted(paths: Sequence[str], *, watch: bool = False) -> Any:
            self.asked.nodes += len(paths)
            self.asked.reads += bool(paths)
            if watch:
                self.armed |= {(kind, path) for path in paths}
            return plain(paths, watch=watch)

        return counted

    def fired(self, path: str) -> None:
        self.armed -= {("data", path), ("children", path)}


@dataclass
class Ground:
    """Where stores come from, and how time is let pass for what travels."""

    open: Callable[[queue.SimpleQueue[SessionEvent]], Store]
    pass_by: Callable[[], None]


@contextmanager
def fake() -> Iterator[Ground]:
    world = LookedAt()
    server = FakeZookeeper(world, Random(1))
    rng = Random(2)

    def opened(events: queue.SimpleQueue[SessionEvent]) -> Store:
        settings = SessionSettings("fake:2181", "", 30_000, 5000)
        session = FakeSession(server, world, Access(), rng, settings, events)
        session.open()
        return FakeStore(session)

    yield Ground(opened, lambda: world.let_pass(_TRAVEL_S))


@contextmanager
def real() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory() as directory:
        sandbox = Sandbox(Path(directory), brokers=0)
        sandbox.start()
        sessions: list[Session] = []

        def opened(events: queue.SimpleQueue[SessionEvent]) -> Store:
            settings = SessionSettings(sandbox.zookeeper_connect, "", 30_000, 15_000)
            session = Session(settings, events)
            session.open()
            sessions.append(session)
            return Store(session)

        try:
            yield Ground(opened, lambda: SYSTEM.sleep(0.005))
        finally:
            for session in sessions:
                session.close()
            sandbox.kill()


@dataclass
class Group:
    protocol: str
    partitions: int
    ground: Ground
    members: list[OwnerNodeMembership] = field(default_factory=list)
    counts: list[Counting] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        store = self.ground.open(queue.SimpleQueue())
        node = {"version": 1, "partitions": {str(n): [1] for n in range(self.partitions)}}
        store.ensure(["/consumers", "/brokers/topics", "/brokers/ids", COORDINATED])
        store.commit(
            [
                (Create("/brokers/ids/1", b'{"host":"b","port":9092,"endpoints":[]}'),),
                (Create(f"/brokers/topics/{TOPIC}", json.dumps(node).encode()),),
                (Create(COORDINATOR, b"{}", ephemeral=True),),
            ]
        )
        self.events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
        self.term: Term | None = None
        self.coordinator = Counting(store)
        if self.protocol == "coordinator":
            mine = self.ground.open(self.events)
            self.coordinator = Counting(mine)
            self.term = Term(mine, 1, 0, None, 1e9, SYSTEM)

    def join(self) -> None:
        number = len(self.members)

        def opened(_settings: Any, events: queue.SimpleQueue[SessionEvent]) -> Store:
            store = self.ground.open(events)
            self.counts.append(Counting(store))
            return store

        options = parse(
            {
                "zookeeper.connect": "any:2181",
                "group.id": "g",
                "protocol": self.protocol,
                "subscribe": TOPIC,
                "threads": "1",
                "startingOffsets": "earliest",
                "kafka.bootstrap.servers": "any:9092",
            }
        )
        brokers = FakeBrokers({TOPIC: self.partitions})
        surroundings = Surroundings(new_name=lambda _: f"m{number:04}", open_store=opened)
        self.members.append(PROTOCOLS[self.protocol](options, brokers, surroundings))

    def settle(self) -> None:
        """Each in turn, as long as anybody has anything to do."""
        calm = 0
        while calm < 2:
            self.rounds += 1
            if self.rounds > _ROUNDS_MAX:
                raise SystemExit(f"{self.protocol}: {len(self.members)} members never settle")
            self.ground.pass_by()
            busy = self._coordinate()
            settled = True
            for member in self.members:
                if member.stirred() or not member.keeper.joined:
                    busy = True
                    settled &= member.boundary({}).settled
            held = sum(len(m.holdings.held) for m in self.members)
            calm = calm + 1 if not busy and settled and held == self.partitions else 0

    def _coordinate(self) -> bool:
        if self.term is None:
            return False
        busy = False
        while not self.events.empty():
            event = self.events.get()
            self.coordinator.fired(event.path)
            self.term.note(event.path)
            busy = True
        while self.term.work():
            busy = True
        return busy


def one_join(protocol: str, members: int, partitions: int, ground: Ground) -> Cost:
    group = Group(protocol, partitions, ground)
    for _ in range(members - 1):
        group.join()
    group.settle()
    before = [Asked(**asdict(c.asked)) for c in group.counts]
    before_coordinator = Asked(**asdict(group.coordinator.asked))
    group.rounds, began = 0, time.perf_counter()
    group.join()
    group.settle()
    seconds = time.perf_counter() - began
    after = [c.asked for c in group.counts]
    old = [a.minus(b) for a, b in zip(after, before, strict=False)]
    coordinator = group.coordinator.asked.minus(before_coordinator)
    every = [*old, after[-1], coordinator]
    most = max(old, key=lambda asked: asked.nodes)
    return Cost(
        *(protocol, members, partitions, most, after[-1], coordinator),
        Asked(
            sum(a.nodes for a in every), sum(a.reads for a in every), sum(a.writes for a in every)
        ),
        max(len(c.armed) for c in group.counts),
        len(group.coordinator.armed) if group.term is not None else 0,
        group.rounds,
        seconds,
    )


def table(costs: Sequence[Cost]) -> str:
    """As docs/scale.md shows it."""
    lines = [
        "| members | protocol | nodes read by one that was there | by the newcomer "
        "| by the coordinator | by all | transactions of all | watches of a member "
        "| of the coordinator |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {c.members} | `{c.protocol}` | {c.old.nodes} | {c.new.nodes} | {c.coordinator.nodes} "
        f"| {c.total.nodes:,} | {c.total.writes:,} | {c.watches} | {c.coordinator_watches} |"
        for c in costs
    ]
    return "\n".join(lines)


def draw(costs: Sequence[Cost], path: Path) -> None:
    """Without what a newcomer reads of the topic's offsets, which is the same for all."""
    import matplotlib as mpl

    mpl.use("agg")  # no window is opened, wherever this runs
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for protocol, colour in (("zookeeper", "#9fc3dd"), ("coordinator", "#2f6f9f")):
        mine = [c for c in costs if c.protocol == protocol]
        nodes = [c.total.nodes - c.new.nodes for c in mine]
        axes.plot([c.members for c in mine], nodes, "o-", color=colour, label=protocol)
    axes.set(xscale="log", yscale="log", xlabel="members", ylabel="nodes read by all the others")
    axes.set_title(f"One join, {costs[0].partitions:,} partitions", fontsize=10)
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--members", default="2,10,50,200")
    parser.add_argument("--coordinated", default="500", help="sizes without `zookeeper` beside")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    wanted = [(p, n) for n in _numbers(asked.members) for p in PROTOCOLS]
    wanted += [("coordinator", n) for n in _numbers(asked.coordinated)]
    costs = []
    for protocol, members in wanted:
        with real() if asked.real else fake() as ground:
            cost = one_join(protocol, members, asked.partitions, ground)
        costs.append(cost)
        print(f"{cost.protocol} {cost.members}: {cost.seconds:.2f} s", file=sys.stderr, flush=True)
    print(table(costs))
    if asked.chart:
        draw(costs, asked.chart)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(c) for c in costs], indent=1) + "\n")
    return 0


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


if __name__ == "__main__":
    sys.exit(main())
