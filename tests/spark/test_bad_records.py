"""One record of a hundred is bad, in ten ways, and drivers are killed: good rows are in one Delta
table, bad ones in another, each once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from tests.harness.waiting import wait_until
from tests.spark.delta_members import PATIENCE_S, DeltaScene, Member, delta_scene
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(2400)]

SCHEMA = """topic STRING, partition INT, offset BIGINT,
    value STRUCT<id: BIGINT, user: STRING, amount: DECIMAL(6,2), tags: ARRAY<STRING>, at: DATE>,
    corrupt STRUCT<bytes: BINARY, reason: STRING>"""
BAD = (
    b"{",
    b"[]x",
    b'{"id":"%d"}',
    b'{"id":%d,"amount":12345.6}',
    b'{"id":%d,"tags":"one"}',
    b'{"id":%d,"at":"2024-02-30"}',
    b'{"id":%d,"user":"open',
    b'{"id":%d.5}',
    b'{"id":%d "user":1}',
    b"\xff\xfe%d",
)
ROUND = 1_000


def is_bad(number: int) -> bool:
    return number % 100 == 7


def value(number: int) -> bytes:
    if is_bad(number):
        bad = BAD[number // 100 % len(BAD)]
        return bad % number if b"%d" in bad else bad
    row = {"id": number, "user": "ann", "amount": 1.5, "tags": ["a"], "at": "2024-07-01"}
    return json.dumps(row).encode()


def event(number: int) -> tuple[bytes, bytes]:
    return b"k%d" % number, value(number)


def produce_until(scene: DeltaScene, is_done: Callable[[], bool], what: str) -> None:
    """A member that starts late finds records, too: others may have read those before."""

    def done() -> bool:
        scene.produce(ROUND, make_event=event)
        return is_done()

    wait_until(done, PATIENCE_S, what, interval_s=3.0)


def strike(scene: DeltaScene, member: Member, order: str) -> None:
    """Kill the member's driver right after an append."""
    before = len(member.events("crash"))
    member.order(order, "driver")
    produce_until(
        scene,
        lambda: len(member.events("crash")) > before,
        f"{order} of {member.directory.name}",
    )
    wait_until(lambda: member.ended, PATIENCE_S, "the driver's end")


def test_good_and_bad_rows_are_in_two_tables_once(sandbox: Sandbox, tmp_path: Path) -> None:
    with delta_scene(sandbox, tmp_path) as scene:
        # A session outlives the pauses of a loaded machine.
        typed = {"value.format": "json", "zookeeper.session.timeout.ms": "12000"}
        members = [scene.member(f"m{n}", schema=SCHEMA, **typed) for n in range(3)]
        for member in members:
            member.start()
        produce_until(
            scene,
            lambda: all(member.events("appended") for member in members[:2]),
            "appends of two members",
        )
        for member, order in zip(members, ("crash-between", "crash-after"), strict=False):
            strike(scene, member, order)
            member.start()
        members[2].close()  # at any moment
        scene.produce(ROUND, make_event=event)
        members[2].start()
        found = scene.wait_complete()
        numbers = range(len(scene.produced))
        good = DeltaTable(str(scene.table)).to_pyarrow_table()
        bad = DeltaTable(str(scene.bad_table)).to_pyarrow_table()
    ids = [one["id"] for one in good["value"].to_pylist()]
    assert sorted(ids) == [n for n in numbers if not is_bad(n)]
    caught = [one["bytes"] for one in bad["corrupt"].to_pylist()]
    assert sorted(caught) == sorted(value(n) for n in numbers if is_bad(n))
    assert all(one["reason"].startswith("value: ") for one in bad["corrupt"].to_pylist())
    print(f"{len(ids)} good and {len(caught)} bad rows of {len(numbers)}: {found}")
