"""One term of a coordinator that serves light members."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark_zkgroup.protocols.light.quota import Quota
from pyspark_zkgroup.protocols.light.served_members import ServedMembers
from pyspark_zkgroup.zk.port import NodeStore


@dataclass(frozen=True, slots=True)
class Office:
    """Every request runs under the session that was elected: when that ends, no request of the term
    is executed any more. Call `wake` when a member has answered.
    """

    store: NodeStore
    epoch: int
    members: ServedMembers
    wake: Callable[[], None]
    over: threading.Event = field(default_factory=threading.Event)
    quota: Quota = field(default_factory=Quota)
