"""When the batches of a run began and ended, read out of its events."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tests.chaos.values import Trigger
from tests.chaos.verdict import triggered, triggers_of


def started(at: float, *replays: int) -> dict[str, Any]:
    return {"event": "started", "at": at, "replays": replays}


def progress(batch: int, began: float, ms: int) -> dict[str, Any]:
    timestamp = datetime.fromtimestamp(began, timezone.utc).isoformat().replace("+00:00", "Z")
    facts = {"batch": batch, "timestamp": timestamp, "ms": ms, "boundary_ms": 500}
    return {"event": "progress", "at": began + ms / 1000.0, **facts}


def taken(batch: int, at: float, planned: float) -> dict[str, Any]:
    return {"event": "taken", "at": at, "batch": batch, "planned": planned}


def gone(at: float) -> dict[str, Any]:
    return {"event": "gone", "at": at}


def test_triggers_are_read_from_sparks_progress() -> None:
    events = [started(3.0), taken(7, 6.0, 5.9), progress(7, 5.5, 1500), {"event": "appended"}]
    assert list(triggers_of("a", events)) == [Trigger("a", 5.5, 1.5, 0.5)]


def test_a_replay_that_ends_with_its_process_began_with_its_query() -> None:
    events = [started(30.0, 4), taken(4, 33.0, 11.0), gone(41.0), {"event": "ready", "at": 50.0}]
    assert list(triggers_of("a", events)) == [Trigger("a", 30.0, 11.0, cut_short=True)]
    # Not even given to the sink: it waited for the end of its predecessor's session.
    (found,) = triggers_of("a", [events[0], *events[2:]])
    assert (found.began, found.until) == (30.0, 41.0)
    assert list(triggers_of("a", [events[0], progress(4, 30.0, 8000), gone(41.0)])) == [
        Trigger("a", 30.0, 8.0, 0.5)
    ]


@pytest.mark.parametrize(
    "end",
    [
        [gone(20.0)],
        [{"event": "died", "at": 20.0, "error": "why"}, started(20.5)],
        [{"event": "stopping", "at": 19.0}, {"event": "stopped", "at": 20.0}],
        [{"event": "ready", "at": 20.0}],
    ],
    ids=["killed", "died", "stopped", "ended by itself"],
)
def test_the_batch_in_which_a_run_ends_began_when_it_was_planned(end: list[dict[str, Any]]) -> None:
    events = [started(3.0), taken(7, 6.0, 5.9), progress(7, 5.5, 1500), taken(8, 12.0, 11.0), *end]
    assert list(triggers_of("a", events)) == [
        Trigger("a", 5.5, 1.5, 0.5),
        Trigger("a", 11.0, 9.0, cut_short=True),
    ]


def test_what_is_reported_after_the_end_of_a_run_is_known_all_the_same() -> None:
    events = [started(3.0), taken(7, 6.0, 5.9), gone(8.0), progress(7, 5.5, 1500), started(9.0)]
    assert list(triggers_of("a", events)) == [Trigger("a", 5.5, 1.5, 0.5)]


def test_a_member_without_a_batch_at_its_end_had_none() -> None:
    assert list(triggers_of("a", [started(3.0), gone(60.0)])) == []


def test_a_batch_that_is_reported_after_the_next_query_began_is_none_of_its_batches() -> None:
    """A planner is killed at 43.2; its batch, which began at 40.0, is finished by the tasks, and
    reported after the query has begun again at 46.4.
    """
    late = {"event": "progress", "at": 46.5, "timestamp": "1970-01-01T00:00:40.000Z"}
    assert triggered(late) == 40.0
    assert triggered({**late, "timestamp": "1970-01-01T00:00:51.267Z"}) == 51.267
