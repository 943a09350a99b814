"""Offsets that are gone, were made again, or lie where the log has no records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.inspect.findings.case import Case, GroupFinding, named, partitions_of
from pyspark_zkgroup.inspect.report import Written
from pyspark_zkgroup.inspect.rows import PartitionRow
from pyspark_zkgroup.model import TopicPartition

_APART_MS = 10_000


def missing(case: Case) -> Iterator[GroupFinding]:
    rows = lacking(case)
    if not rows:
        return
    yield GroupFinding(
        "offset",
        *catalogue.finding("ZKG-210", "missing", partitions=named(r.partition for r in rows)),
        partitions=partitions_of(rows),
    )


def made_anew(case: Case) -> Iterator[GroupFinding]:
    """The offset nodes of a topic are made together; what was added to the topic later has larger
    numbers.
    """
    for topic, written in _by_topic(case).items():
        oldest = min(at.made_ms for at in written.values())
        old = {p for p, at in written.items() if at.made_ms - oldest <= _APART_MS}
        later = written.keys() - old
        within = {p for p in later if p.partition < max(old).partition}
        if not within:
            continue
        made_ms = min(written[p].made_ms for p in within)
        # A larger number may have been added, but hardly in the moment in which these were made.
        together = {p for p in later if abs(written[p].made_ms - made_ms) <= _APART_MS}
        young = sorted(within | together)
        yield GroupFinding(
            "offset",
            *catalogue.finding(
                "ZKG-211",
                "recreated",
                partitions=named(young),
                young=case.ago(made_ms),
                topic=topic,
                old=case.ago(oldest),
            ),
            is_ill=False,
        )


def deleted(case: Case) -> Iterator[GroupFinding]:
    """Retention was faster than the group."""
    for row in case.last.seen.partitions:
        start = case.last.starts.get(row.partition)
        if start is None or row.committed is None or not 0 <= row.committed < start:
            continue
        yield GroupFinding(
            "offset",
            *catalogue.finding(
                "ZKG-212",
                "deleted",
                partition=row.partition,
                offset=row.committed,
                start=start,
                lost=start - row.committed,
                step=_step(case),
                group=case.last.seen.group,
                topic=_option(row),
            ),
            partitions=frozenset({row.partition}),
        )


def beyond(case: Case) -> Iterator[GroupFinding]:
    for row in case.last.seen.partitions:
        if row.end is None or row.committed is None or row.committed <= row.end:
            continue
        before = case.before.get(row.partition)
        if before is None or before.end is None or (before.committed or 0) <= before.end:
            continue
        yield GroupFinding(
            "offset",
            *catalogue.finding(
                "ZKG-213",
                "beyond",
                partition=row.partition,
                offset=row.committed,
                end=row.end,
                step=_step(case),
                group=case.last.seen.group,
                topic=_option(row),
            ),
            partitions=frozenset({row.partition}),
        )


def _step(case: Case) -> str:
    return "Stop the members, then run" if case.last.seen.members else "Run"


def _option(row: PartitionRow) -> str:
    return f"{row.partition.topic}:{row.partition.partition}"


def lacking(case: Case) -> list[PartitionRow]:
    """A zkgroup member claims a partition and its offset in one transaction, so an owner without an
    offset has lost it. So has a partition without either among others that have theirs: they are
    made together. JVM members write the first one later.
    """
    largest: dict[str, int] = {}
    for partition in case.last.facts.offsets:
        largest[partition.topic] = max(largest.get(partition.topic, 0), partition.partition)
    return [row for row in case.last.seen.partitions if _lacks(case, row, largest)]


def _lacks(case: Case, row: PartitionRow, largest: Mapping[str, int]) -> bool:
    before = case.before.get(row.partition)
    if before is None or row.committed is not None or before.committed is not None:
        return False
    if row.trouble is not None:
        return False
    if row.member is not None:
        return case.kinds.get(row.member) == "zkgroup"
    return row.partition.partition < largest.get(row.partition.topic, 0)


def _by_topic(case: Case) -> dict[str, dict[TopicPartition, Written]]:
    """Of topics that zkgroup members alone read: JVM members make nodes one after the other."""
    found: dict[str, dict[TopicPartition, Written]] = {}
    if "jvm" in case.kinds.values():
        return found
    for partition, written in case.last.facts.written.items():
        found.setdefault(partition.topic, {})[partition] = written
    return found
