"""Plans a batch read: asks ZooKeeper and the brokers which offsets to read, and writes nothing.

A batch read joins no group, owns nothing and commits nothing. It reads the group's offsets first
and the logs' ends after them. In the other order a log that grows in between would seem to end
below its offset.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, Clock
from pyspark_zkgroup.errors import BadZnodeError, DataLossError, ServerError, SubscriptionError
from pyspark_zkgroup.group.ownership import parse_offset
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.snapshot import topics_of
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.planning import absent_topics
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.protocols.environment import open_store
from pyspark_zkgroup.protocols.owned.rules import kafka_copy
from pyspark_zkgroup.protocols.owned.topics_view import TopicReader
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges import gaps, pushdown
from pyspark_zkgroup.ranges.batch_ranges import BatchRanges, Committed, Logs, batch_ranges
from pyspark_zkgroup.ranges.endings import EndingTimes, check_ending_partitions
from pyspark_zkgroup.ranges.positions import StartingTimes, check_partitions
from pyspark_zkgroup.ranges.pushdown import Narrowing
from pyspark_zkgroup.ranges.splitting import Splitting, split
from pyspark_zkgroup.zk.session import DisconnectedError, SessionLostError
from pyspark_zkgroup.zk.store import Store

# A leader that was just elected may return an end that is too low: only an end that lasts counts.
_BEYOND_S = 5.0
_LOOK_AGAIN_S = 0.5
_NAMED_MAX = 10
_log = logging.getLogger("pyspark_zkgroup.batch")

T = TypeVar("T")
Ranges = Mapping[TopicPartition, OffsetRange]


@dataclass(frozen=True, slots=True)
class BatchTasks:
    tasks: tuple[TaskInput, ...]
    settings: FetchSettings


@dataclass(frozen=True, slots=True)
class _Seen:
    """What ZooKeeper has: the partitions to read, and the group's offsets of them."""

    topics: Mapping[str, tuple[int, ...]]
    partitions: tuple[TopicPartition, ...]
    committed: Committed | None


def batch_tasks(
    options: Options, narrowing: Narrowing | None = None, clock: Clock = SYSTEM
) -> BatchTasks:
    for option in options.batch_read.ignored:
        _log.warning(catalogue.warning("ZKG-105", option=option))
    brokers = ClusterView(options)
    try:
        seen = _look(options, brokers)
        whole = _ranges(options, seen, brokers, clock)
        ranges = whole if narrowing is None else _narrowed(narrowing, whole, brokers)
        return BatchTasks(_tasks(options, seen, ranges), brokers.fetch_settings())
    finally:
        brokers.close()


# -- ZooKeeper


def _look(options: Options, brokers: ClusterView) -> _Seen:
    if options.protocol.name == "kafka":
        return _look_at_kafka(options, brokers)
    store = open_store(options.zookeeper, queue.SimpleQueue())
    try:
        return _look_at_group(options, brokers, store)
    except (DisconnectedError, SessionLostError) as error:
        raise ServerError.of(
            "zookeeper_stopped", server=options.zookeeper.connect, error=error
        ) from error
    finally:
        store.session.close()


def _look_at_group(options: Options, brokers: ClusterView, store: Store) -> _Seen:
    reader = TopicReader(options, brokers)
    found = reader.read(store, [options.topics.subscription])
    if not found.source:
        raise ServerError.of("batch_read_topics", reason=found.note[:1].upper() + found.note[1:])
    topics, partitions = _wanted(options, found.partitions, reader.hidden)
    if not options.group.id:
        return _Seen(topics, partitions, None)
    paths = GroupPaths(options.group.id)
    committed = _committed(paths, partitions, found.lives, store)
    return _Seen(topics, partitions, _with_kafka(options, committed, partitions, brokers))


