"""Starts and ends the servers of one directory. The caller holds the directory's start lock."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.java import find_java
from zkgroup_sandbox.bring_up import (
    Say,
    bring_up,
    clean_up,
    new_state,
    registries_of,
    servers_of,
)
from zkgroup_sandbox.kafka_jars import kafka_jars
from zkgroup_sandbox.registry import registry_jars
from zkgroup_sandbox.server import Server
from zkgroup_sandbox.state import Parameters, StateFile


def all_servers(file: StateFile) -> list[Server]:
    parameters = file.require().parameters
    zookeepers, brokers = servers_of(file, parameters)
    return [*zookeepers, *brokers, *registries_of(file, parameters)]


class Lifecycle:
    def __init__(self, file: StateFile, parameters: Parameters, say: Say) -> None:
        self._file = file
        self._parameters = parameters
        self._say = say

    def resume(self) -> bool:
        """Start again what has ended of a running sandbox. Return whether there is one."""
        state = self._file.read()
        if state is None:
            _refuse_foreign_content(self._file.directory)
            return False
        servers = all_servers(self._file)
        alive = [s.name for s in servers if s.alive]
        if state.phase != "running" or not alive:
            return False
        if self._parameters != state.parameters:
            raise SandboxError.of(
                "already_running",
                directory=self._file.directory,
                running=state.parameters,
                wanted=self._parameters,
            )
        dead = [s.name for s in servers if not s.alive]
        if dead:
            self._say(f"{', '.join(dead)} had ended; starting it again")
            bring_up(self._file, state.parameters, self._say, port_attempts=1)
        else:
            self._say(f"the sandbox in {self._file.directory} runs already")
        return True

    def start(self) -> None:
        former = self._file.read()
        if former is not None:
            former = clean_up(self._file, former, self._say)
            if not former.settled:
                former = None
        if former is not None and not self._parameters.same_data(former.parameters):
            raise SandboxError.of(
                "other_data",
                directory=self._file.directory,
                found=former.parameters,
                wanted=self._parameters,
            )
        java = find_java()
        jars = None
        if self._parameters.brokers:
            jars = kafka_jars(self._parameters.kafka, self._say)
        of_registry = registry_jars(self._say, os.environ) if self._parameters.registry else None
        self._file.write(new_state(self._parameters, java, jars, of_registry, former))
        try:
            bring_up(self._file, self._parameters, self._say)
        except BaseException:
            # Also at Ctrl-C: what was launched must not outlive a start that failed.
            clean_up(self._file, self._file.require(), self._say)
            raise
        self._file.update(lambda s: replace(s, phase="running", settled=True))

    def stop(self) -> None:
        state = self._file.require()
        if state.phase == "starting":
            clean_up(self._file, state, self._say)
        self._end(gently=True)

    def kill(self) -> None:
        self._end(gently=False)

    def _end(self, *, gently: bool) -> None:
        state = self._file.read()
        if state is None:
            return
        zookeepers, brokers = servers_of(self._file, state.parameters)
        # Brokers first: they say goodbye to ZooKeeper and wait long for one that is gone. In KRaft
        # the controller, broker 1, comes last for the same reason.
        for server in [
            *registries_of(self._file, state.parameters),
            *reversed(brokers),
            *zookeepers,
        ]:
            if gently and server.alive:
                server.stop()
            else:
                server.kill()
        stopped = tuple(replace(s, process=None) for s in state.servers)
        self._file.update(lambda s: replace(s, phase="stopped", servers=stopped))


def _refuse_foreign_content(directory: Path) -> None:
    foreign = sorted(p.name for p in directory.iterdir() if p.suffix not in (".lock", ".new"))
    if foreign:
        raise SandboxError.of(
            "foreign_directory", directory=directory, files=", ".join(foreign[:3])
        )
