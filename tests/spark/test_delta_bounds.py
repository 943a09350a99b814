"""Batches with a plan are compared with the table only below its bounds, and it holds each record
once.
"""

from __future__ import annotations

import pytest

from tests.spark.test_delta import Found, Scenes

pytestmark = [pytest.mark.spark, pytest.mark.timeout(2000)]

DAILY = ("steady", "overtaken", "taken over")
LONG = ("all types", "answer lost", "by hand", "not suited")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return Scenes(tmp_path_factory.mktemp("scenes"), DAILY, within_s=500.0)


@pytest.fixture(scope="module")
def long_scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return Scenes(tmp_path_factory.mktemp("scenes"), LONG, within_s=1800.0)


def test_only_a_replay_is_compared_with_the_table(scenes: Scenes) -> None:
    assert scenes["steady"] == {
        "compared at first": 0,
        "compared": [[[90, 209]]],
        # 20 records make two rows each.
        "found": [250, 230],
        "bound": 230,
        "left over": [],
    }


def test_a_rival_before_the_commit_makes_it_look_again(scenes: Scenes) -> None:
    # The rival's write, and two of the member.
    assert scenes["overtaken"] == {"writes": 3, "found": [50, 50], "bound": 50}


def test_a_table_with_a_hole_is_taken_over_and_append_once_goes_ahead(scenes: Scenes) -> None:
    assert scenes["taken over"] == {
        "bounds": [None, 60, 100, 120],
        "read": 10,
        "compared": 1,
        "found": [118, 118],
    }


@pytest.mark.long
def test_a_commit_whose_answer_is_lost_is_not_made_twice(long_scenes: Scenes) -> None:
    assert long_scenes["answer lost"] == {"lost": 1, "found": [20, 20]}


@pytest.mark.long
def test_spark_and_delta_rs_read_the_same_rows(long_scenes: Scenes) -> None:
    found = long_scenes["all types"]
    assert (found["rows"], found["same"]) == (60, True)
    assert found["counts"] == found["expected"]
    assert all(found["counts"].values())
    assert set(found["bounded"]) >= {"min.topic", "max.offset", "min.at", "max.at", "max.s.b"}
    assert not {"min.x", "max.Price", "min.tags"} & set(found["bounded"])


@pytest.mark.long
def test_what_is_done_to_the_table_by_hand(long_scenes: Scenes) -> None:
    """Deleted and restored rows come back when they are read again; a clone has its own marks."""
    found = long_scenes["by hand"]
    assert found == {
        "deleted": [27, 27],
        "again": [30, 30],
        "restored": [20, 20],
        "found": [40, 40],
        "clone": [40, 40],
        "marks of clone": [40, True],
    }


@pytest.mark.long
def test_a_table_that_needs_sparks_writer_is_compared_or_refused(long_scenes: Scenes) -> None:
    found: Found = long_scenes["not suited"]
    assert (found["compared"], found["found"]) == (2, [20, 20])
    assert "because of the missing column 'more'" in found["narrow"]
    assert found["wider"] == [20, 20]
    for when in ("while it runs", "at the start", "once"):
        assert "because of the constraint 'small'. Correct that." in found[when]
