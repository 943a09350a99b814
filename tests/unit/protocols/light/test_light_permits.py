"""What a light member may ask for, and what is looked at before it is done."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.claim import claim_request, proof_request, release_request
from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, SetData, Transaction
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.group.settle import commit_held
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.light.rules.identity import INCARNATION_LENGTH_MIN
from pyspark_zkgroup.protocols.light.rules.messages import Hello
from pyspark_zkgroup.protocols.light.rules.permits import (
    OPERATIONS_MAX,
    PATHS_MAX,
    TIMEOUT_MS_MAX,
    TIMEOUT_MS_MIN,
    owners_beside,
    owners_written,
    refusal_of_ensure,
    refusal_of_hello,
    refusal_of_read,
    refusal_of_write,
    settles,
)

PATHS = CoordinatedPaths("g")
P = TopicPartition("t", 3)
OWNER, OFFSET = PATHS.owner(P), PATHS.offset(P)
KNOWN, HELD = Known(NodeVersion(7, 2), 9, 5), Held(0, 1)
CLAIM = claim_request(PATHS, P, ThreadId("g_me", 0), OffsetRead(b"5", NodeVersion(7, 1)), 5)
COMMIT = commit_held(PATHS, "g_me", P, KNOWN, HELD)
SETTLED = (Create(OWNER, b"g_me-0"), SetData(OFFSET, b"9", 2), Delete(OWNER, 0))


SECRET = INCARNATION_LENGTH_MIN * "x"


@pytest.mark.parametrize("timeout_ms", [TIMEOUT_MS_MIN, TIMEOUT_MS_MAX])
def test_a_member_that_can_be_served_is_not_refused(timeout_ms: int) -> None:
    assert refusal_of_hello(Hello("g", "g_me", SECRET, timeout_ms)) == ""


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (Hello("g", "g_me", SECRET, TIMEOUT_MS_MIN - 1), "session.timeout.ms is 999, allowed"),
        (Hello("g", "g_me", SECRET, TIMEOUT_MS_MAX + 1), "allowed are 1000 to 3600000"),
        (Hello("g", "g_me", SECRET[1:], TIMEOUT_MS_MIN), "the secret of its process is too short"),
        (Hello("g", "h_me", SECRET, TIMEOUT_MS_MIN), "'h_me' is not the name of a member of group"),
        (Hello("g", "g_/me", SECRET, TIMEOUT_MS_MIN), "'g_/me' is not the name of a member of"),
        (Hello("g/h", "g/h_me", SECRET, TIMEOUT_MS_MIN), "g/h"),
        (Hello("", "_me", SECRET, TIMEOUT_MS_MIN), ""),
    ],
)
def test_a_member_that_cannot_be_served_receives_the_reason(hello: Hello, said: str) -> None:
    refusal = refusal_of_hello(hello)
    assert refusal
    assert said in refusal


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
        # A version that is any is none: what was looked at may be another's by then.
        (SetData(OFFSET, b"9", -1),),
        (SetData(OWNER, b"g_me-0", -1),),
        (Delete(OWNER, -1),),
        (Check(OFFSET, -1),),
        # Such nodes would never be deleted.
        (Create(PATHS.owners + "/t/x", b"g_me-0"),),
        (Create(PATHS.owners + "/t/03", b"g_me-0"),),
        (Create(PATHS.owners + "/t/3/4", b"g_me-0"),),
        (Create(PATHS.offsets + "/t", b"0"),),
        (Create(PATHS.offsets + "/not legal/3", b"0"),),
        (Create(PATHS.offsets + "/t/99999999999", b"0"),),
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


def test_what_is_written_is_looked_at_first() -> None:
    assert owners_written(PATHS, CLAIM) == () == owners_beside(PATHS, CLAIM)
    assert owners_written(PATHS, COMMIT) == ()
    assert owners_beside(PATHS, COMMIT) == (OWNER,)
    assert owners_written(PATHS, SETTLED) == () == owners_beside(PATHS, SETTLED)
    take_over = (Delete(OWNER, 1), Create(OWNER, b"g_me-0"), Check(OFFSET, 2))
    assert owners_written(PATHS, take_over) == (OWNER,)
    assert owners_beside(PATHS, take_over) == ()
    assert owners_written(PATHS, (SetData(OWNER, b"g_me-1", 1),)) == (OWNER,)
    assert owners_beside(PATHS, (SetData(OFFSET, b"5", 2),)) == (OWNER,)
    proof = (Check(OWNER, 1), Check(OFFSET, 2))
    assert owners_written(PATHS, proof) == () == owners_beside(PATHS, proof)


def test_what_settles_leaves_nothing_behind() -> None:
    beside = (Check(OWNER, 1), SetData(OFFSET, b"9", 2))
    assert settles(PATHS, [SETTLED, beside])
    assert settles(PATHS, [(beside[0], SetData(OFFSET, b"0", 2))])
    for transaction in (
        CLAIM,
        COMMIT,
        SETTLED[:2],
        (SetData(OFFSET, b"9", 2),),
        (Create(OFFSET, b"9"),),
        (Check(PATHS.owner(TopicPartition("t", 4)), 1), beside[1]),
        (beside[0], SetData(OFFSET, b"garbage", 2)),
        (beside[0], SetData(OFFSET, b"-1", 2)),
        (*SETTLED[:2], Delete(PATHS.owner(TopicPartition("t", 4)), 0)),
        (*SETTLED, Create(OFFSET, b"0")),
    ):
        assert not settles(PATHS, [SETTLED, transaction]), transaction
