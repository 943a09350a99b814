"""Whether logs still hold what was planned of them, told by leader epochs (KIP-320).

A range was planned in one epoch of its leader. Another leader may have been elected since that did
not have all of it (an unclean election): its log was cut, and new records have taken the offsets of
those that are gone. Read on, they would pass for the old ones, and the planner, which continues
behind the range, would never read those that it was not planned for. So a leader of a later epoch
is asked, once, where the planned epoch ends in its log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.leader_cache import Leader
from pyspark_zkgroup.kafka.outcome import Again
from pyspark_zkgroup.model import Mark, TopicPartition


@dataclass(frozen=True, slots=True)
class Planned:
    """`checked`: a later epoch whose leader was found to hold all up to `until`, if there was."""

    mark: Mark
    until: int
    checked: int


@dataclass(frozen=True, slots=True)
class Whole:
    """Nothing of it was cut, if it `is_certain`; brokers that know no epochs cannot tell."""

    is_certain: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """Of the log as it was planned nothing is left from `end` on."""

    end: int
    reason: str


Verdict = Whole | Cut | Again


def examine(
    cluster: Cluster,
    leaders: Mapping[TopicPartition, Leader],
    planned: Mapping[TopicPartition, Planned],
    *,
    timeout_s: float,
) -> dict[TopicPartition, Verdict]:
    found: dict[TopicPartition, Verdict] = {}
    asked: dict[TopicPartition, int] = {}
    for tp, leader in leaders.items():
        now = _without_asking(planned[tp], leader.mark)
        if now is None:
            asked[tp] = planned[tp].mark.epoch
        else:
            found[tp] = now
    try:
        ends = offsets.epoch_ends(cluster, asked, timeout_s=timeout_s) if asked else {}
    except ServerError as error:
        return found | dict.fromkeys(asked, Again(error.what))
    return found | {
        tp: judge(planned[tp], ends[tp], leaders[tp].mark)
        if tp in ends
        else Again("its leader does not tell where its epochs end", leader_moved=True)
        for tp in asked
    }


def _without_asking(planned: Planned, leading: Mark) -> Verdict | None:
    if leading.is_of_other_topic(planned.mark):
        return Again("its topic was recreated", leader_moved=True, is_gone=True)
    if not planned.mark.is_known or not leading.is_known:
        return Whole(is_certain=False)
    if leading.epoch > max(planned.checked, planned.mark.epoch):
        return None
    return Whole(is_certain=leading.epoch >= planned.mark.epoch)


def judge(planned: Planned, end: int | None, leading: Mark) -> Verdict:
    """`end`: where the planned epoch ends in the log of a leader of a later one."""
    if end is None:
        return Whole(is_certain=False)
    if end >= planned.until:
        return Whole(is_certain=True)
    return Cut(
        end,
        f"its log was cut at {end} when its leader epoch went from {planned.mark.epoch} to "
        f"{leading.epoch} (unclean election)",
    )
