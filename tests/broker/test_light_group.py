"""Members without ZooKeeper, and the coordinators that keep their sessions. Real servers."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from pyspark_zkgroup.errors import AccessError, AssignmentError, FencedError
from pyspark_zkgroup.group.balance import STICKY
from pyspark_zkgroup.group.ops import Check, Create, Refused, SetData, Transaction
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
    parse_registration,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.light.limits import Limits
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Commit,
    Executed,
    Failed,
    Hello,
    Leave,
    Read,
    Register,
    Rejected,
)
from pyspark_zkgroup.protocols.light.rules.wire import MESSAGE_BYTES_MAX, encode
from tests.harness.group import all_rows, known, missing, settle, twice
from tests.harness.light import LightGroup, crash, served
from tests.harness.planted_secrets import COORDINATOR_TOKEN, WRONG_PASSWORD, leaks_in, leaks_of
from tests.harness.spark_order import Checkpoint, Query
from tests.harness.talk import Talk, answers, talk
from tests.harness.told_group import begin_a_batch, share
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.cut import Cut


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[LightGroup]:
    with served(sandbox) as made:
        yield made


def test_a_lone_member_is_assigned_everything_and_its_commits_are_in_zookeeper(
    group: LightGroup,
) -> None:
    topic = group.topic(5)
    group.produce(topic, 20)
    query = group.query(topic)
    query.until(100)
    assert missing(group, query.rows) == [] == twice(query.rows)
    query.trigger()
    assert group.offsets(topic) == dict.fromkeys(range(5), b"20")
    assert set(group.owners(topic).values()) == {f"{query.membership.member}-{n}" for n in (0, 1)}
    path = f"/consumers/groups/{group.name}/ids/{query.membership.member}"
    data, stat = group.client.get(path)
    seat = parse_registration(path, data).light
    assert stat.ephemeralOwner == 0
    assert seat is not None
    told = known(query)["generation"]
    assert (seat.timeout_ms, seat.generation) == (3000, told)
    query.stop()
    assert group.owners(topic) == {}
    assert group.below("ids") == []


def test_light_and_coordinated_members_share_a_group(group: LightGroup) -> None:
    topic = group.topic(12)
    group.produce(topic, 10)
    light = group.query(topic)
    light.until(120)
    before = group.owner_lives(topic)
    other = group.query(topic, protocol="coordinator")
    another = group.query(topic)
    share([light, other, another], 12)
    after = group.owner_lives(topic)
    assert {p.partition for p in light.held} == {p for p in after if after[p] == before[p]}
    group.produce(topic, 10)
    settle(light, other, another)
    other.stop()
    share([light, another], 12)
    group.produce(topic, 10)
    settle(light, another)
    rows = all_rows(light, other, another)
    assert missing(group, rows) == [] == twice(rows)


def test_a_crash_frees_after_the_session_and_a_clean_stop_at_once(group: LightGroup) -> None:
    topic = group.topic(6)
    group.produce(topic, 10)
    a, b, c = (group.query(topic, session="2000") for _ in range(3))
    share([a, b, c], 6)
    settle(a, b, c)
    crash(c)
    share([a, b], 6)
    assert len(group.below("ids")) == 2
    b.stop()
    share([a], 6)
    group.produce(topic, 10)
    settle(a)
    rows = all_rows(a, b, c)
    assert missing(group, rows) == [] == twice(rows)


def test_a_coordinator_dies_and_the_next_one_moves_nothing(group: LightGroup) -> None:
    for name in ("two", "three"):
        group.office(name)
    topic = group.topic(6)
    group.produce(topic, 10)
    a, b = group.query(topic), group.query(topic)
    share([a, b], 6)
    settle(a, b)
    lives, told = group.owner_lives(topic), {known(q)["generation"] for q in (a, b)}
    group.kill(group.in_office())
    group.produce(topic, 5)

    def assigned_again() -> bool:
        a.trigger()
        b.trigger()
        return not told & {known(query)["generation"] for query in (a, b)}

    wait_until(assigned_again, 30, "both to receive new commands", interval_s=0.0)
    settle(a, b)
    assert group.owner_lives(topic) == lives
    rows = all_rows(a, b)
    assert missing(group, rows) == [] == twice(rows)
    group.kill(group.in_office())
    crash(b)
    group.produce(topic, 5)
    share([a], 6)
    settle(a)
    assert missing(group, all_rows(a, b)) == []


def test_a_silent_member_plans_nothing_before_it_counts_as_dead(group: LightGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, 10)
    with Cut([group.offices[0].address]) as cut:
        silent = group.query(topic, session="2000", coordinator_addresses=cut.addresses)
        silent.until(40)
        silent.trigger()
        owners = set(group.owners(topic).values())
        cut.silence()
        group.produce(topic, 10)
        member = silent.membership

        def planned_last() -> bool:
            """Whether the lease is over; until then the nodes are the member's."""
            over = not member.keeper.may_plan
            assert over or set(group.owners(topic).values()) == owners
            return over

        wait_until(planned_last, 10, "the lease to end", interval_s=0.01)
        assert set(group.owners(topic).values()) == owners
        assert silent.trigger() == 0
        other = group.query(topic)
        share([other], 4)
        settle(other)
        cut.heal()
        group.produce(topic, 10)
        share([silent, other], 4)
        settle(silent, other)
    rows = all_rows(silent, other)
    assert missing(group, rows) == []
    assert twice(rows) == []


