"""The queries of a scene, their drivers, and the JVM members of its group."""

from __future__ import annotations

from tests.sim.jvm import JvmMember
from tests.sim.process import Process
from tests.sim.query import Driver, Query


class Cast:
    def __init__(self) -> None:
        self.queries: list[Query] = []
        self.drivers: list[Driver] = []
        self.jvms: list[JvmMember] = []

    @property
    def running(self) -> list[Driver]:
        return [d for d in self.drivers if not d.gone]

    @property
    def processes(self) -> list[Process]:
        """All of them, be they dead."""
        return [d.process for d in self.drivers] + [j.process for j in self.jvms]

    def runs(self, query: Query) -> bool:
        return any(d.query is query for d in self.running)

    def stop(self) -> None:
        for driver in self.running:
            driver.stop()
        for jvm in self.jvms:
            jvm.stop()

    @property
    def has_left(self) -> bool:
        return not self.running and all(j.gone for j in self.jvms)

    def bring_back(self) -> None:
        """Nothing befalls a process any more, and each reaches its servers."""
        for process in [d.process for d in self.running] + [j.process for j in self.jvms]:
            process.bring_back()
