"""A separate listener of the brokers for each member. It advertises the member's route, so that the
addresses that the member learns lead over that route too, and it alone can be cut off.
By the brokers' dynamic configuration, which they keep in ZooKeeper: it outlives their restarts.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from tests.harness.waiting import wait_until
from zkgroup_sandbox.answers import broker_view
from zkgroup_sandbox.cut import Cut
from zkgroup_sandbox.ports import LOOPBACK, free_ports
from zkgroup_sandbox.sandbox import Sandbox

DEADLINE_S = 60.0


def opened(sandbox: Sandbox, names: Sequence[str]) -> dict[str, Cut]:
    """The route of each of these members; the caller closes them."""
    brokers = sandbox.brokers
    ports = {name: free_ports(len(brokers)) for name in names}
    routes = {name: Cut([f"{LOOPBACK}:{port}" for port in ports[name]]) for name in names}
    admin = KafkaAdminClient(bootstrap_servers=[b.address for b in brokers])
    try:
        for at, broker in enumerate(brokers):
            inside = {name: f"{LOOPBACK}:{ports[name][at]}" for name in names}
            outside = {name: routes[name].addresses.split(",")[at] for name in names}
            config = {
                "listener.security.protocol.map": ",".join(
                    f"{_door(name)}:PLAINTEXT" for name in ("PLAINTEXT", *names)
                ),
                "listeners": _listeners(broker.address, inside),
                "advertised.listeners": _listeners(broker.address, outside),
            }
            resource = ConfigResource(ConfigResourceType.BROKER, str(broker.number), config)
            admin.alter_configs([resource])
    finally:
        admin.close()
    # The brokers take it up one after the other, and learn of each other's doors later still.
    for name, route in routes.items():
        wait_until(lambda route=route: _leads(route), DEADLINE_S, f"the doors of {name}")  # type: ignore[misc]
    return routes


def _leads(route: Cut) -> bool:
    """Every door is open, and all the others are known behind it."""
    addresses = sorted(route.addresses.split(","))
    for address in addresses:
        view = broker_view(int(address.rpartition(":")[2]))
        known = [] if view is None else [f"{host}:{port}" for host, port in view.brokers.values()]
        if sorted(known) != addresses:
            return False
    return True


def _listeners(plain: str, doors: dict[str, str]) -> str:
    every = {"PLAINTEXT": plain, **{_door(name): address for name, address in doors.items()}}
    return ",".join(f"{name}://{address}" for name, address in every.items())


def _door(name: str) -> str:
    return name if name == "PLAINTEXT" else f"MEMBER_{name.upper()}"
