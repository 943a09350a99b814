"""Lists all topics with their partitions: from ZooKeeper by watches, or, if brokers do not register
there, from Kafka by asking at intervals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import BadZnodeError, ServerError
from pyspark_zkgroup.group.paths import BROKER_IDS, BROKER_TOPICS, topic_path
from pyspark_zkgroup.jvm.topics import parse_topic
from pyspark_zkgroup.zk.port import NodeStore

_log = logging.getLogger("pyspark_zkgroup.coordinator")

Topics = Mapping[str, tuple[int, ...]]


class TopicList:
    """`poll` asks Kafka; None if there is no way to ask, so that only ZooKeeper is read."""

    def __init__(self, store: NodeStore, poll: Callable[[], Topics] | None, poll_s: float) -> None:
        self.store = store
        self.poll = poll
        self.poll_s = poll_s
        self.poll_at = float("inf")
        self._topics: dict[str, tuple[int, ...]] = {}

    def concerns(self, path: str) -> bool:
        return path.startswith((BROKER_IDS, BROKER_TOPICS))

    def read(self, stirred: Collection[str], now: float) -> Topics | None:
        """Read again what the paths in `stirred` name; None if Kafka does not answer now."""
        if BROKER_IDS in stirred or now >= self.poll_at:
            (ids,) = self.store.children([BROKER_IDS], watch=True)
            if ids is None:
                self.store.stats([BROKER_IDS], watch=True)
            if (ids is None or not ids.names) and self.poll is not None:
                return self._ask_kafka(self.poll, now)
            if ids is None:
                raise ServerError.of(
                    "no_brokers_for_coordinator",
                    server=self.store.session.settings.connect,
                    path=BROKER_IDS,
                )
            self.poll_at = float("inf")
            stirred = {*stirred, BROKER_TOPICS}
        names = {path.removeprefix(f"{BROKER_TOPICS}/") for path in stirred}
        names = {name for name in names if "/" not in name}
        if BROKER_TOPICS in stirred:
            (listed,) = self.store.children([BROKER_TOPICS], watch=True)
            present = listed.names if listed else frozenset()
            if listed is None:
                self.store.stats([BROKER_TOPICS], watch=True)
            names = (names & present) | (present - self._topics.keys())
            self._topics = {t: n for t, n in self._topics.items() if t in present}
        self._read_topics(sorted(names))
        return dict(self._topics)

    def _ask_kafka(self, poll: Callable[[], Topics], now: float) -> Topics | None:
        self.poll_at = now + self.poll_s
        try:
            self._topics = dict(poll())
        except ServerError as error:
            _log.warning(catalogue.warning("ZKG-158", error=error))
            return None
        return dict(self._topics)

    def _read_topics(self, names: Collection[str]) -> None:
        paths = [topic_path(name) for name in names]
        for name, path, node in zip(names, paths, self.store.nodes(paths, watch=True), strict=True):
            self._topics.pop(name, None)
            if node is None:
                continue
            try:
                self._topics[name] = parse_topic(path, node.data)
            except BadZnodeError as error:
                _log.warning("%s", error)
