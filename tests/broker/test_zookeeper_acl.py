"""A group that protects its owners and offsets: which clients may change them, and the errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import READ_ACL_UNSAFE, make_digest_acl

from pyspark_zkgroup.errors import AccessError
from tests.harness.group import Group, all_rows, missing, settle
from tests.harness.planted_secrets import WRONG_PASSWORD, ZOOKEEPER_PASSWORD, leaks_of
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until

IN_TIME_S = 10.0
AUTH = f"digest:zoe:{ZOOKEEPER_PASSWORD}"
OWN = {"zookeeper_auth": AUTH, "zookeeper_set_acl": "true"}
WRONG = {"zookeeper_auth": f"digest:zoe:{WRONG_PASSWORD}"}
READ, ALL = 1, 31


def rights(group: Group, path: str) -> dict[str, int]:
    acls, _ = group.client.get_acls(f"/consumers/{group.name}{path}")
    return {acl.id.scheme: acl.perms for acl in acls}


@contextmanager
def known_as(group: Group, user: str, password: str) -> Iterator[KazooClient]:
    client = KazooClient(
        group.options()["zookeeper.connect"], auth_data=[("digest", f"{user}:{password}")]
    )
    client.start()
    yield client
    client.stop()
    client.close()


def member(group: Group, topic: str, security: Mapping[str, str] = OWN) -> Query:
    return group.query_of(group.options(topic, **security))


def refused(query: Query, beside: Query | None = None) -> AccessError:
    """Return the query's error; the other query continues, and releases a newcomer's share."""

    def ended() -> AccessError | None:
        if beside is not None:
            beside.trigger()
        try:
            query.trigger()
        except AccessError as error:
            return error
        return None

    error = wait_until(ended, IN_TIME_S, "the query's end", interval_s=0.0)
    assert error is not None
    return error


def test_owners_and_offsets_belong_to_who_has_the_password(group: Group) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    a, b = member(group, topic), member(group, topic)
    settle(a, b)
    assert missing(group, all_rows(a, b)) == []
    assert len(set(group.owners(topic).values())) == 4  # two threads each
    # JVM members come and go without a password, and watch these.
    assert rights(group, "") == rights(group, "/ids") == {"world": ALL}
    own = {"digest": ALL, "world": READ}
    for path in ("/owners", "/offsets"):
        assert rights(group, path) == own
        assert rights(group, f"{path}/{topic}") == own
        assert rights(group, f"{path}/{topic}/0") == own
    offset = group.offset_path(topic, 0)
    client = group.client
    with pytest.raises(NoAuthError):
        client.set(offset, b"0")
    with pytest.raises(NoAuthError):
        client.delete(offset)
    with pytest.raises(NoAuthError):
        client.delete(f"/consumers/{group.name}/owners/{topic}/0")
    with pytest.raises(NoAuthError):
        client.create(group.offset_path(topic, 99), b"0")


@pytest.mark.parametrize(
    ("auth", "remedy"),
    [
        ({}, "Give zookeeper.auth"),
        (
            WRONG,
            "A wrong user or password of zookeeper.auth shows nowhere but here",
        ),
    ],
)
def test_a_client_without_the_right_gets_an_error_and_does_not_delay_the_others(
    group: Group, auth: dict[str, str], remedy: str
) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    a = member(group, topic)
    settle(a)
    stranger = member(group, topic, auth)
    error = refused(stranger, beside=a)
    nodes = f"/kafka/consumers/{group.name}/owners/{topic}"
    assert error.what.endswith(f"does not allow this client to make nodes below {nodes}")
    assert remedy in error.remedy
    assert error.remedy.endswith("or add CREATE for it to the ACL of that node")
    assert leaks_of(str(error)) == []
    stranger.stop()
    group.produce(topic, 5)
    settle(a)
    assert missing(group, all_rows(a)) == []


def test_a_topic_that_is_new_to_a_protected_group(group: Group) -> None:
    """Its nodes do not stand yet, and the stranger may not make them."""
    first, second = group.topic(1), group.topic(1)
    a = member(group, first)
    settle(a)
    stranger = group.query(second)
    error = refused(stranger, beside=a)
    assert error.what.endswith(f"make nodes below /kafka/consumers/{group.name}/owners")


def test_an_offset_that_is_taken_away_while_it_is_read(group: Group) -> None:
    """The claim remains, only the commit is refused: it must not be retried permanently."""
    topic = group.topic(1)
    group.produce(topic, 5)
    a = member(group, topic)
    a.trigger()
    path = group.offset_path(topic, 0)
    with known_as(group, "zoe", ZOOKEEPER_PASSWORD) as zoe:
        zoe.set_acls(path, [make_digest_acl("root", "other", all=True), *READ_ACL_UNSAFE])
    group.produce(topic, 5)
    error = refused(a)
    assert error.what.endswith(f"does not allow this client to write /kafka{path}")
    assert "add WRITE for it" in error.remedy


def test_a_group_that_may_not_be_read_at_all(group: Group) -> None:
    topic = group.topic(1)
    a = member(group, topic)
    settle(a)
    path = f"/consumers/{group.name}/offsets/{topic}"
    with known_as(group, "zoe", ZOOKEEPER_PASSWORD) as zoe:
        zoe.set_acls(path, [make_digest_acl("zoe", ZOOKEEPER_PASSWORD, all=True)])
    stranger = group.query(topic)
    error = refused(stranger, beside=a)
    assert error.what.endswith(f"does not allow this client to read /kafka{path}")
