"""ZooKeeper alone is out of a member's reach: its brokers are not, and the others' ZooKeeper is
there. The route is silent: connections stay open, and nothing passes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.harness.oracle import Record
from tests.harness.waiting import wait_until
from tests.spark.scene import PATIENCE_S, Member, Scene
from tests.spark.test_faults import PARTITIONS, PER_SECOND, finish
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.cut import Cut
from zkgroup_sandbox.kafka_config import CHROOT

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

SESSION_S = 16.0
# The first request that gets no answer is given up after a quarter of the session. And a batch of a
# busy machine.
REQUEST_S, BATCH_S = SESSION_S / 4, 3.0
# The first ones of a JVM take seconds.
WARM_BATCHES = 3


@pytest.fixture
def cut(sandbox: Sandbox) -> Iterator[Cut]:
    with Cut([server.address for server in sandbox.zookeepers]) as made:
        yield made


def two_members(scene: Scene, cut: Cut, topic: str) -> tuple[Member, Member]:
    """a reaches ZooKeeper by the route that can be cut."""
    session = {"zookeeper.session.timeout.ms": str(int(SESSION_S * 1000))}
    a = scene.member("a", topic, **session, **{"zookeeper.connect": cut.addresses + CHROOT})
    b = scene.member("b", topic, **session)
    for member, driver in zip((a, b), scene.lease(2), strict=True):
        member.job.options["checkpointLocation"] = str(member.job.checkpoint)
        member.start(driver)
    scene.wait_shares(topic, {"a": 4, "b": 4}, "two members to share")
    shared = len(a.deliveries)
    wait_until(lambda: len(a.deliveries) >= shared + WARM_BATCHES, PATIENCE_S, "a to read steadily")
    return a, b


def planned_at(member: Member) -> dict[int, float]:
    """When Spark logged each batch's plan, which it does as soon as the planner has made it."""
    plans = (member.job.checkpoint / "offsets").glob("[0-9]*")
    return {int(path.name): path.stat().st_mtime for path in plans}


def test_half_a_session_without_zookeeper_moves_nothing_and_stops_no_reading(
    scene: Scene, cut: Cut
) -> None:
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, cut, topic)
    # The driver may have served another test before.
    said = len(a.on.warnings())
    before, began = scene.owners(topic), time.time()
    cut.silence()
    scene.wait_passed(SESSION_S / 2)
    healed = time.time()
    cut.heal()
    wait_until(
        lambda: [at for at in planned_at(a).values() if at > healed + 1.0],
        PATIENCE_S,
        "a to read on",
    )
    assert {p: o.life for p, o in scene.owners(topic).items()} == {
        p: o.life for p, o in before.items()
    }
    ends = [began, *(d.ended for d in a.deliveries if began < d.ended < healed), healed]
    longest = max(later - earlier for earlier, later in pairwise(ends))
    print(f"a delivered {len(ends) - 2} batches meanwhile; the longest wait was {longest:.2f} s")
    assert len(ends) > 2
    assert longest <= REQUEST_S + BATCH_S
    assert not any("has ended" in line for line in a.on.warnings()[said:])
    finish(scene, topic, set(), a, b)


def test_after_twice_its_session_without_zookeeper_others_read_and_it_had_stopped_before(
    scene: Scene, cut: Cut
) -> None:
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, cut, topic)
    consumer, began = a.consumer, time.time()
    cut.silence()
    expired = scene.wait_no_owner(topic, consumer)
    last = max(planned_at(a).values())
    print(f"a planned for {last - began:.2f} s more, and was expired after {expired - began:.2f} s")
    assert last < expired
    owners = scene.wait_shares(topic, {"b": PARTITIONS}, "b to take over")
    claimed = max(owner.since for owner in owners.values())
    print(f"b had claimed everything {claimed - began:.2f} s after the cut")
    scene.wait_passed(began + 2 * SESSION_S - time.time())
    assert max(planned_at(a).values()) == last
    healed = time.time()
    cut.heal()
    scene.wait_shares(topic, {"a": 4, "b": 4}, "a to be back")
    print(f"a was back {time.time() - healed:.2f} s after the route was healed")
    # What a had planned and could not commit; nothing that it planned later.
    in_flight: set[Record] = set()
    for number, at in planned_at(a).items():
        following = planned_at(a).get(number + 1, time.time())
        if at <= last and following >= began:
            in_flight |= a.records_of(number)
    finish(scene, topic, in_flight, a, b)
