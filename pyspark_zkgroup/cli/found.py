"""Finds a group: in ZooKeeper, or among those that the brokers coordinate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, TypeAlias

from pyspark_zkgroup.cli.asking import Asking
from pyspark_zkgroup.cli.brokered_asking import BrokeredAsking
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.live import LiveGroup
from pyspark_zkgroup.cli.reach import LogEnds, access_given, check_places, checked_group, store_of
from pyspark_zkgroup.errors import OptionError, ZkgroupError

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store

LiveOrBrokered: TypeAlias = LiveGroup | BrokeredLive


@contextmanager
def found_group(
    connect: str,
    bootstrap: str,
    group: str,
    *,
    exclude_internal: bool = True,
    may_be_new: bool = False,
) -> Iterator[LiveOrBrokered]:
    """In ZooKeeper if it has members there, else where the brokers have members of it, else where
    anything of it is. One that may be new is in ZooKeeper if --zookeeper is given: so offsets of a
    group of the brokers are moved there.
    """
    check_places(connect, bootstrap)
    if not group:
        raise OptionError.of("empty_group")
    if any("\ud800" <= letter <= "\udfff" for letter in group):
        # Bytes of a shell that are no text.
        raise OptionError.of("bad_group_name", group=group)
    if not connect.strip():
        with closing(LogEnds(bootstrap, ())) as brokers:
            yield BrokeredLive(group, brokers, may_be_new=may_be_new)
        return
    from pyspark_zkgroup.inspect.group_reader import read_brokers

    name = checked_group(group)
    with store_of(connect) as store:
        registered = () if bootstrap else read_brokers(store, access_given().kafka.protocol)
        with closing(LogEnds(bootstrap, registered)) as brokers:
            if not may_be_new and is_brokered(store, name, brokers):
                yield BrokeredLive(name, brokers, may_be_new=may_be_new)
            else:
                yield LiveGroup(
                    store,
                    name,
                    brokers,
                    exclude_internal=exclude_internal,
                    may_be_new=may_be_new,
                )


@contextmanager
def asking_members(connect: str, bootstrap: str, group: str) -> Iterator[Asking | BrokeredAsking]:
    with found_group(connect, bootstrap, group) as live:
        if isinstance(live, BrokeredLive):
            yield BrokeredAsking(live)
        else:
            yield Asking(live.store, group)


@contextmanager
def store_of_members(connect: str, bootstrap: str, group: str) -> Iterator[Store]:
    """ZooKeeper, where any client can delete what a member has. Brokers are refused."""
    with found_group(connect, bootstrap, group) as live:
        if isinstance(live, BrokeredLive):
            raise OptionError.of("brokered_eviction", group=group)
        yield live.store


def is_brokered(store: Store, group: str, brokers: LogEnds) -> bool:
    """A group that ZooKeeper has is shown as well where no broker answers."""
    from pyspark_zkgroup.inspect.group_reader import read_traces
    from pyspark_zkgroup.inspect.member_nodes import read_asked

    traces = read_traces(store, group)
    # What was drained is outside of the group, and may come back.
    if traces.has_members or not brokers.are_known or read_asked(store, group):
        return False
    try:
        found = brokers.groups([group])
    except ZkgroupError:
        if traces.is_there:
            return False
        raise
    return any(one.members or not traces.is_there for one in found)
