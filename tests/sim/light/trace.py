"""A scene of light members in which nothing happens by chance."""

from __future__ import annotations

from typing import Any

from tests.sim.coordinated.trace import CoordinatedTrace
from tests.sim.light.scene import ADDRESSES, LightScene
from tests.sim.query import Query


class LightTrace(CoordinatedTrace, LightScene):
    def query(self, name: str, **given: Any) -> Query:
        made = super().query(name, **given)
        for unused in ("zookeeper.connect", "zookeeper.session.timeout.ms"):
            del made.options[unused]
        del made.options["coordinator.candidate"]
        made.options["protocol"] = "light"
        made.options["coordinator.addresses"] = ",".join(ADDRESSES)
        made.options["session.timeout.ms"] = str(self.config.session_ms)
        return made

    def __enter__(self) -> LightTrace:
        return self
