"""A group as metrics, from what was seen of it over time. No clock is asked here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark_zkgroup.exposition import Labels, Metric
from pyspark_zkgroup.inspect.findings import GroupFinding
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import TopicPartition

_SAMPLES_MAX = 500
_CODE = re.compile(r"\[(ZKG-[0-9]{3})\]")
_STATES = ("owned", "moving", "free", "stuck", "unread")


@dataclass(frozen=True, slots=True)
class Track:
    """`ends` has when each log end was first seen, `committed` since when an offset is the same."""

    ends: Mapping[TopicPartition, tuple[tuple[float, int], ...]] = field(default_factory=dict)
    committed: Mapping[TopicPartition, tuple[float, int]] = field(default_factory=dict)


def tracked(track: Track, seen: GroupReport, at_s: float) -> Track:
    """Partitions that are gone are forgotten. Of one whose end is not known this time, what was
    seen before stays: how far it was behind does not begin again.
    """
    ends, committed = {}, {}
    for row in seen.partitions:
        partition = row.partition
        known = track.ends.get(partition, ())
        if row.end is not None and (not known or known[-1][1] != row.end):
            known = _thinned((*known, (at_s, row.end)))
        if known:
            ends[partition] = known
        if row.committed is not None:
            before = track.committed.get(partition)
            is_same = before is not None and before[1] == row.committed
            committed[partition] = before if before and is_same else (at_s, row.committed)
    return Track(ends, committed)


def _thinned(samples: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    """Without the one that has the nearest neighbours. A group may be behind for longer than the
    newest samples take.
    """
    if len(samples) <= _SAMPLES_MAX:
        return samples
    between = range(1, len(samples) - 1)
    dense = min(between, key=lambda n: samples[n + 1][0] - samples[n - 1][0])
    return (*samples[:dense], *samples[dense + 1 :])


def seconds_behind(ends: Sequence[tuple[float, int]], committed: int, now_s: float) -> float | None:
    """Since when the log has had more than what is committed; at least that, where it had when it
    was first seen. None where no end is known.
    """
    if not ends:
        return None
    since = next((at_s for at_s, end in ends if end > committed), None)
    return 0.0 if since is None else now_s - since


@dataclass(frozen=True, slots=True)
class Watched:
    """One group at one time. `trouble`: why it could not be seen; then the rest is of before."""

    seen: GroupReport
    track: Track
    findings: tuple[GroupFinding, ...] = ()
    trouble: str = ""


def metrics(every: Iterable[Watched], now_s: float) -> list[Metric]:
    groups = list(every)
    rows = [(g, _of(g, p=row.partition), row) for g in groups for row in g.seen.partitions]
    behind = [
        (labels, at)
        for g, labels, row in rows
        if row.committed is not None
        and (at := seconds_behind(g.track.ends.get(row.partition, ()), row.committed, now_s))
        is not None
    ]
    quiet = [
        (labels, now_s - g.track.committed[row.partition][0])
        for g, labels, row in rows
        if row.partition in g.track.committed
    ]
    return [
        _gauge("up", "1 if the newest look at the group and its log ends succeeded.", _ups(groups)),
        _gauge("members", "Members of the group.", [(_of(g), len(g.seen.members)) for g in groups]),
        _gauge("member_partitions", "Partitions by client and host.", _shares(groups)),
        _gauge("partitions", "Partitions by state.", _states(groups)),
        _gauge(
            "lag_records",
            "Records between the committed offset and the log end.",
            [(labels, row.lag) for _, labels, row in rows if row.lag is not None],
        ),
        _gauge("lag_seconds", "Since when the log has had records that are not committed.", behind),
        _gauge(
            "committed_offset",
            "Committed offset.",
            [(labels, row.committed) for _, labels, row in rows if row.committed is not None],
        ),
        _gauge("unchanged_offset_seconds", "Since when the committed offset is the same.", quiet),
        _gauge("findings", "Findings of doctor, by code and severity.", _findings(groups)),
    ]


def _gauge(name: str, about: str, samples: Sequence[tuple[Labels, float]]) -> Metric:
    return f"zkgroup_group_{name}", "gauge", about, samples


def _of(watched: Watched, *, p: TopicPartition | None = None) -> dict[str, object]:
    labels: dict[str, object] = {"group": watched.seen.group}
    return labels if p is None else {**labels, "topic": p.topic, "partition": p.partition}


def _ups(groups: Sequence[Watched]) -> list[tuple[Labels, float]]:
    return [(_of(g), 0 if g.trouble else 1) for g in groups]


def _shares(groups: Sequence[Watched]) -> list[tuple[Labels, float]]:
    """Not by member id: each start makes a new one, which would be another series."""
    found: list[tuple[Labels, float]] = []
    for g in groups:
        owns: Counter[tuple[str, str]] = Counter()
        for member in g.seen.members:
            owns[(member.client or member.kind, member.host.lstrip("/"))] += member.owns
        found += [({**_of(g), "client": c, "host": h}, n) for (c, h), n in sorted(owns.items())]
    return found


def _states(groups: Sequence[Watched]) -> list[tuple[Labels, float]]:
    return [
        ({**_of(g), "state": state}, sum(row.state == state for row in g.seen.partitions))
        for g in groups
        for state in _STATES
    ]


def _findings(groups: Sequence[Watched]) -> list[tuple[Labels, float]]:
    found: list[tuple[Labels, float]] = []
    for g in groups:
        counts: Counter[tuple[str, str]] = Counter()
        for finding in g.findings:
            code = _CODE.match(finding.text)
            counts[(code[1] if code else "", "ill" if finding.is_ill else "note")] += 1
        found += [({**_of(g), "code": c, "severity": s}, n) for (c, s), n in sorted(counts.items())]
    return found
