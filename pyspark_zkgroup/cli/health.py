"""What `zkgroup doctor` looks at, one finding for each thing: its state, and what to do."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.cli.finding import Finding
from pyspark_zkgroup.cli.reach import LogEnds, access_given, store_of
from pyspark_zkgroup.errors import AccessError, ZkgroupError

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store

# Each with the versions that are supported, first included and last left out.
_LIBRARIES = {
    "pyspark": (
        "4.0",
        "4.4",
        "pip install 'pyspark-zkgroup[spark]', where no cluster brings Spark",
    ),
    "kazoo": ("2.10", "3", "pip install --upgrade pyspark-zkgroup"),
    "kafka-python": ("3.0", "4", "pip install --upgrade pyspark-zkgroup"),
    "pyarrow": ("15", "1000", "pip install --upgrade pyarrow"),
}
_CLOCK_APART_S = 5.0
_SLOW_S = 1.0
_SHOWN_MAX = 5


def of_this_machine() -> Iterator[Finding]:
    """Python, Java and libraries. No server is asked."""
    running = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", "well", f"{running} at {sys.executable}")
    yield _checked("Java", _java)
    for name, (low, high, remedy) in _LIBRARIES.items():
        yield _library(name, low, high, remedy)
    yield _checked("native decoder", _decoder)
    delta = _version("delta-spark")
    if delta is None:
        yield Finding("delta-spark", "note", "not installed; only exactly once into Delta needs it")
    else:
        yield Finding("delta-spark", "well", delta)


def of_servers(
    connect: str, bootstrap: str, groups: Sequence[str] | None, watch_s: float
) -> Iterator[Finding]:
    """ZooKeeper, what this client may do in it, the clocks, the brokers, and the groups: None for
    all that are there.
    """
    from pyspark_zkgroup.cli.group_health import of_groups
    from pyspark_zkgroup.inspect.group_reader import read_brokers

    if not connect:
        with closing(LogEnds(bootstrap, ())) as ends:
            found = _brokers(ends, "named")
            yield found
            if found.state == "well" and (groups is None or groups):
                yield from of_groups(None, groups, ends, watch_s)
        return
    began = time.monotonic()
    try:
        with store_of(connect) as store:
            yield _answer(store, connect, time.monotonic() - began)
            yield from _writing(store)
            registered = read_brokers(store, access_given().kafka.protocol)
            with closing(LogEnds(bootstrap, () if bootstrap else registered)) as ends:
                yield _brokers(ends, "named" if bootstrap else "registered in ZooKeeper")
                yield from of_groups(store, groups, ends, watch_s)
            if groups is None or groups:
                yield _who_may_change(store, groups)
    except ZkgroupError as error:
        yield _ill("ZooKeeper", error)
        if bootstrap:
            yield from of_servers("", bootstrap, (), 0.0)


def _who_may_change(store: Store, groups: Sequence[str] | None) -> Finding:
    """Offsets and owners of groups, the coordinator's node, and where brokers register."""
    from pyspark_zkgroup.group.paths import BROKER_IDS, COORDINATOR, GroupPaths
    from pyspark_zkgroup.inspect.group_reader import read_groups
    from pyspark_zkgroup.zk.open_nodes import open_to_all

    names = read_groups(store) if groups is None else tuple(groups)
    of_group = {path: n for n in names for path in (GroupPaths(n).owners, GroupPaths(n).offsets)}
    beside = (COORDINATOR, BROKER_IDS)
    found = open_to_all(store, [*of_group, *beside])
    if not found:
        return Finding("ACLs", "well", "these groups' nodes cannot be changed without a login")
    open_groups = sorted({of_group[path] for path in found if path in of_group})
    shown = [f"the offsets and owners of group {name}" for name in open_groups[:_SHOWN_MAX]]
    if len(open_groups) > _SHOWN_MAX:
        shown.append(f"those of {len(open_groups) - _SHOWN_MAX} more groups")
    shown += [path for path in beside if path in found]
    return Finding(
        "ACLs",
        "note",
        *catalogue.finding("ZKG-215", "open", nodes=", ".join(shown)),
    )


def _answer(store: Store, connect: str, took_s: float) -> Finding:
    text = (
        f"{connect} answers after {took_s * 1000:.0f} ms, and grants a session of "
        f"{store.session.negotiated_timeout_s:g} s to a client that requests 10 s"
    )
    if took_s < _SLOW_S:
        return Finding("ZooKeeper", "well", text)
    return Finding("ZooKeeper", "note", text, "That is slow: look at its load and its network")


def _java() -> Finding:
    from pyspark_zkgroup.jars.java import find_java

    return Finding("Java", "well", f"{find_java()}, 17 or later")


def _decoder() -> Finding:
    from pyspark_zkgroup.records.choice import remedy, slow_because

    reason = slow_because()
    if reason is None:
        return Finding("native decoder", "well", "records are decoded natively")
    return Finding(
        "native decoder",
        "note",
        f"not usable ({reason}): reading is up to a hundred times slower",
        remedy(),
    )


def _checked(thing: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except ZkgroupError as error:
        return _ill(thing, error)


def _ill(thing: str, error: ZkgroupError) -> Finding:
    return Finding(thing, "ill", error.what, error.remedy)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _library(name: str, low: str, high: str, remedy: str) -> Finding:
    found = _version(name)
    if found is None:
        return Finding(name, "ill", "not installed", remedy)
    if not _numbers(low) <= _numbers(found) < _numbers(high):
        return Finding(name, "ill", f"{found}, which is not in [{low}, {high})", remedy)
    return Finding(name, "well", found)


def _numbers(text: str) -> tuple[int, ...]:
    """The release without its suffix: 4.2.0.dev1 counts as 4.2.0."""
    numbers: list[int] = []
    for part in text.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _writing(store: Store) -> Iterator[Finding]:
    """One node is made below /consumers and goes again at once: members make theirs there, and the
    server puts its own clock's time on it.
    """
    from pyspark_zkgroup.group.ops import Create, Delete, Done
    from pyspark_zkgroup.group.paths import CONSUMERS

    path = f"{CONSUMERS}/zkgroup-doctor-{uuid.uuid4().hex[:8]}"
    store.ensure({CONSUMERS})
    before = time.time()
    try:
        (outcome,) = store.commit([(Create(path, b"", ephemeral=True),)])
    except AccessError as error:
        yield _ill("permission", error)
        return
    (node,) = store.nodes([path])
    after = time.time()
    if isinstance(outcome, Done):
        store.commit([(Delete(path, 0),)])
    yield Finding("permission", "well", f"nodes can be made below {CONSUMERS}")
    if node is None or not node.made_ms:
        return
    apart_s = max(before - node.made_ms / 1000, node.made_ms / 1000 - after, 0.0)
    yield Finding(
        "clock",
        "well" if apart_s < _CLOCK_APART_S else "note",
        f"{apart_s:.1f} s apart from ZooKeeper's",
        ""
        if apart_s < _CLOCK_APART_S
        else "Nothing is decided by clocks, but times in names and reports mislead: set them right",
    )


def _brokers(ends: LogEnds, where: str) -> Finding:
    began = time.monotonic()
    try:
        topics = ends.topics()
    except ZkgroupError as error:
        return _ill("brokers", error)
    took_ms = (time.monotonic() - began) * 1000
    return Finding(
        "brokers",
        "well",
        f"those {where} answer after {took_ms:.0f} ms and know {len(topics)} topics",
    )
