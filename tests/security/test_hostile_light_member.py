"""A light client that breaks each rule in turn, in a group of honest members. Real servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.group.ops import Create, Delete, Done, SetData, Transaction
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import parse_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.light.limits import Limits
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Commit,
    Executed,
    Failed,
    Hello,
    Leave,
    NodesRead,
    Read,
    Register,
    Registered,
    Rejected,
)
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.stream_access import StreamAccess
from tests.harness.group import missing, settle, twice
from tests.harness.light import LightGroup, served
from tests.harness.planted_secrets import COORDINATOR_TOKEN
from tests.harness.spark_order import Query
from tests.harness.talk import Talk, registering
from tests.harness.told_group import share
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.certificates import Certificates, Identity

SECRET = "h" * 32


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[LightGroup]:
    with served(sandbox) as made:
        yield made


@pytest.fixture
def hostile(group: LightGroup) -> Iterator[Talk]:
    with closing(Talk(group.offices[0].address)) as made:
        yield made


class Victim:
    """An honest member that owns all of a topic and has read it."""

    def __init__(self, group: LightGroup, partitions: int = 2, session: str = "3000") -> None:
        self.group = group
        self.topic = group.topic(partitions)
        self.partitions = partitions
        group.produce(self.topic, 10)
        self.query: Query = group.query(self.topic, session=session)
        settle(self.query)
        self.paths = CoordinatedPaths(group.name)
        self.p = TopicPartition(self.topic, 0)
        self.before = self.state()
        self.session = self.query.membership.keeper.session
        membership: Any = self.query.membership
        self.secret: str = membership.keeper.session.search.settings.hello.incarnation

    @property
    def consumer(self) -> str:
        return self.query.membership.member

    def state(self) -> tuple[dict[int, int], dict[int, bytes]]:
        return self.group.owner_lives(self.topic), self.group.offsets(self.topic)

    def hello(self, incarnation: str = SECRET) -> Hello:
        return Hello(self.group.name, self.consumer, incarnation, 5000)

    def attacks(self) -> list[Transaction]:
        """On what it owns, in the name of a member that says it is the victim."""
        owner, offset = self.paths.owner(self.p), self.paths.offset(self.p)
        version = self.group.client.exists(offset).version
        text = f"{self.consumer}-0".encode()
        return [
            (SetData(offset, b"999999", -1),),
            (SetData(offset, b"999999", version),),
            (Delete(owner, -1),),
            (Delete(owner, 1),),
            (SetData(owner, text, 1),),
            (Delete(owner, 1), Create(owner, text)),
        ]

    def goes_on(self) -> bool:
        """With the session, the claims and the offsets that it had; and loses nothing."""
        assert self.state() == self.before
        self.group.produce(self.topic, 5)
        settle(self.query)
        assert missing(self.group, self.query.rows) == [] == twice(self.query.rows)
        assert self.query.membership.keeper.session is self.session
        assert self.group.owner_lives(self.topic) == self.before[0]
        return True


def was_executed(reply: object) -> bool:
    if isinstance(reply, Failed):
        return False
    assert isinstance(reply, Executed)
    return any(isinstance(outcome, Done) for outcome in reply.outcomes)


def test_a_victims_name_without_registering_gives_nothing_of_what_it_owns(
    group: LightGroup, hostile: Talk
) -> None:
    victim = Victim(group)
    accepted = hostile.ask(victim.hello())
    assert isinstance(accepted, Accepted)
    assert accepted.life == 0
    for number, attack in enumerate(victim.attacks(), start=1):
        assert not was_executed(hostile.ask(Commit(number, (attack,)))), attack
    assert isinstance(hostile.ask(Leave(99)), Executed)
    assert victim.goes_on()


def test_what_has_not_registered_writes_nothing(group: LightGroup, hostile: Talk) -> None:
    victim = Victim(group)
    hostile.ask(Hello(group.name, f"{group.name}_x", SECRET, 5000))
    other = victim.paths.offset(TopicPartition(victim.topic, 9))
    absent = f"/consumers/{group.name}/offsets/absent"
    assert not was_executed(hostile.ask(Commit(1, ((Create(other, b"0"),),))))
    assert isinstance(hostile.ask(Read(2, "ensure", (absent,))), Executed)
    assert not group.client.exists(absent)
    assert victim.goes_on()


def test_what_a_registration_shows_does_not_let_another_process_pass_for_it(
    group: LightGroup, hostile: Talk
) -> None:
    victim = Victim(group)
    hostile.ask(Hello(group.name, f"{group.name}_reader", SECRET, 5000))
    read = hostile.ask(Read(1, "nodes", (victim.paths.id(victim.consumer),)))
    assert isinstance(read, NodesRead)
    (node,) = read.nodes
    assert node is not None
    seat = parse_registration("", node.data).light
    assert seat is not None
    assert victim.secret not in node.data.decode()
    with closing(Talk(group.offices[0].address)) as thief:
        hello = victim.hello(seat.incarnation)
        accepted = thief.ask(hello)
        assert isinstance(accepted, Accepted)
        assert accepted.life == 0
        replayed = thief.ask(Register(1, node.data))
        assert isinstance(replayed, Failed)
        assert replayed.why == "forbidden"
        refused = thief.ask(registering(hello, victim.topic, 2))
        assert isinstance(refused, Failed)
        assert refused.why == "taken"
    assert victim.goes_on()


@pytest.mark.parametrize("is_disconnected", [False, True])
def test_a_member_whose_registration_was_deleted_keeps_its_name(
    group: LightGroup, hostile: Talk, is_disconnected: bool
) -> None:
    victim = Victim(group, session="30000")
    if is_disconnected:
        session: Any = victim.session
        session.search.close()
        session.exchange._stream.close()
    group.client.delete(victim.paths.id(victim.consumer))
    hello = victim.hello()
    hostile.ask(hello)
    refused = hostile.ask(registering(hello, victim.topic))
    assert isinstance(refused, Failed)
    assert refused.why == "taken"
    assert victim.state() == victim.before


def test_evidence_of_a_plan_does_not_take_a_member_over_that_has_no_fixed_id(
    group: LightGroup, hostile: Talk
) -> None:
    victim = Victim(group)
    hello = victim.hello()
    hostile.ask(hello)
    stat = group.client.exists(victim.paths.offset(victim.p))
    read = hostile.ask(Read(1, "nodes", (victim.paths.offset(victim.p),)))
    assert isinstance(read, NodesRead)
    (node,) = read.nodes
    assert node is not None
    assert node.node.version == stat.version
    static = registering(hello, victim.topic, 2, static=True)
    asked = Register(2, static.registration, True, {victim.p: node.node})
    refused = hostile.ask(asked)
    assert isinstance(refused, Failed)
    assert refused.why == "taken"
    assert victim.goes_on()


def test_a_registered_member_touches_nothing_that_another_owns(
    group: LightGroup, hostile: Talk
) -> None:
    victim = Victim(group)
    hello = Hello(group.name, f"{group.name}_x", SECRET, 5000)
    hostile.ask(hello)
    elsewhere = group.topic(1)
    assert isinstance(hostile.ask(registering(hello, elsewhere)), Registered)
    for number, attack in enumerate(victim.attacks(), start=2):
        assert not was_executed(hostile.ask(Commit(number, (attack,)))), attack
    assert victim.goes_on()


# -- who may enter which group


def test_a_token_of_a_group_lets_into_that_group_alone(sandbox: Sandbox) -> None:
    group = LightGroup(sandbox)
    try:
        tokens = {group.name: (Secret(COORDINATOR_TOKEN),), "other": (Secret("o" * 20),)}
        office = group.office(access=StreamAccess(Secret("for-all-" * 4), group_tokens=tokens))
        group.in_office()
        victim = Victim(group)
        for token, name, is_let_in in (
            ("o" * 20, group.name, False),
            ("for-all-" * 4, group.name, False),
            ("for-all-" * 4, "third", True),
            ("o" * 20, "other", True),
            ("o" * 20, "third", False),
            ("", group.name, False),
        ):
            with closing(Talk(office.address, token)) as one:
                one.say(Hello(name, f"{name}_x", SECRET, 5000))
                if is_let_in:
                    assert isinstance(next(one.replies), Accepted)
                else:
                    assert one.ending() is grpc.StatusCode.UNAUTHENTICATED, (token, name)
        assert victim.goes_on()
        stranger = group.query(victim.topic, coordinator_token="o" * 20)
        with pytest.raises(AccessError, match="rejects the token of this member"):
            stranger.trigger()
    finally:
        group.close()


def test_a_name_is_bound_to_the_certificate_that_has_come_with_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    made = Certificates.make(tmp_path)
    group = LightGroup(sandbox)
    try:
        office = group.office(access=shown(made, made.server))
        group.in_office()
        address = office.address.replace("127.0.0.1", "localhost")
        topic = group.topic(1)
        hello = Hello(group.name, f"{group.name}_x", SECRET, 5000)
        with closing(Talk(address, shown(made, made.client))) as honest:
            assert isinstance(honest.ask(hello), Accepted)
            registered = honest.ask(registering(hello, topic))
            assert isinstance(registered, Registered)
            data, _ = group.client.get(CoordinatedPaths(group.name).id(hello.consumer))
            assert json.loads(data)["zkgroup"]["subject"]
            # The same secret, stolen: but the thief has another certificate.
            with closing(Talk(address, shown(made, made.server))) as thief:
                accepted = thief.ask(hello)
                assert isinstance(accepted, Accepted)
                assert accepted.life == 0
                refused = thief.ask(registering(hello, topic))
                assert isinstance(refused, Failed)
                assert refused.why == "taken"
            with closing(Talk(address, shown(made, made.client))) as again:
                accepted = again.ask(hello)
                assert isinstance(accepted, Accepted)
                assert accepted.life == registered.life
    finally:
        group.close()


def shown(made: Certificates, own: Identity | None) -> StreamAccess:
    chain, key = ("", NO_SECRET)
    if own is not None:
        chain, key = own.certificate.read_text(), Secret(own.key.read_text())
    return StreamAccess(NO_SECRET, True, made.ca.read_text(), chain, key)


# -- old releases


def test_a_member_of_an_older_release_is_refused_with_the_reason(group: LightGroup) -> None:
    with closing(Talk(group.offices[0].address)) as old:
        hello = {"version": 1, "message": "hello", "group": group.name, "timeout": 5000}
        hello |= {"consumer": f"{group.name}_old", "incarnation": SECRET}
        old.outgoing.put(json.dumps(hello).encode())
        assert old.ending() is grpc.StatusCode.INVALID_ARGUMENT
        assert "version 1 or 2, this zkgroup takes only version 3" in str(old.call.details())


# -- what takes a place and gives nothing


def test_what_does_not_register_loses_its_place(group: LightGroup) -> None:
    victim = Victim(group)
    desk = group.offices[0].desk
    desk.limits = Limits(register_within_s=0.5)
    with closing(Talk(group.offices[0].address)) as idle:
        accepted = idle.ask(Hello(group.name, f"{group.name}_x", SECRET, 3_600_000))
        assert isinstance(accepted, Accepted)
        ended = next(idle.replies)
        assert isinstance(ended, Rejected)
        assert ended.retriable
        assert "did not register" in ended.reason
        assert idle.ending() is grpc.StatusCode.OK
    wait_until(lambda: len(desk.members.streams()) == 1, 10, "its seat to be free")
    assert victim.goes_on()


def test_a_group_cannot_take_the_places_of_all(group: LightGroup) -> None:
    desk = group.offices[0].desk
    desk.limits = Limits(10, 3)
    victim = Victim(group)
    held = [Talk(group.offices[0].address) for _ in range(5)]
    try:
        found = [
            one.ask(Hello("crowd", f"crowd_{number}", f"{number:032}", 5000))
            for number, one in enumerate(held)
        ]
        assert sum(isinstance(f, Accepted) for f in found) == 3
        assert victim.goes_on()
        other = group.query(victim.topic)
        share([victim.query, other], victim.partitions)
    finally:
        for one in held:
            one.close()


def test_a_flood_of_requests_of_one_member_does_not_stop_another(group: LightGroup) -> None:
    victim = Victim(group)
    with closing(Talk(group.offices[0].address)) as flood:
        hello = Hello(group.name, f"{group.name}_x", SECRET, 5000)
        flood.ask(hello)
        elsewhere = group.topic(1)
        flood.ask(registering(hello, elsewhere))
        path = f"/consumers/{group.name}/offsets/{elsewhere}/"
        for number in range(2, 2000):
            flood.say(Commit(number, ((Create(f"{path}{number}", b"x" * 100),),)))
        assert victim.goes_on()


def test_a_group_makes_no_more_nodes_than_its_quota(
    group: LightGroup, hostile: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.light.quota.NODES_MAX", 10)
    monkeypatch.setattr("pyspark_zkgroup.protocols.light.quota.TOPICS_MAX", 5)
    hello = Hello(group.name, f"{group.name}_x", SECRET, 5000)
    topic = group.topic(1)
    hostile.ask(hello)
    hostile.ask(registering(hello, topic))
    offsets = f"/consumers/{group.name}/offsets"
    assert isinstance(hostile.ask(Read(2, "ensure", (f"{offsets}/{topic}",))), Executed)
    made = [
        was_executed(hostile.ask(Commit(number, ((Create(f"{offsets}/{topic}/{number}", b"0"),),))))
        for number in range(3, 30)
    ]
    assert made.count(True) == 10
    topics = tuple(f"{offsets}/made-up-{n}" for n in range(10))
    refused = hostile.ask(Read(31, "ensure", topics))
    assert isinstance(refused, Failed)
    assert "topics" in refused.text
    assert group.client.get_children(offsets) == [topic]


@pytest.mark.parametrize(
    ("name", "consumer"),
    [("a/b", "a/b_x"), ("\x1b[2J", "\x1b[2J_x"), ("g", "g_\nZKG"), ("g", "h_x"), ("groups", "x")],
)
def test_names_are_those_of_groups_and_members(
    group: LightGroup, hostile: Talk, name: str, consumer: str
) -> None:
    del group
    rejected = hostile.ask(Hello(name, consumer, SECRET, 5000))
    assert isinstance(rejected, Rejected)
    assert not rejected.retriable
    assert not {"\x1b", "\n"} & set(rejected.reason)