def test_a_crash_and_a_restart_replay_exactly(group: LightGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, session="2000")
    a.until(40)
    group.produce(topic, 10)
    begin_a_batch(a)
    crash(a)
    again = group.query(topic, checkpoint, session="2000")
    settle(again)
    rows = all_rows(a, again)
    assert missing(group, rows) == [] == twice(rows)


def test_a_static_member_takes_over_at_once_and_the_older_process_ends(group: LightGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, session="60000", member_id="fixed")
    a.until(40)
    group.produce(topic, 10)
    begin_a_batch(a)
    again = group.query(topic, checkpoint, session="60000", member_id="fixed")
    settle(again)
    rows = all_rows(a, again)
    assert missing(group, rows) == [] == twice(rows)
    assert fenced(a, "fixed")
    a.brokers.close()
    group.queries.remove(a)


def fenced(query: Query, name: str) -> bool:
    def ended() -> bool:
        try:
            query.planner.boundary.cross()
        except FencedError as error:
            return name in str(error)
        return False

    return wait_until(ended, 10, "the older process to find itself fenced")


def test_a_refused_client_learns_nothing_and_an_unserved_one_learns_why(
    group: LightGroup,
) -> None:
    topic = group.topic(2)
    stranger = group.query(topic, coordinator_token="guessed")
    with pytest.raises(AccessError, match="rejects the token of this member"):
        stranger.trigger()
    old = group.query(topic, protocol="zookeeper")
    settle(old)
    light = group.query(topic)
    with pytest.raises(AssignmentError, match=old.membership.member):
        light.trigger()
    assert group.below("ids") == []