def _look_at_kafka(options: Options, brokers: ClusterView) -> _Seen:
    """With protocol=kafka the brokers keep the group and its offsets, and there is no ZooKeeper."""
    topics, partitions = _wanted(options, brokers.partitions(), options.topics.hidden)
    if not options.group.id:
        return _Seen(topics, partitions, None)
    stored = brokers.group_offsets(partitions) if partitions else {}
    offsets = {p: found.offset for p, found in stored.items()}
    return _Seen(topics, partitions, Committed(None, offsets))


def _wanted(
    options: Options, present: Mapping[str, tuple[int, ...]], hidden: Collection[str]
) -> tuple[Mapping[str, tuple[int, ...]], tuple[TopicPartition, ...]]:
    wanted = [t for t, _ in topics_of(options.topics.subscription, present, hidden)]
    if absent := [t for t in wanted if t not in present]:
        absent_topics.refuse(options, absent, present)
    topics = {t: present[t] for t in wanted if t in present}
    partitions = [TopicPartition(t, n) for t, numbers in topics.items() for n in numbers]
    if options.topics.assigned:
        _check_assigned(options, partitions)
        partitions = [p for p in partitions if p in options.topics.assigned]
        topics = _numbers(partitions)
    return topics, tuple(partitions)


def _committed(
    paths: GroupPaths,
    partitions: Collection[TopicPartition],
    lives: Mapping[str, int],
    store: Store,
) -> Committed:
    """Read the group's offsets. A negative one counts as none, as for JVM members."""
    offsets: dict[TopicPartition, int] = {}
    anew: set[TopicPartition] = set()
    nodes = store.nodes([paths.offset(p) for p in partitions])
    for partition, node in zip(partitions, nodes, strict=True):
        if node is None:
            continue
        value = parse_offset(node.data)
        if value is None:
            raise BadZnodeError.of("offset_node", path=paths.offset(partition), data=node.data[:40])
        if value >= 0:
            offsets[partition] = value
            if 0 < node.modified < lives.get(partition.topic, 0):
                anew.add(partition)
    return Committed(paths, offsets, frozenset(anew))


def _with_kafka(
    options: Options,
    committed: Committed,
    partitions: Collection[TopicPartition],
    brokers: ClusterView,
) -> Committed:
    """If the group keeps its offsets in Kafka too, start where a member would start."""
    if options.group.offsets_storage != "kafka" or not partitions:
        return committed
    stored = brokers.group_offsets(partitions)
    offsets = dict(committed.offsets)
    anew = set(committed.anew)
    for partition in partitions:
        before = offsets.get(partition)
        counts = kafka_copy.counting(before, stored.get(partition), dual=options.group.dual_commit)
        if counts is not None and counts != before:
            offsets[partition] = counts
            anew.discard(partition)
    return replace(committed, offsets=offsets, anew=frozenset(anew))


def _check_assigned(options: Options, present: Collection[TopicPartition]) -> None:
    absent = sorted(set(options.topics.assigned) - set(present))
    if absent and options.fetch.fail_on_data_loss:
        raise SubscriptionError.of(
            "unknown_assigned", partitions=", ".join(map(str, absent[:_NAMED_MAX]))
        )


def _numbers(partitions: Collection[TopicPartition]) -> dict[str, tuple[int, ...]]:
    topics: dict[str, tuple[int, ...]] = {}
    for partition in partitions:
        topics[partition.topic] = (*topics.get(partition.topic, ()), partition.partition)
    return topics


# -- the brokers


def _ranges(options: Options, seen: _Seen, brokers: Brokers, clock: Clock) -> Ranges:
    starting, ending = options.starting, options.batch_read.ending
    check_partitions(starting, seen.topics)
    check_ending_partitions(ending, seen.topics)
    every, committed = seen.partitions, {} if seen.committed is None else seen.committed.offsets
    starts = _all(every, brokers.earliest)
    latest = _all(every, brokers.latest)
    beyond = _lasting_ends(committed, latest, brokers, clock)
    start_times: Mapping[TopicPartition, int | None] = {}
    if isinstance(starting, StartingTimes):
        free = [p for p in every if p not in committed]
        start_times = _all(free, lambda asked: brokers.at_times(starting.of(asked)))
    end_times: Mapping[TopicPartition, int | None] = {}
    if isinstance(ending, EndingTimes):
        end_times = _all(every, lambda asked: brokers.at_times(ending.of(asked)))
    logs = Logs(starts, latest, {**latest, **beyond})
    found = batch_ranges(starting, ending, seen.committed, logs, start_times, end_times)
    _judge(options, found)
    return found.ranges


