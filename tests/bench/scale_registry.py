"""What one more registration costs a coordinator that has very many of them.

    python -m tests.bench.scale_registry [--members 10000] [--partitions 1000] [--real]

Members are bare registrations here, which receive commands and ignore them, so this measures the
coordinator alone. The first look is that of a newly elected one, which sends every member its
commands again.
"""

from __future__ import annotations

import argparse
import json
import logging
import queue
import sys
import time

from pyspark_zkgroup.clock import SYSTEM
from pyspark_zkgroup.group.ops import Create
from pyspark_zkgroup.group.paths import COORDINATED, CoordinatedPaths
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.protocols.coordinator.rules.commands import Started
from pyspark_zkgroup.protocols.coordinator.rules.decisions import Answered
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.light.desk import LightDesk
from tests.bench.asked import Counting
from tests.bench.scale_ground import Ground, fake, real

_ANSWERS = 1000
_PATHS = CoordinatedPaths("g")
_MEMBER = encode_registration(Registration(Subscription.static({"t": 1}), "5", strategy="sticky"))


def measure(ground: Ground, members: int, partitions: int) -> None:
    store = ground.open(queue.SimpleQueue())
    store.ensure([COORDINATED, "/brokers/ids/1", "/brokers/topics", _PATHS.ids, _PATHS.answers])
    topic = {"version": 1, "partitions": {str(n): [1] for n in range(partitions)}}
    store.commit([(Create("/brokers/topics/t", json.dumps(topic).encode()),)])
    names = [f"g_host-1700000000000-{n:08x}" for n in range(members + 1)]
    store.ensure([_PATHS.channel(name) for name in names])
    registered = [(Create(_PATHS.id(name), _MEMBER, ephemeral=True),) for name in names]
    store.commit(registered[:members])

    mine = ground.open(queue.SimpleQueue())
    counting = Counting(mine)
    term = Term(mine, 1, 0, None, 1e9, SYSTEM, LightDesk())
    _work(f"the first look at {members:,}", term, counting)
    group = term.state.groups[_PATHS.group]
    for consumer, generation in list(group.starting.items())[:_ANSWERS]:
        started = Started(generation, group.members[consumer].life)
        term.desk.answers.put(Answered(_PATHS.group, consumer, started))
    _work(f"{_ANSWERS:,} answers, as of light members", term, counting)
    store.commit(registered[members:])
    term.note(_PATHS.ids)
    _work("one more", term, counting)


def _work(what: str, term: Term, counting: Counting) -> None:
    before, began, busy = counting.asked.copy(), time.perf_counter(), time.process_time()
    while term.work():
        pass
    asked = counting.asked.minus(before)
    print(
        f"{what}: {asked.nodes:,} nodes read, {asked.writes:,} transactions, "
        f"{time.perf_counter() - began:.1f} s, {time.process_time() - busy:.1f} s of a core"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--real", action="store_true")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with real() if asked.real else fake() as ground:
        measure(ground, asked.members, asked.partitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
