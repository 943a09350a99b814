"""Changed and giant values for whatever the product reads of others: bounded time and memory.

    python -m tests.security.fuzz --seconds 600 [--seed N] [--reader NAME]

tells how many inputs each reader was given, and which took the most time and the most memory. An
input that ends in another error than the reader's own, or beyond the bounds, is a finding: it is
kept in build/fuzz-finding, and the status is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.group import noted_requests, requests
from pyspark_zkgroup.group.ownership import parse_offset, thread_of
from pyspark_zkgroup.group.snapshot import read_snapshot
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm import brokers, topics
from pyspark_zkgroup.kafka import consumer_protocol
from pyspark_zkgroup.protocols.coordinator.rules import candidacy, command_json
from pyspark_zkgroup.protocols.light.rules import wire
from pyspark_zkgroup.protocols.light.rules.wire import BadMessageError
from tests.security.spent import MIB, Spent, spent_on

SECONDS_MAX = 10.0
"""Of the processor: a hundred times what the largest inputs take, and far below a session."""
BYTES_MAX = 256 * MIB
INPUT_BYTES_MAX = MIB
FINDING = Path("build/fuzz-finding")
_TOPICS = {f"t{n}": tuple(range(4)) for n in range(50)}
_NUMBERS = (0, -1, 1, 2**31, 2**63, 2**64, 10**30, 1e308, -0.0, 10_000, 100_000)
_OTHERS: tuple[Any, ...] = (None, True, "", "\0", "\x1b[2J", "é\ud800", [], {}, [[]], {"": {}})


@dataclass(frozen=True)
class Reader:
    """`samples` are what honest ones write. Errors of `refusals` are how it refuses."""

    read: Callable[[bytes], object]
    samples: tuple[bytes, ...]
    refusals: tuple[type[Exception], ...] = (ZkgroupError,)
    is_json: bool = True


@dataclass
class Tally:
    inputs: int = 0
    worst: dict[str, tuple[Spent, bytes]] = field(default_factory=dict)

    def take(self, data: bytes, spent: Spent) -> None:
        self.inputs += 1
        for kind, value in (("time", spent.seconds), ("memory", spent.peak_bytes)):
            before = self.worst.get(kind)
            of_before = (
                -1.0
                if before is None
                else before[0].seconds
                if kind == "time"
                else before[0].peak_bytes
            )
            if value > of_before:
                self.worst[kind] = spent, data


def _registration(data: bytes) -> None:
    """As every member of the group reads it; expressions are matched elsewhere."""
    snapshot = read_snapshot("g", {"fuzzed": data, "honest": _HONEST}, _TOPICS)
    assert "honest" in snapshot.members
    if not snapshot.has_wildcards:
        target(snapshot, "range", "new", True)
        target(snapshot, "roundrobin", "old", True)


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "replace"))


def _golden(files: str) -> tuple[bytes, ...]:
    found = (Path(__file__).parent.parent / "golden").glob(files)
    return tuple(file.read_bytes() for file in sorted(found))


_HONEST = b'{"version":1,"subscription":{"t0":2},"pattern":"static","timestamp":"1"}'
_LIGHT = (
    b'{"version":1,"subscription":{"t0":2,"t1":3},"pattern":"static","timestamp":"1","zkgroup":'
    b'{"strategy":"sticky","order":"","static":"true","incarnation":"sha256:0","timeout":"10000",'
    b'"generation":"4294967318.1","subject":"CN=x"}}'
)
_MEMBER = consumer_protocol.encode_subscription(
    consumer_protocol.MemberSubscription(("t0", "t1"), generation=3, is_zkgroup=True)
)
READERS: Final[dict[str, Reader]] = {
    "registration": Reader(_registration, (_HONEST, _LIGHT)),
    "command": Reader(lambda d: command_json.decode_command("/p", d), _golden("commands/*.json")),
    "answer": Reader(lambda d: command_json.decode_answer("/p", d), _golden("commands/*.json")),
    "light, to the coordinator": Reader(
        wire.decode_from_member, _golden("light/*.bin"), (BadMessageError,), is_json=False
    ),
    "light, to the member": Reader(
        wire.decode_from_coordinator, _golden("light/*.bin"), (BadMessageError,), is_json=False
    ),
    "subscription": Reader(
        consumer_protocol.decode_subscription, (_MEMBER,), (ValueError,), is_json=False
    ),
    "assignment": Reader(
        consumer_protocol.decode_assignment, (_MEMBER,), (ValueError,), is_json=False
    ),
    "coordinator's node": Reader(
        lambda d: candidacy.parse_candidacy("/p", d), (b'{"version":1,"id":"c","address":"h:1"}',)
    ),
    "broker": Reader(
        lambda d: brokers.parse_broker("/p", d),
        (
            b'{"endpoints":["PLAINTEXT://h:9092"],"host":"h","port":9092,'
            b'"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}',
        ),
    ),
    "topic": Reader(
        lambda d: topics.parse_topic("/p", d), (b'{"version":1,"partitions":{"0":[1],"1":[1]}}',)
    ),
    "request": Reader(
        requests.decode_request,
        (requests.encode_request(requests.Request("drain", "me", 1, 5, "done", 2)),),
    ),
    "noted requests": Reader(
        _text(noted_requests.decode_note),
        (
            noted_requests.encode_note(
                [noted_requests.NotedRequest("drain", "m-1", "me", 1)]
            ).encode(),
        ),
    ),
    "owner": Reader(_text(thread_of), (b"g_host-1234567-abcdef-0",), is_json=False),
    "offset": Reader(parse_offset, (b"1234567",), is_json=False),
}


# -- inputs


def inputs(rng: random.Random, reader: Reader) -> Iterator[bytes]:
    yield from reader.samples
    yield from (b"", b"\0", b"[" * 200_000, b"{" * 1000, b'"' + b"\\" * 100_000, b"9" * 100_000)
    while True:
        data = rng.choice(reader.samples)
        if reader.is_json and rng.random() < 0.7:
            data = _changed_value(rng, data)
        for _ in range(rng.choice([0, 1, 1, 4])):
            data = _changed_bytes(rng, data)
        if rng.random() < 0.02:
            data = _grown(rng, data)
        yield data[:INPUT_BYTES_MAX]


def _changed_value(rng: random.Random, data: bytes) -> bytes:
    try:
        value = json.loads(data)
    except ValueError:
        return data
    for _ in range(rng.randrange(1, 4)):
        value = _mutated(rng, value)
    return json.dumps(value, separators=(",", ":")).encode()[:INPUT_BYTES_MAX]


def _mutated(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kept = {k: v for k, v in value.items() if k != key or rng.random() < 0.95}
        if rng.random() < 0.1 and not isinstance(value[key], dict | list):
            made = (f"{key}{n}" for n in range(rng.choice([1, 100, 3000])))
            return {**kept, **dict.fromkeys(made, value[key])}
        return {**kept, key: _mutated(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:5] * rng.choice([2, 50, 2000])
        return [*value[:at], _mutated(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value.startswith("{") and rng.random() < 0.7:
        return _changed_value(rng, value.encode()).decode()  # a command within a message
    draw = rng.random()
    if draw < 0.5:
        return rng.choice(_NUMBERS)
    if draw < 0.8:
        return rng.choice(_OTHERS)
    return str(value)[:40] * rng.choice([2, 1000, 20_000])


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    until = min(len(data), at + rng.choice([1, 2, 4, 30]))
    kind = rng.randrange(4)
    if kind == 0:
        return data[:at] + data[until:]
    if kind == 1:
        return data[:at] + rng.randbytes(rng.choice([1, 2, 4])) + data[until:]
    if kind == 2:
        return data[:at] + data[at:until] * rng.choice([2, 10, 500]) + data[until:]
    return data[:at] + rng.choice([b"\x7f\xff\xff\xff", b"\xff" * 4, b"\0" * 4]) + data[at:]


def _grown(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    part = data[at : at + 40] or b"x"
    return data[:at] + part * (INPUT_BYTES_MAX // len(part)) + data[at:]


# -- running


def finding_of(reader: Reader, data: bytes, tally: Tally) -> str:
    def read() -> None:
        try:
            reader.read(data)
        except reader.refusals:
            return

    try:
        spent = spent_on(read)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {error}"[:500]
    tally.take(data, spent)
    if spent.seconds > SECONDS_MAX or spent.peak_bytes > BYTES_MAX:
        return f"{len(data)} bytes cost {spent}"
    return ""


def fuzz(
    seconds: float, seed: int, names: list[str]
) -> tuple[dict[str, Tally], tuple[str, bytes, str] | None]:
    """What each reader took, and the first finding: reader, input, and what was wrong."""
    rng = random.Random(seed)
    ends = time.monotonic() + seconds
    streams = {name: inputs(rng, READERS[name]) for name in names}
    tallies = {name: Tally() for name in names}
    # At least what each begins with, however little time there is.
    while time.monotonic() < ends or any(tally.inputs < 10 for tally in tallies.values()):
        for name, stream in streams.items():
            data = next(stream)
            found = finding_of(READERS[name], data, tallies[name])
            if found:
                return tallies, (name, data, found)
    return tallies, None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--reader", choices=READERS, action="append")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    tallies, finding = fuzz(asked.seconds, asked.seed, asked.reader or list(READERS))
    for name, tally in tallies.items():
        worst = {kind: spent for kind, (spent, _) in tally.worst.items()}
        sizes = {kind: len(data) for kind, (_, data) in tally.worst.items()}
        print(
            f"{name}: {tally.inputs} inputs; most time {worst['time'].seconds:.3f} s "
            f"({sizes['time']} bytes), most memory {worst['memory'].peak_bytes / MIB:.1f} MiB "
            f"({sizes['memory']} bytes)"
        )
    print(f"{sum(t.inputs for t in tallies.values())} inputs, {int(finding is not None)} findings")
    if finding is not None:
        name, data, what = finding
        FINDING.parent.mkdir(exist_ok=True)
        FINDING.write_bytes(data)
        sys.exit(f"{name}: {what}; the input is in {FINDING}: {data[:200]!r}")


if __name__ == "__main__":
    main()
