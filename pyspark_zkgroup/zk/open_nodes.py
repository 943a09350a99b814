"""Which nodes any client of ZooKeeper may change."""

from __future__ import annotations

from collections.abc import Sequence

from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.security import Permissions

from pyspark_zkgroup.zk.store import Store

_CHANGES = Permissions.WRITE | Permissions.CREATE | Permissions.DELETE | Permissions.ADMIN


def open_to_all(store: Store, paths: Sequence[str]) -> tuple[str, ...]:
    """Of a node whose ACL may not be read it is taken that it is not open."""
    client = store.session.client
    asked = [(path, client.get_acls_async(path)) for path in paths]
    found: list[str] = []
    for path, answer in asked:
        try:
            entries, _ = store.session.ask(answer)
        except (NoNodeError, NoAuthError):
            continue
        if any(e.id.scheme == "world" and e.perms & _CHANGES for e in entries):
            found.append(path)
    return tuple(found)
