"""Transactions in packets: outcomes in order; a refused one does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.group.ops import Check, Create, Delete, Done, InDoubt, Refused, SetData
from pyspark_zkgroup.zk.session import DisconnectedError
from pyspark_zkgroup.zk.store import Store
from tests.contract.ensembles import Ensemble, made
from tests.harness.waiting import wait_until


@pytest.fixture(params=["real", "fake"])
def ensemble(request: pytest.FixtureRequest) -> Iterator[Ensemble]:
    found = made(request, request.param)
    yield found
    found.close()


@pytest.fixture
def store(ensemble: Ensemble) -> Store:
    return ensemble.store(ensemble.open(5000))


@pytest.fixture
def real_store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """What depends on kazoo, or on the number of requests."""
    found = made(request, "real")
    yield found.store(found.open(5000))
    found.close()


def test_what_is_refused_is_taken_out_and_the_rest_is_done(store: Store) -> None:
    store.ensure(["/p"])
    taken = {3, 7, 8, 199}
    store.commit([(Create(f"/p/{n}", b"other"),) for n in taken])
    outcomes = store.commit(
        [(Create(f"/p/{n}", b"mine"), SetData(f"/p/{n}", b"mine", 0)) for n in range(200)]
    )
    assert {n for n, o in enumerate(outcomes) if not isinstance(o, Done)} == taken
    assert all(outcomes[n] == Refused(0, "exists") for n in taken)
    (listed,) = store.children(["/p"])
    assert listed is not None
    assert len(listed.names) == 200
    done = outcomes[0]
    assert isinstance(done, Done)
    assert done.written[0].version == 1


def test_each_reason_is_reported(store: Store) -> None:
    store.ensure(["/p/q"])
    assert store.commit(
        [
            (Check("/p", 9),),
            (SetData("/missing", b"", 0),),
            (Create("/no/parent", b""),),
            (Check("/p/q", 0), Delete("/p", -1)),
            (Check("/p", 0),),
        ]
    ) == [
        Refused(0, "version"),
        Refused(0, "missing"),
        Refused(0, "missing"),
        Refused(1, "not empty"),
        Done(),
    ]


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    store.ensure(["/p"])
    (outcome,) = store.commit([(Create("/p/a", b""), Check("/p", 5))])
    assert outcome == Refused(1, "version")
    assert store.stats(["/p/a"]) == [None]


def test_many_large_transactions_stay_below_the_packet_limit(store: Store) -> None:
    store.ensure(["/big"])
    data = b"x" * 100_000
    before = store.requests
    outcomes = store.commit([(Create(f"/big/{n}", data),) for n in range(20)])
    assert all(isinstance(outcome, Done) for outcome in outcomes)
    assert store.requests - before == 4


def test_sequential_nodes_are_numbered_in_their_order(store: Store) -> None:
    store.ensure(["/p"])
    add = Create("/p/one-", b"", sequential=True)
    assert isinstance(store.commit([(add, add)])[0], Done)
    store.commit([(Create("/p/other", b"x"),), (Delete("/p/other", 0),), (add,)])
    (listed,) = store.children(["/p"])
    assert listed is not None
    names = sorted(listed.names)
    numbers = [int(name.removeprefix("one-")) for name in names]
    assert len(numbers) == len(set(numbers)) == 3
    assert all(len(name) == len("one-") + 10 for name in names)
    store.commit([(Create("/p/last-", b"", sequential=True),)])
    (listed,) = store.children(["/p"])
    assert listed is not None
    assert int(max(listed.names - set(names)).removeprefix("last-")) > max(numbers)


def test_parents_that_others_make_at_the_same_time_are_fine(store: Store) -> None:
    store.ensure(["/a/b/c", "/a/b/d", "/a"])
    store.ensure(["/a/b/c", "/a/b/e"])
    (listed,) = store.children(["/a/b"])
    assert listed is not None
    assert listed.names == {"c", "d", "e"}


def test_no_answer_is_doubt_and_no_refusal(ensemble: Ensemble) -> None:
    with ensemble.silence(4000) as session:
        store = ensemble.store(session)
        assert store.commit([(Create("/p/a", b""),)]) == [InDoubt()]
    # The request was under way all the time: what follows on this connection sees it executed.
    store.sync()
    assert store.stats(["/p/a"]) != [None]


@pytest.mark.parametrize("at_once", [True, False])
def test_many_reads_are_one_request_where_the_server_knows_it(
    real_store: Store, at_once: bool
) -> None:
    store = real_store
    store.ensure(["/many"])
    store.commit([(Create(f"/many/{n}", b"%d" % n, ephemeral=n == 7),) for n in range(0, 2500, 2)])
    store._reads_many = at_once
    before = store.requests
    found = store.nodes([f"/many/{n}" for n in range(2500)])
    assert store.requests - before == (3 if at_once else 2500)
    assert [None if n is None else n.data for n in found] == [
        None if n % 2 else b"%d" % n for n in range(2500)
    ]
    assert found[8] == store.nodes(["/many/8"])[0]


def test_a_server_that_does_not_know_it_is_asked_one_by_one_from_then_on(
    real_store: Store,
) -> None:
    """The refusal of servers before 3.6, provoked with an unknown request: the connection is
    closed, the session is not.
    """
    from pyspark_zkgroup.zk import multi_read

    store = real_store
    store.ensure(["/few"])
    session = store.session.id
    known = multi_read.MultiRead.type
    try:
        multi_read.MultiRead.type = 77
        with pytest.raises(DisconnectedError):
            store.nodes(["/few"] * 20)
        found = wait_until(lambda: store.nodes(["/few"] * 20 + ["/none"]), 10, "reads one by one")
    finally:
        multi_read.MultiRead.type = known
    assert [n is None for n in found] == [False] * 20 + [True]
    assert store.session.client.client_id[0] == session
