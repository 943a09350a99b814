"""Groups as metrics: what the exporter serves, and that alerts and dashboard name it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pyspark_zkgroup.exposition import exposition
from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.findings import GroupFinding
from pyspark_zkgroup.inspect.group_metrics import Track, Watched, metrics, seconds_behind, tracked
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition

ROOT = Path(__file__).parents[3]
T = [TopicPartition("orders", n) for n in range(2)]


def seen(committed: int, end: int) -> GroupReport:
    own = frozenset(T)
    member = BrokeredMember("a-1", 'ap"p', "/10.0.0.1", None, ("orders",), assigned=own)
    group = BrokeredGroup("billing", "classic", "Stable", "range", None, (member,))
    facts = BrokeredFacts(group, {p: StoredOffset(committed) for p in T}, {"orders": (0, 1)})
    return brokered_report(facts, dict.fromkeys(T, end))


def served() -> str:
    track = tracked(tracked(Track(), seen(10, 10), 0.0), seen(10, 30), 5.0)
    found = (GroupFinding("x", "[ZKG-217] The group", ""), GroupFinding("x", "other", "", False))
    return exposition(metrics([Watched(seen(10, 30), track, found)], 65.0))


def test_lag_shares_ages_and_findings_are_served() -> None:
    lines = served().splitlines()
    for line in (
        'zkgroup_group_up{group="billing"} 1',
        'zkgroup_group_members{group="billing"} 1',
        r'zkgroup_group_member_partitions{group="billing",client="ap\"p",host="10.0.0.1"} 2',
        'zkgroup_group_partitions{group="billing",state="owned"} 2',
        'zkgroup_group_lag_records{group="billing",topic="orders",partition="0"} 20',
        'zkgroup_group_lag_seconds{group="billing",topic="orders",partition="0"} 60.0',
        'zkgroup_group_unchanged_offset_seconds{group="billing",topic="orders",partition="1"} 65.0',
        'zkgroup_group_findings{group="billing",code="ZKG-217",severity="ill"} 1',
        'zkgroup_group_findings{group="billing",code="",severity="note"} 1',
    ):
        assert line in lines


def test_a_look_that_failed_is_a_metric() -> None:
    text = exposition(metrics([Watched(seen(1, 2), Track(), trouble="away")], 0.0))
    assert 'zkgroup_group_up{group="billing"} 0' in text


@pytest.mark.parametrize(
    ("committed", "seconds"), [(5, 90.0), (10, 50.0), (15, 50.0), (20, 0.0), (25, 0.0)]
)
def test_seconds_behind_count_from_when_the_log_grew_beyond_the_offset(
    committed: int, seconds: float
) -> None:
    assert seconds_behind(((10.0, 10), (50.0, 20)), committed, 100.0) == seconds


def test_without_an_end_nothing_is_known() -> None:
    assert seconds_behind((), 5, 100.0) is None


def test_a_group_is_behind_for_longer_than_samples_are_kept() -> None:
    """With --interval 1 the newest 500 samples take 500 s, and an alert waits for 900."""
    track = Track()
    for at_s in range(2000):
        track = tracked(track, seen(10, 10 + at_s), float(at_s))
    assert len(track.ends[T[0]]) == 500
    behind_s = seconds_behind(track.ends[T[0]], 10, 2000.0)
    assert behind_s is not None
    assert behind_s >= 1980
    assert track.ends[T[0]][-1] == (1999.0, 2009)


def test_the_sample_before_the_newest_is_left_out_where_it_is_the_nearest() -> None:
    track = Track()
    times = [*(10.0 * n for n in range(500)), 4991.0]
    for end, at_s in enumerate(times):
        track = tracked(track, seen(10, end), at_s)
    assert [at_s for at_s, _ in track.ends[T[0]]] == [*times[:-2], 4991.0]


def test_partitions_that_are_gone_are_forgotten() -> None:
    first = tracked(Track(), seen(1, 2), 0.0)
    fewer = GroupReport("billing", (), seen(1, 2).partitions[:1], ())
    assert set(tracked(first, fewer, 1.0).ends) == {T[0]}


@pytest.mark.parametrize("page", ["alerts.yaml", "dashboard.json"])
def test_alerts_and_dashboard_name_metrics_that_are_served(page: str) -> None:
    text = (ROOT / "monitoring" / page).read_text("utf-8")
    named = set(re.findall(r"zkgroup_group_[a-z_]+", text))
    assert named
    assert named <= set(re.findall(r"^# TYPE (\w+) ", served(), re.MULTILINE))


def test_the_dashboard_is_json_with_a_query_in_each_panel() -> None:
    value = json.loads((ROOT / "monitoring" / "dashboard.json").read_text("utf-8"))
    assert all(panel["targets"][0]["expr"] for panel in value["panels"])


def test_the_page_names_each_metric() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    assert set(re.findall(r"^# TYPE (\w+) ", served(), re.MULTILINE)) <= set(
        re.findall(r"`(zkgroup_group_\w+)`", page)
    )
