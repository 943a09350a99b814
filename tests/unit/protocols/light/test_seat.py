"""What the requests of one light member do, and which of them are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    Done,
    NodeVersion,
    Op,
    Refused,
    SetData,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.light.rules.messages import (
    Commit,
    Executed,
    Failed,
    Registered,
    Rejected,
)
from tests.unit.protocols.light.desk_scene import (
    PATHS,
    P,
    Q,
    Scene,
    ask_for,
    claim,
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    found = Scene()
    yield found
    found.desk.end()


def test_a_commit_of_what_it_has_claimed_costs_a_member_one_request(scene: Scene) -> None:
    stream = scene.registered()
    fence = claim(scene, stream)
    # Neither a proof nor a refused release changes what it owns.
    proof = (Check(PATHS.owner(P), 1), Check(PATHS.offset(P), fence.version))
    refused = (Delete(PATHS.owner(P), 7),)
    answer = stream.say(Commit(3, (proof, refused)))
    assert isinstance(answer, Executed)
    assert [isinstance(outcome, Done) for outcome in answer.outcomes] == [True, False]
    before = scene.store.requests
    commit = SetData(PATHS.offset(P), b"9", fence.version)
    answer = stream.say(Commit(4, ((commit,),)))
    assert isinstance(answer, Executed)
    assert isinstance(answer.outcomes[0], Done)
    assert scene.store.requests == before + 1


def test_a_restart_of_a_static_member_succeeds_by_the_fence_of_one_partition(
    scene: Scene,
) -> None:
    first = scene.registered(static=True)
    fence = claim(scene, first)
    first.leave()
    stale = NodeVersion(fence.czxid, fence.version + 1)
    second = scene.stream(process="y")
    for evidence in ({}, {P: stale}, {Q: fence}, {TopicPartition("not/legal", 0): fence}):
        answer = second.register(static=True, evidence=evidence)
        assert isinstance(answer, Failed)
        assert answer.why == "taken"
    evidence = {P: fence, Q: fence, TopicPartition("not/legal", 0): fence}
    assert isinstance(second.register(static=True, evidence=evidence), Registered)


def test_a_restart_ends_the_stream_of_the_process_that_it_replaces(scene: Scene) -> None:
    first = scene.registered(static=True)
    fence = claim(scene, first)
    first.received()
    second = scene.stream(process="y")
    assert isinstance(second.register(static=True, evidence={P: fence}), Registered)
    (refusal,) = first.received()
    assert isinstance(refusal, Rejected)
    assert (refusal.fenced, refusal.retriable) == (True, False)
    assert "Another process has taken over the member id g_a" in refusal.reason


def test_a_member_of_another_process_without_a_member_id_is_refused(scene: Scene) -> None:
    first = scene.registered()
    fence = claim(scene, first)
    first.leave()
    answer = scene.stream(process="y").register(evidence={P: fence})
    assert isinstance(answer, Failed)
    assert answer.why == "taken"


def offset_of(scene: Scene, partition: TopicPartition) -> NodeVersion:
    (node,) = scene.store.nodes([PATHS.offset(partition)])
    assert node is not None
    return node.node


def test_the_offset_of_a_partition_moves_without_an_owner_or_by_its_owner(scene: Scene) -> None:
    owner, other = scene.registered(), scene.registered("g_b")
    fence = claim(scene, owner)
    barred = (SetData(PATHS.offset(P), b"9", fence.version),)
    answer = other.say(Commit(3, (barred,)))
    assert isinstance(answer, Executed)
    assert answer.outcomes == (Refused(0, "version", "another live member owns it"),)
    assert offset_of(scene, P) == fence
    scene.store.commit([(Create(PATHS.offset(Q), b"5"),)])
    free = (SetData(PATHS.offset(Q), b"9", offset_of(scene, Q).version),)
    answer = other.say(Commit(4, (barred, free)))
    assert isinstance(answer, Executed)
    assert [isinstance(outcome, Done) for outcome in answer.outcomes] == [False, True]
    # An owner whose stream has ended is succeeded.
    owner.leave()
    answer = other.say(Commit(5, (barred,)))
    assert isinstance(answer, Executed)
    assert isinstance(answer.outcomes[0], Done)


def test_owner_nodes_of_another_member_are_not_changed(scene: Scene) -> None:
    owner, other = scene.registered(), scene.registered("g_b")
    claim(scene, owner)
    writes: list[Op] = [Delete(PATHS.owner(P), 1), SetData(PATHS.owner(P), b"g_b-0", 1)]
    for number, write in enumerate(writes):
        answer = other.say(Commit(number, ((write,),)))
        assert isinstance(answer, Executed)
        assert isinstance(answer.outcomes[0], Refused)
    answer = owner.say(Commit(9, ((Delete(PATHS.owner(P), 1),),)))
    assert isinstance(answer, Executed)
    assert isinstance(answer.outcomes[0], Done)


def test_nothing_is_claimed_for_a_life_that_another_coordinator_has_ended(scene: Scene) -> None:
    """An operator has deleted the node of the election: for a while two are in office. The member
    talks to one, the other has not heard of it for its timeout.
    """
    stream = scene.registered()
    scene.store.commit([(Delete(PATHS.id("g_a"), ANY_VERSION),)])
    refused = Refused(0, "version", "the session of g_a has ended")
    assert ask_for(scene, stream) == refused
    assert scene.store.nodes([PATHS.owner(P)]) == [None]
