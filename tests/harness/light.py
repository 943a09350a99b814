"""Light members, and the coordinators whose offices they turn to, on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.protocols.coordinator.candidate import Watching
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.listening_candidate import LightOffice
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import SessionSettings
from tests.harness.planted_secrets import COORDINATOR_TOKEN
from tests.harness.spark_order import Query, abandon
from tests.harness.told_group import ToldGroup
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

TOKEN = StreamAccess(Secret(COORDINATOR_TOKEN))


class LightGroup(ToldGroup):
    """Queries are light members unless they say otherwise."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self.offices: list[LightOffice] = []

    def office(self, name: str = "one", access: StreamAccess = TOKEN, **desk: Any) -> LightOffice:
        hosts, slash, chroot = self._connect().partition("/")
        settings = SessionSettings(hosts, slash + chroot, 2000, 5000)
        watching = Watching()
        if self.sandbox.parameters.kafka != "3.9":
            # Brokers of KRaft do not register: they are named, and asked for the topics.
            view = ClusterView(parse(super().options("any")))
            watching = Watching(view.partitions, 0.3, view.close)
            desk["bootstrap"] = (self.sandbox.bootstrap_servers,)
        made = LightOffice(settings, name, watching, LightDesk(**desk), "127.0.0.1:0", access)
        made.start()
        self.offices.append(made)
        return made

    def in_office(self) -> LightOffice:
        found = wait_until(
            lambda: [o for o in self.offices if o.candidate.in_office], 15, "an election"
        )
        return found[0]

    def kill(self, office: LightOffice) -> None:
        """As a kill -9 does: its session stays behind, its streams break."""
        self.offices.remove(office)
        store: Any = office.candidate.store
        abandon(store.session.client)
        office.candidate._closing = True
        office.listener.close()

    def options(self, topic: str = "", **changes: str) -> dict[str, str]:
        if changes.get("protocol", "light") != "light":
            return super().options(topic, **changes)
        addresses = ",".join(office.address for office in self.offices)
        options = {
            "protocol": "light",
            "coordinator.addresses": addresses,
            "coordinator.token": COORDINATOR_TOKEN,
            "session.timeout.ms": changes.pop("session", "3000"),
        }
        found = {**options, **super().options(topic, **changes)}
        for name in ("zookeeper.connect", "zookeeper.session.timeout.ms"):
            found.pop(name)
        return found

    def close(self) -> None:
        super().close()
        for office in self.offices:
            office.close()


def crash(query: Query) -> None:
    """Stop without notice to any process."""
    session: Any = query.membership.keeper.session
    session._lost = True
    session.search.close()
    session._thread.join(5.0)
    query.brokers.close()
    query.planner._stopped = True


@contextmanager
def served(sandbox: Sandbox) -> Iterator[LightGroup]:
    """A group with a coordinator in office, which ends with it."""
    made = LightGroup(sandbox)
    try:
        made.office()
        made.in_office()
        yield made
    finally:
        made.close()
