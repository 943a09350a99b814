"""The addresses that brokers register in ZooKeeper. Brokers of a KRaft cluster register none."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pyspark_zkgroup.errors import BadZnodeError
from pyspark_zkgroup.group.paths import BROKER_IDS, broker_path
from pyspark_zkgroup.jvm.brokers import parse_broker
from pyspark_zkgroup.zk.port import NodeStore

_log = logging.getLogger("pyspark_zkgroup.group")


def registered_brokers(
    store: NodeStore, protocol: str, names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the addresses with that security protocol, of these brokers or of all.

    A node that no broker writes is logged and left out.
    """
    if names is None:
        (listed,) = store.children([BROKER_IDS])
        names = sorted(listed.names) if listed else []
    paths = [broker_path(name) for name in names]
    found: list[str] = []
    for path, node in zip(paths, store.nodes(paths), strict=True):
        try:
            address = parse_broker(path, node.data, protocol) if node is not None else None
        except BadZnodeError as error:
            _log.warning("%s", error)
            continue
        if address:
            found.append(address)
    return tuple(found)