def _all(
    partitions: Collection[TopicPartition],
    ask: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, T]],
) -> dict[TopicPartition, T]:
    """Refuse an incomplete answer: without the partitions whose leader is away it would look
    whole.
    """
    if not partitions:
        return {}
    found = dict(ask(partitions))
    silent = sorted(set(partitions) - found.keys())
    if silent:
        more = f" and {len(silent) - _NAMED_MAX} more" if len(silent) > _NAMED_MAX else ""
        raise ServerError.of(
            "no_answer_for_partitions", partitions=", ".join(map(str, silent[:_NAMED_MAX])) + more
        )
    return found


def _lasting_ends(
    committed: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    brokers: Brokers,
    clock: Clock,
) -> dict[TopicPartition, int]:
    """Return the ends of logs that seem to end below the group's offset.

    Under read_committed a log may end behind what can be read.
    """
    ends: dict[TopicPartition, int] = {}
    give_up_at = clock.monotonic() + _BEYOND_S
    asked = list(gaps.beyond(committed, latest))
    while asked:
        ends.update(_all(asked, brokers.ends))
        asked = list(gaps.beyond({p: committed[p] for p in asked}, ends))
        if clock.monotonic() >= give_up_at:
            break
        if asked:
            clock.sleep(_LOOK_AGAIN_S)
    return ends


def _judge(options: Options, found: BatchRanges) -> None:
    if not found.losses:
        return
    if options.fetch.fail_on_data_loss:
        what = gaps.together([loss.what for loss in found.losses])
        raise DataLossError(what, found.losses[0].remedy)
    for loss in found.losses:
        _log.warning(catalogue.warning("ZKG-101", loss=loss.what, action=loss.going_on))


def _narrowed(narrowing: Narrowing, whole: Ranges, brokers: Brokers) -> Ranges:
    times = pushdown.times_wanted(narrowing, whole)
    found: Mapping[TopicPartition, int | None] = {}
    if times:
        try:
            found = brokers.at_times(times)
        except ServerError as error:
            # Spark tests the time of every row in any case.
            _log.warning(catalogue.warning("ZKG-106", error=error))
    ranges = pushdown.narrow(narrowing, whole, found)
    _log.info(
        "Pushed filters leave %d of %d offsets to read",
        sum(map(len, ranges.values())),
        sum(map(len, whole.values())),
    )
    return ranges


def _tasks(options: Options, seen: _Seen, ranges: Ranges) -> tuple[TaskInput, ...]:
    """Return a task for each partition with something to read, and more if `threads` allows it."""
    name = options.group.id or options.fetch.client_id
    tasks = [
        TaskInput(f"{name}-{partition}", (TaskRange(partition, wanted),))
        for partition, wanted in sorted(ranges.items())
        if len(wanted) > 0
    ]
    threads = max((count for _, count in options.topics.subscription.entries), default=1)
    asked = options.batches.splitting
    splitting = Splitting(max(threads, asked.tasks_min or 0), asked.rows_max)
    found = tuple(split(tasks, splitting)) if tasks else ()
    committed = 0 if seen.committed is None else len(seen.committed.offsets)
    _log.info(
        "Planned a batch read of %d offsets in %d tasks; "
        "%d of %d partitions start at the offsets of %s",
        sum(map(len, ranges.values())),
        len(found),
        committed,
        len(seen.partitions),
        f"group {options.group.id}" if options.group.id else "no group",
    )
    return found
