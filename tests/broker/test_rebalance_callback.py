"""The user's function is called for what moves, in time, and cannot do harm."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import OptionError
from tests.harness.group import Group, missing, settle
from tests.harness.waiting import wait_until

HEARD: list[tuple[str, tuple[tuple[str, int], ...], bool]] = []
GROUPS: list[Group] = []


def hear(event: str, partitions: list[tuple[str, int]]) -> None:
    """Notes whether the partitions have an owner node at that moment."""
    topic = partitions[0][0]
    owned = GROUPS[0].owners(topic)
    HEARD.append((event, tuple(partitions), all(n in owned for _, n in partitions)))


def fail(event: str, partitions: list[tuple[str, int]]) -> None:
    raise RuntimeError(f"not at {event} of {len(partitions)}")


@pytest.fixture(autouse=True)
def heard(group: Group) -> None:
    HEARD.clear()
    GROUPS[:] = [group]


def test_it_hears_of_a_release_before_and_of_a_claim_after(group: Group) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    a = group.query(topic, rebalance_callback=f"{__name__}:hear")
    settle(a)
    every = tuple((topic, n) for n in range(4))
    assert HEARD[:] == [("claim", every, True)]
    b = group.query(topic)
    settle(a, b)
    given_up = tuple((topic, p.partition) for p in sorted(b.held))
    assert HEARD[1:] == [("release", given_up, True)]
    a.stop()
    assert HEARD[2:] == [("release", tuple(p for p in every if p not in given_up), True)]


def test_it_hears_of_a_loss(group: Group) -> None:
    topic = group.topic(2)
    a = group.query(topic, rebalance_callback=f"{__name__}:hear", session="2000")
    settle(a)
    session: Any = a.membership.keeper.session
    assert session is not None
    group.sandbox.expire_session(*session.client.client_id)
    wait_until(lambda: a.trigger() or len(HEARD) >= 3, 20, "the loss and the new claim")
    assert [event for event, _, _ in HEARD] == ["claim", "loss", "claim"]


def test_what_it_raises_is_logged_and_ends_nothing(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    a = group.query(topic, rebalance_callback=f"{__name__}:fail")
    a.until(10)
    assert missing(group, a.rows) == []
    assert "rebalance.callback failed at 'claim' of 2 partitions" in caplog.text
    assert "RuntimeError: not at claim of 2" in caplog.text


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module:f", "cannot be imported: ModuleNotFoundError"),
        ("json:no_such_function", "cannot be imported: AttributeError"),
        ("json:__name__", "is not a function"),
    ],
)
def test_a_function_that_is_not_there_is_named_at_once(group: Group, name: str, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        group.query(group.topic(1), rebalance_callback=name)
