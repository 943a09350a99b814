"""The messages to one member that wait to be sent."""

from __future__ import annotations

from pyspark_zkgroup.protocols.light.conversation import Outbox
from pyspark_zkgroup.protocols.light.rules.messages import Ping, ToMember


def pings(count: int) -> list[ToMember]:
    return [Ping(number, 0) for number in range(count)]


def outbox() -> tuple[Outbox, list[None]]:
    found, cancelled = Outbox(), list[None]()
    found.cancel = lambda: cancelled.append(None)
    return found, cancelled


def test_what_was_put_before_the_end_is_sent() -> None:
    found, cancelled = outbox()
    for message in pings(2):
        found.put(message)
    found.close()
    found.put(Ping(7, 0))
    assert list(found.messages()) == pings(2)
    assert list(found.messages()) == []
    assert not cancelled


def test_the_stream_of_a_member_that_reads_nothing_is_cut_after_1000_messages() -> None:
    found, cancelled = outbox()
    for message in pings(1000):
        found.put(message)
    assert not found.closed.is_set()
    found.put(Ping(1000, 0))
    assert found.closed.is_set()
    assert len(cancelled) == 1
    assert list(found.messages()) == pings(1000)
