"""A light member as its coordinator knows it: its name, its process and its life."""

from __future__ import annotations

from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import LightSeat
from pyspark_zkgroup.protocols.light.nodes import consumer_of_owner
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import Hello
from pyspark_zkgroup.protocols.light.rules.sessions import Life
from pyspark_zkgroup.zk.port import Node


class Client:
    """`life` is that of its registration, 0 before there is one."""

    def __init__(self, hello: Hello, caller: Caller) -> None:
        self.hello = hello
        self.caller = caller
        self.shown = identity.shown(hello.group, hello.consumer, hello.incarnation)
        self.paths = CoordinatedPaths(hello.group)
        self.life = 0
        self.is_static = False

    @property
    def name(self) -> tuple[str, str]:
        return self.hello.group, self.hello.consumer

    @property
    def named(self) -> Life:
        return Life(self.hello.group, self.hello.consumer, self.life)

    @property
    def timeout_s(self) -> float:
        return self.hello.timeout_ms / 1000.0

    def is_same_process(self, other: Client) -> bool:
        return self.name == other.name and identity.is_same(self.shown, other.shown)

    def holds(self, registered: LightSeat) -> bool:
        """Return whether the registration belongs to its process and caller."""
        return identity.holds(registered, self.shown, self.caller)

    def owns(self, node: Node) -> bool:
        """Return whether its life made the owner node, or a predecessor that it was allowed to
        succeed.

        The name alone proves nothing: another process may have the same name.
        """
        if node.ephemeral_owner or consumer_of_owner(node) != self.hello.consumer or not self.life:
            return False
        return self.is_static or node.node.czxid > self.life
