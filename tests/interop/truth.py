"""What a command has said of a group, held against the direct reads that overlap its call.

A row is true if all of it may have been so at one moment of the call, and a description if all
owners and members of it may have been there at one moment.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.model import TopicPartition
from tests.harness.waiting import wait_until
from tests.interop.witness import Interval, Node, Witness, meet

EVERY_S = 0.2
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Call:
    command: str
    began: float
    ended: float
    told: Mapping[str, Any]

    @property
    def window(self) -> list[Interval]:
        return [(self.began, self.ended)]


def zkgroup(connect: str, *arguments: str) -> Result:
    """CliRunner turns the output of the whole process to itself."""
    with _ONE_AT_A_TIME:
        return CliRunner().invoke(main, arguments, env={"ZKGROUP_ZOOKEEPER": connect})


class Watch:
    """Runs `describe` and `lag` in turn, every 200 ms, during a scene."""

    def __init__(self, connect: str, witness: Witness) -> None:
        self.connect = connect
        self.witness = witness
        self.calls: list[Call] = []
        self.failures: list[str] = []
        self._told = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self.witness.start()
        self._thread.start()

    def stop(self) -> None:
        self._told.set()
        self._thread.join(60.0)
        self.witness.stop()

    def wait_more(self, calls: int) -> None:
        wanted = len(self.calls) + calls
        wait_until(lambda: self.failures or len(self.calls) >= wanted, 60.0, f"{calls} more calls")

    def _run(self) -> None:
        due = time.monotonic()
        while not self._told.is_set():
            self._ask("lag" if len(self.calls) % 2 else "describe")
            due = max(due + EVERY_S, time.monotonic())
            self._told.wait(due - time.monotonic())

    def _ask(self, command: str) -> None:
        began = time.monotonic()
        result = zkgroup(self.connect, command, self.witness.group, "--json")
        ended = time.monotonic()
        try:
            told = json.loads(result.stdout)
        except ValueError:
            told = None
        if result.exit_code or told is None:
            self.failures.append(f"{command}: {result.exit_code}: {result.output}")
        else:
            self.calls.append(Call(command, began, ended, told))

    def untrue(self) -> list[str]:
        """After stop()."""
        return [
            f"call {number}, {call.command}: {lie}"
            for number, call in enumerate(self.calls)
            for lie in lies(call, self.witness)
        ]

    def __str__(self) -> str:
        described = [call.told for call in self.calls if call.command == "describe"]
        states = Counter(row["state"] for told in described for row in told["partitions"])
        members = sorted({len(told["members"]) for told in described})
        waits = sum(bool(m["waiting"]) for told in described for m in told["members"])
        took = sorted(call.ended - call.began for call in self.calls)
        return (
            f"{len(described)} descriptions and {len(self.calls) - len(described)} lags, "
            f"{took[len(took) // 2] * 1000:.0f} ms each, at most {took[-1] * 1000:.0f} ms; "
            f"{members} members, rows {dict(states)}, {waits} members that wait; next to "
            f"{self.witness.reads} direct reads"
        )


@contextmanager
def watched(connect: str, witness: Witness) -> Iterator[Watch]:
    watch = Watch(connect, witness)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def lies(call: Call, witness: Witness) -> Iterator[str]:
    listed = call.told["partitions" if call.command == "describe" else "topics"]
    rows = {TopicPartition(row["topic"], row["partition"]): row for row in listed}
    if rows.keys() != set(witness.partitions):
        yield f"its rows are those of {sorted(rows)}"
        return
    for partition, row in rows.items():
        committed = witness.offsets[partition].when(partial(_is_offset, row))
        possible = meet(call.window, committed)
        if call.command == "describe":
            owned = witness.owners[partition].when(partial(_is_owner, row))
            possible = meet(possible, owned)
        if not possible:
            yield f"{partition} was never so meanwhile: {row}"
        if row["end"] is None or not witness.end_may_be(
            partition, row["end"], call.began, call.ended
        ):
            yield f"{partition} did not end there: {row}"
        expected = None
        if row["committed"] is not None and row["end"] is not None:
            expected = max(0, row["end"] - row["committed"])
        if row["lag"] != expected:
            yield f"{partition} has another lag: {row}"
    if call.told["lag"] != sum(row["lag"] or 0 for row in listed):
        yield f"its lag is not the sum: {call.told['lag']}"
    if call.command == "describe":
        yield from _lies_of_members(call, witness, rows)


def _lies_of_members(
    call: Call, witness: Witness, rows: Mapping[TopicPartition, Mapping[str, Any]]
) -> Iterator[str]:
    members = {member["consumer"]: member for member in call.told["members"]}
    together = call.window
    for consumer, member in members.items():
        track = witness.ids.get(consumer)
        when = [] if track is None else track.when(partial(_is_member, member))
        if not meet(call.window, when):
            yield f"{consumer} was never registered so meanwhile: {member}"
        together = meet(together, when)
        owns = sum(row["member"] == consumer for row in rows.values())
        if member["owns"] != owns:
            yield f"{consumer} owns {owns}: {member}"
        waits = [
            {"topic": p.topic, "partition": p.partition, "owner": row["owner"]}
            for p, row in rows.items()
            if row["state"] == "moving" and str(row["wanted_by"]).rpartition("-")[0] == consumer
        ]
        if member["waiting"] is not None and member["waiting"] != waits:
            yield f"{consumer} waits for {waits}: {member}"
    for consumer in witness.ids.keys() - members.keys():
        gone = witness.ids[consumer].when(lambda node: node is None)
        if not meet(call.window, gone):
            yield f"{consumer} was registered all the time, and is not told"
        together = meet(together, gone)
    for partition, row in rows.items():
        owned = witness.owners[partition].when(partial(_is_owner, row))
        together = meet(together, owned)
        state = _state(row, members)
        if row["state"] != state:
            yield f"{partition} is {state}: {row}"
        if state == "stuck":
            # The nodes of a session go together, and the registration comes first.
            yield f"{partition} was never stuck: {row}"
    if not together and not any("of different moments" in n for n in call.told["notes"]):
        yield f"its owners and members were never there together: {call.told}"
    if call.told["protocol"] != ("zookeeper" if members else None):
        yield f"its protocol is {call.told['protocol']}"


def _state(row: Mapping[str, Any], members: Mapping[str, Any]) -> str:
    wanted = row["wanted_by"]
    if row["owner"] is None:
        return "unread" if wanted is None else "free"
    owner = row["owner"].rpartition("-")[0]
    if owner not in members:
        return "stuck"
    return "owned" if wanted is not None and wanted.rpartition("-")[0] == owner else "moving"


def _is_offset(row: Mapping[str, Any], node: Node | None) -> bool:
    if node is None:
        return row["committed"] is None
    return row["committed"] is not None and node.data == b"%d" % row["committed"]


def _is_owner(row: Mapping[str, Any], node: Node | None) -> bool:
    if node is None:
        return row["owner"] is None and row["since_ms"] is None
    return (row["owner"], row["since_ms"]) == (node.data.decode(), node.made_ms)


def _is_member(member: Mapping[str, Any], node: Node | None) -> bool:
    if node is None:
        return False
    value = json.loads(node.data)
    said = (member["session"], member["since_ms"], member["subscription"], member["pattern"])
    return said == (
        f"{node.session:#x}",
        node.made_ms,
        value["subscription"],
        value["pattern"],
    ) and member["kind"] == ("zkgroup" if "zkgroup" in value else "jvm")
