"""How many nodes the light members of one group may make."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Create, Delete, Done, Refused, Transaction
from pyspark_zkgroup.protocols.light import quota
from pyspark_zkgroup.protocols.light.quota import Quota


def made(*paths: str) -> list[Transaction]:
    return [tuple(Create(path, b"") for path in paths)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Quota:
    monkeypatch.setattr(quota, "TOPICS_MAX", 1)
    monkeypatch.setattr(quota, "NODES_MAX", 3)
    monkeypatch.setattr(quota, "BYTES_MAX", 20)
    return Quota()


def test_as_many_nodes_as_allowed_are_made_and_no_more(small: Quota) -> None:
    assert small.refusal_of("g", made("/a", "/b", "/c")) == ""
    small.count("g", made("/a", "/b"), [Done()])
    assert small.refusal_of("g", made("/c")) == ""
    assert small.refusal_of("g", made("/c", "/d")) == (
        "the members of g have made 2 nodes of 4 bytes"
    )
    assert small.refusal_of("h", made("/c", "/d")) == ""


def test_as_many_bytes_as_allowed_are_made_and_no_more(small: Quota) -> None:
    assert small.refusal_of("g", made("/" + 19 * "x")) == ""
    assert small.refusal_of("g", made("/" + 20 * "x")) != ""


def test_a_group_may_make_nodes_of_128_mebibytes() -> None:
    mebibyte = Create("/" + (2**20 - 1) * "x", b"")
    assert Quota().refusal_of("g", [(mebibyte,) * 128]) == ""
    assert Quota().refusal_of("g", [(mebibyte,) * 128, (Create("/", b""),)]) != ""


def test_what_is_deleted_or_freed_may_be_made_again(small: Quota) -> None:
    small.count("g", made("/a", "/b", "/c"), [Done()])
    assert small.refusal_of("g", made("/d")) != ""
    small.count("g", [(Delete("/a", 0),)], [Done()])
    assert small.refusal_of("g", made("/d")) == ""
    small.count("g", made("/d"), [Done()])
    small.freed("g", 2)
    assert small.refusal_of("g", made("/e", "/f")) == ""
    assert small.refusal_of("g", made("/e", "/f", "/g")) != ""
    small.freed("g", 100)
    assert small.refusal_of("g", made("/e", "/f", "/g")) == "", "never fewer than none"
    assert small.refusal_of("g", made("/e", "/f", "/g", "/h")) != ""


def test_what_was_refused_does_not_count(small: Quota) -> None:
    small.count("g", made("/a", "/b", "/c"), [Refused(0, "exists")])
    assert small.refusal_of("g", made("/a", "/b", "/c")) == ""


def test_a_topic_counts_once_for_all_its_members(small: Quota) -> None:
    assert small.refusal_of_topics("g", ["/owners/t", "/offsets/t"]) == ""
    assert small.refusal_of_topics("g", ["/owners/t", "/offsets/t"]) == ""
    assert small.refusal_of_topics("g", ["/owners/u"]) == (
        "the members of g have asked for nodes of 1 topics"
    )
    assert small.refusal_of_topics("h", ["/owners/u"]) == ""
