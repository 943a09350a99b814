"""What one join costs ZooKeeper, in groups of different sizes and of different protocols.

    python -m tests.bench.scale [--members 2,10,50,200] [--more 500] [--partitions 1000] [--real]
    python -m tests.bench.scale --page      # table and chart of docs/scale.md, from the record

Members without Spark and without brokers: the real memberships and the real term of a coordinator,
over the fake ZooKeeper or, with --real, over one of the sandbox, where light members connect by
gRPC. All but one join at once and settle. Then the last one joins, and all requests until the group
is settled again are counted: nodes read, requests that carry them, and transactions. The counts do
not depend on machine or load. The seconds do: this one process drives all members one after
another, so they compare the protocols, and do not show how long a group of as many machines would
take.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench.asked import Asked, total
from tests.bench.scale_ground import Ground, fake, real
from tests.bench.scale_group import PROTOCOLS, Group

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests/bench/scale.json"
PAGE = ROOT / "docs/scale.md"
CHART = ROOT / "docs/scale.png"
_COLOURS = {"zookeeper": "#9fc3dd", "coordinator": "#2f6f9f", "light": "#d9822b"}
_MARKS = {"zookeeper": "o", "coordinator": "s", "light": "^"}


@dataclass
class Cost:
    """Of the last join. `old`: the most that one of those who were there before has asked;
    `stirred`: how many of them asked anything, and `given_up` by how many partitions one of them
    has fewer at most; `new`: the newcomer's. Of light members it is what their coordinator asked
    on their behalf. `watches`: the most that a member leaves armed.
    """

    protocol: str
    members: int
    partitions: int
    stirred: int
    given_up: int
    old: Asked
    new: Asked
    coordinator: Asked
    total: Asked
    watches: int
    coordinator_watches: int
    seconds: float


def cost_of(read: dict[str, Any]) -> Cost:
    asked = {name: Asked(**read[name]) for name in ("old", "new", "coordinator", "total")}
    return Cost(**{**read, **asked})


def one_join(protocol: str, members: int, partitions: int, ground: Ground) -> Cost:
    group = Group(protocol, partitions, ground)
    try:
        for _ in range(members - 1):
            group.join()
        group.settle()
        before = [asked.copy() for asked in group.asked]
        before_coordinator = group.coordinator.asked.copy()
        held = [len(member.holdings.held) for member in group.members]
        group.join()
        seconds = group.settle()
    finally:
        group.close()
    after = group.asked
    old = [a.minus(b) for a, b in zip(after, before, strict=False)]
    coordinator = group.coordinator.asked.minus(before_coordinator)
    left = [len(member.holdings.held) for member in group.members]
    return Cost(
        protocol=protocol,
        members=members,
        partitions=partitions,
        stirred=sum(asked.reads > 0 for asked in old),
        given_up=max(b - a for a, b in zip(left, held, strict=False)),
        old=max(old, key=lambda asked: asked.nodes),
        new=after[-1],
        coordinator=coordinator,
        total=total([*old, after[-1], coordinator]),
        watches=max(group.watches),
        coordinator_watches=len(group.coordinator.armed) if group.term is not None else 0,
        seconds=seconds,
    )


def table(costs: Sequence[Cost]) -> str:
    """As docs/scale.md shows it."""
    lines = [
        "| members | protocol | most nodes read by one earlier member "
        "| earlier members that read any | nodes read by the newcomer "
        "| by the coordinator itself | by all | transactions of all "
        "| watches of a member | of the coordinator | seconds |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {c.members} | `{c.protocol}` | {c.old.nodes:,} | {c.stirred:,} | {c.new.nodes:,} "
        f"| {c.coordinator.nodes:,} | {c.total.nodes:,} | {c.total.writes:,} | {c.watches} "
        f"| {c.coordinator_watches} | {c.seconds:.1f} |"
        for c in costs
    ]
    return "\n".join(lines)


def paged(page: str, costs: Sequence[Cost]) -> str:
    """The page with this table in place of its first one."""
    lines = page.split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    end = next(n for n, line in enumerate(lines) if n > first and not line.startswith("|"))
    return "\n".join([*lines[:first], table(costs), *lines[end:]])


def draw(costs: Sequence[Cost], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")  # no window is opened, wherever this runs
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator

    figure, (nodes, seconds) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes = sorted({c.members for c in costs})
    for protocol, colour in _COLOURS.items():
        mine = [c for c in costs if c.protocol == protocol]
        shown: dict[str, Any] = {"marker": _MARKS[protocol], "color": colour, "label": protocol}
        at = [c.members for c in mine]
        nodes.plot(at, [c.total.nodes for c in mine], **shown)
        seconds.plot(at, [c.seconds for c in mine], **shown)
    nodes.set_title("Nodes read by all", fontsize=10)
    seconds.set_title("Seconds to settle, all members in one process", fontsize=10)
    for axes in (nodes, seconds):
        axes.set(xscale="log", yscale="log", xlabel="members")
        axes.set_xticks(sizes, [str(n) for n in sizes])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.grid(axis="y", color="#e5e5e5")
        axes.spines[["top", "right"]].set_visible(False)
    # They may lie within one power of ten, where there would be one label.
    seconds.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    nodes.legend(frameon=False)
    figure.suptitle(f"One join, {costs[0].partitions:,} partitions", fontsize=11)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def measured(asked: argparse.Namespace) -> list[Cost]:
    wanted = [(p, n) for n in _numbers(asked.members) for p in PROTOCOLS]
    wanted += [(p, n) for n in _numbers(asked.more) for p in PROTOCOLS if p != "zookeeper"]
    costs = []
    for protocol, members in wanted:
        with real() if asked.real else fake() as ground:
            cost = one_join(protocol, members, asked.partitions, ground)
        costs.append(cost)
        print(f"{cost.protocol} {cost.members}: {cost.seconds:.2f} s", file=sys.stderr, flush=True)
    return costs


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--members", default="2,10,50,200")
    parser.add_argument("--more", default="500", help="further sizes, without `zookeeper`")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--json", type=Path, help="where the counts are kept")
    parser.add_argument("--page", action="store_true", help="renew the page from its record")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if asked.page:
        costs = [cost_of(read) for read in json.loads(RECORD.read_text())]
        PAGE.write_text(paged(PAGE.read_text("utf-8"), costs), "utf-8")
        draw(costs, CHART)
    else:
        costs = measured(asked)
    print(table(costs))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(c) for c in costs], indent=1) + "\n")
    return 0


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


if __name__ == "__main__":
    sys.exit(main())
