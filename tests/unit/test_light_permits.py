"""What a light member may ask for, and what is looked at before it is done."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.claim import claim_request, proof_request, release_request
from pyspark_zkgroup.group.light.permits import (
    OPERATIONS_MAX,
    PATHS_MAX,
    refusal_of_ensure,
    refusal_of_read,
    refusal_of_write,
    takes,
    unowned_writes,
)
from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, SetData, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.group.settle import commit_held
from pyspark_zkgroup.model import ThreadId, TopicPartition

PATHS = CoordinatedPaths("g")
P = TopicPartition("t", 3)
OWNER, OFFSET = PATHS.owner(P), PATHS.offset(P)
KNOWN, HELD = Known(NodeVersion(7, 2), 9, 5), Held(0, 1)
CLAIM = claim_request(PATHS, P, ThreadId("g_me", 0), OffsetRead(b"5", NodeVersion(7, 1)), 5)
COMMIT = commit_held(PATHS, "g_me", P, KNOWN, HELD)


def test_what_members_ask_for_is_allowed() -> None:
    every = [
        CLAIM,
        COMMIT,
        release_request(PATHS, P, KNOWN, HELD),
        proof_request(PATHS, P, KNOWN, HELD),
        (Create(OFFSET, b"0"),),
        (SetData(OFFSET, b"garbage", 1),),
    ]
    assert refusal_of_write(PATHS, "g_me", every) == ""
    assert refusal_of_ensure(PATHS, [PATHS.owner_topic("t"), PATHS.offset_topic("t")]) == ""
    seen = [OWNER, OFFSET, PATHS.id("g_me"), PATHS.other_ids, "/brokers/topics/t"]
    assert refusal_of_read(PATHS, seen) == ""


@pytest.mark.parametrize(
    "transaction",
    [
        (Create("/consumers/h/owners/t/3", b"g_me-0", ephemeral=True),),
        (SetData("/consumers/h/offsets/t/3", b"5", 1),),
        (Check("/zookeeper/quota", 0),),
        (Delete(OFFSET, 1),),
        (Delete(PATHS.id("g_me"), 0),),
        (SetData(PATHS.id("g_me"), b"{}", 0),),
        (Check(PATHS.id("g_other"), -1),),
        (Create(OWNER, b"g_other-0", ephemeral=True),),
        (SetData(OWNER, b"g_me-2-0", 1),),
        (SetData(OFFSET, b"9" * 200, 1),),
        (Create("/consumers/coordinator", b"{}"),),
    ],
)
def test_what_is_none_of_its_concern_is_not(transaction: Transaction) -> None:
    assert refusal_of_write(PATHS, "g_me", [CLAIM, transaction])


@pytest.mark.parametrize(
    "path",
    ["/consumers/h/owners/t/3", "/consumers/coordinator", "/brokers/ids/1", "/", OWNER + "x"],
)
def test_other_nodes_are_not_read(path: str) -> None:
    if path.startswith(OWNER):
        assert refusal_of_read(PATHS, [path]) == ""
    else:
        assert refusal_of_read(PATHS, [path])
    assert refusal_of_ensure(PATHS, [path])


def test_requests_are_bounded() -> None:
    assert refusal_of_read(PATHS, [OWNER] * (PATHS_MAX + 1))
    assert refusal_of_ensure(PATHS, [PATHS.owner_topic("t")] * (PATHS_MAX + 1))
    assert refusal_of_write(PATHS, "g_me", [(Check(OWNER, 1),)] * (OPERATIONS_MAX + 1))


def test_what_is_written_without_being_owned_is_looked_at_first() -> None:
    assert unowned_writes(PATHS, CLAIM, frozenset()) == ()
    assert unowned_writes(PATHS, COMMIT, frozenset()) == (OWNER,)
    assert unowned_writes(PATHS, COMMIT, {OWNER}) == ()
    settled = (Create(OWNER, b"g_me-0"), SetData(OFFSET, b"9", 2), Delete(OWNER, 0))
    assert unowned_writes(PATHS, settled, frozenset()) == ()
    take_over = (Delete(OWNER, 1), Create(OWNER, b"g_me-0"), Check(OFFSET, 2))
    assert unowned_writes(PATHS, take_over, frozenset()) == (OWNER,)
    assert unowned_writes(PATHS, (SetData(OFFSET, b"5", 2),), frozenset()) == (OWNER,)
    assert unowned_writes(PATHS, (Check(OWNER, 1), Check(OFFSET, 2)), frozenset()) == ()


def test_what_would_stay_behind_is_told_from_what_settles() -> None:
    settled = (Create(OWNER, b"g_me-0"), SetData(OFFSET, b"9", 2), Delete(OWNER, 0))
    take_over = (Delete(OWNER, 1), Create(OWNER, b"g_me-0"), Check(OFFSET, 2))
    assert not takes(PATHS, [settled, COMMIT, (SetData(OFFSET, b"5", 2),)])
    assert takes(PATHS, [settled, CLAIM])
    assert takes(PATHS, [take_over])
