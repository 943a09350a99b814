"""Connections that outlive the task that opened them: the next task of this process finds them
warm.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings

_IDLE_MAX = 8


class ClusterPool:
    """Lends a Cluster to one user at a time; two tasks in threads of one process get two.

    A forked process starts with an empty pool. It must not touch what it inherited, not even to
    close it: both processes hold the same sockets, and closing them properly in one would end the
    connections of the other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Cluster] = []  # the longest idle first
        os.register_at_fork(after_in_child=self._forget)

    @contextmanager
    def lease(self, settings: FetchSettings) -> Iterator[Cluster]:
        """A user that fails leaves its connections closed. One that merely stops early, such as an
        abandoned generator, has no request in flight: it gives them back."""
        cluster = self._take(settings)
        try:
            yield cluster
        except GeneratorExit:
            self._give_back(cluster)
            raise
        except BaseException:
            cluster.close()
            raise
        self._give_back(cluster)

    def close(self) -> None:
        """Close what is not in use at the moment."""
        with self._lock:
            idle, self._idle = self._idle, []
        for cluster in idle:
            cluster.close()

    def _take(self, settings: FetchSettings) -> Cluster:
        with self._lock:
            for cluster in reversed(self._idle):
                if cluster.settings == settings:
                    self._idle.remove(cluster)
                    return cluster
        return Cluster(settings)

    def _give_back(self, cluster: Cluster) -> None:
        with self._lock:
            self._idle.append(cluster)
            surplus, self._idle = self._idle[:-_IDLE_MAX], self._idle[-_IDLE_MAX:]
        for longest_idle in surplus:
            longest_idle.close()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._idle = []
