"""What `zkgroup doctor --group` finds: the group itself, looked at twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark_zkgroup.cli.finding import Finding, State
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ailments import Case, Look, ailments, needs_second_look
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.cli.reach import LogEnds
    from pyspark_zkgroup.zk.store import Store


def of_group(store: Store, group: str, ends: LogEnds, watch_s: float) -> Iterator[Finding]:
    """Where something waits or moves, the second look tells what becomes of it."""
    live = LiveGroup(store, group, ends, exclude_internal=True, may_be_new=True)
    try:
        first = _look(live, ends)
    except ServerError as error:
        yield Finding("group", "ill", error.what, error.remedy)
        return
    facts = first.facts
    if not facts.ids and not facts.offsets and not facts.owners:
        yield Finding(
            "group",
            "note",
            f"{group!r} has neither members nor offsets here",
            "If it should, check the chroot of --zookeeper: `zkgroup groups` lists what is there",
        )
        return
    yield Finding(
        "group",
        "well",
        f"{group!r} has {len(facts.ids)} members and offsets of {len(facts.offsets)} partitions",
    )
    last = first
    if watch_s and needs_second_look(first):
        time.sleep(watch_s)
        last = _look(live, ends)
    for ailment in ailments(Case(first, last)):
        state: State = "ill" if ailment.is_ill else "note"
        yield Finding(ailment.thing, state, ailment.text, ailment.remedy)


def _look(live: LiveGroup, ends: LogEnds) -> Look:
    """Brokers that are away are found elsewhere: what the nodes tell is told all the same."""
    facts, seen = live.both()
    starts: Mapping[TopicPartition, int] = {}
    committed = [row.partition for row in seen.partitions if row.committed is not None]
    try:
        starts = ends.starts(committed) if committed else {}
    except ServerError:
        starts = {}
    return Look(facts, seen, starts, time.time() * 1000)