def test_nothing_tells_the_token(
    group: LightGroup, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    topic = group.topic(2)
    group.produce(topic, 5)
    query = group.query(topic, Checkpoint(directory=tmp_path))
    query.until(10)
    stranger = group.query(topic, coordinator_token=WRONG_PASSWORD)
    with pytest.raises(AccessError) as refused:
        stranger.trigger()
    told = [json.dumps([known(q), q.membership.status()]) for q in (query, stranger)]
    nodes = [data for data, _ in group.dump().values() if data]
    options = [repr(query.options), repr(stranger.options)]
    assert leaks_of(caplog.text, repr(refused.value), *told, *options, *nodes) == []
    assert leaks_in(tmp_path) == []


def test_what_no_member_sends_ends_its_own_stream_alone(group: LightGroup) -> None:
    topic = group.topic(2)
    query = group.query(topic)
    share([query], 2)
    address = group.offices[0].address
    hello = Hello(group.name, f"{group.name}_x", "x" * 32, 5000)
    own = CoordinatedPaths(group.name)
    partition = TopicPartition(topic, 0)
    steal: Transaction = (SetData(own.owner(partition), f"{group.name}_x-0".encode(), 1),)
    commit: Transaction = (Check(own.owner(partition), 1), SetData(own.offset(partition), b"7", 1))
    foreign = Commit(1, ((Create("/elsewhere", b""),),))
    assert talk(address, [b"garbage"]) == grpc.StatusCode.INVALID_ARGUMENT
    assert talk(address, [encode(hello), b"\x08\x03"]) == grpc.StatusCode.INVALID_ARGUMENT
    assert talk(address, [encode(hello)], token="no") == grpc.StatusCode.UNAUTHENTICATED
    huge = talk(address, [b"x" * (MESSAGE_BYTES_MAX + 1)])
    assert huge == grpc.StatusCode.RESOURCE_EXHAUSTED
    (accepted, forbidden) = answers(address, [hello, foreign], 2)
    assert isinstance(accepted, Accepted)
    assert accepted.life == 0
    assert isinstance(forbidden, Failed)
    assert forbidden.why == "forbidden"
    thread = f"{hello.consumer}-0".encode()
    free: Transaction = (Create(own.owner(TopicPartition(topic, 7)), thread),)
    (_, unknown) = answers(address, [hello, Commit(1, (free,))], 2)
    assert isinstance(unknown, Failed)
    assert "registered" in unknown.text
    seat = LightSeat(identity.shown(hello.group, hello.consumer, hello.incarnation), 5000)
    asks = Registration(Subscription.static({topic: 1}), "1", STICKY, light=seat)
    entry = Register(1, encode_registration(asks))
    executed = answers(address, [hello, entry, Commit(2, (steal, commit)), Leave(3)], 4)[2]
    assert isinstance(executed, Executed)
    assert [type(outcome) for outcome in executed.outcomes] == [Refused, Refused]
    assert "another live member" in str(executed.outcomes[0])
    (_, secret) = answers(address, [hello, Read(1, "nodes", ("/consumers/other/owners/t/0",))], 2)
    assert isinstance(secret, Failed)
    group.produce(topic, 5)
    settle(query)
    assert missing(group, query.rows) == [] == twice(query.rows)


def test_a_flood_of_members_is_bounded_and_those_inside_continue(group: LightGroup) -> None:
    group.offices[0].desk.limits = Limits(3)
    topic = group.topic(2)
    query = group.query(topic)
    share([query], 2)
    address = group.offices[0].address
    held = [Talk(address, COORDINATOR_TOKEN) for _ in range(6)]
    for number, one in enumerate(held):
        one.say(Hello(group.name, f"{group.name}_{number}", f"{number:032}", 5000))
    found = [next(one.heard) for one in held]
    full = [f for f in found if isinstance(f, Rejected) and f.retriable]
    assert len(full) == 4
    group.produce(topic, 5)
    settle(query)
    for one in held:
        one.close()
    assert missing(group, query.rows) == []


def test_a_member_needs_neither_kazoo_nor_zookeeper(group: LightGroup) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    program = (
        "import json, sys\n"
        "sys.modules['kazoo'] = None\n"
        "from tests.harness.spark_order import Query\n"
        "query = Query(json.loads(sys.argv[1]))\n"
        "query.until(20)\n"
        "query.trigger()\n"
        "query.stop()\n"
        "print(len(query.rows), query.membership.protocol)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(group.options(topic))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["20", "light"], done.stderr
    assert group.offsets(topic) == {0: b"10", 1: b"10"}
    assert group.owners(topic) == {}
