"""Plain consumers of the exercise, each with a habit: python -m tests.exercise.consumer

They end with their input: they do not outlive their starter.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading

from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from tests.exercise.cast import SESSION_MS

_ASSIGNORS = {"cooperative-sticky": CooperativeStickyAssignor, "range": RangePartitionAssignor}
_HABITS = ("steady", "restarts", "dawdles")
_POLL_MAX_MS = 1000
_DAWDLE_S = 2.0
_RESTART_S = 0.3
_log = logging.getLogger("reports")


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("servers", "group", "topic"):
        parser.add_argument(name)
    parser.add_argument("--assignor", choices=sorted(_ASSIGNORS), default="cooperative-sticky")
    parser.add_argument("--habit", choices=_HABITS, default="steady")
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("kafka").setLevel(logging.WARNING)
    _log.setLevel(logging.INFO)
    ended = threading.Event()
    threading.Thread(target=_follow, args=(ended,), daemon=True).start()
    while not ended.is_set():
        _read(given, ended)
        ended.wait(_RESTART_S)
    return 0


def _follow(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _read(given: argparse.Namespace, ended: threading.Event) -> None:
    """Until the end; one that restarts ends when it has read something."""
    dawdles = given.habit == "dawdles"
    more = {"max_poll_interval_ms": _POLL_MAX_MS} if dawdles else {}
    consumer = KafkaConsumer(
        bootstrap_servers=given.servers.split(","),
        group_id=given.group,
        client_id="reports",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=200,
        partition_assignment_strategy=[_ASSIGNORS[given.assignor]],
        **more,
    )
    consumer.subscribe([given.topic])
    _log.info("started")
    while not ended.is_set():
        if consumer.poll(timeout_ms=100):
            consumer.commit()
            if given.habit == "restarts":
                break
        if dawdles:
            ended.wait(_DAWDLE_S)
    consumer.close(autocommit=False)
    _log.info("ended")


if __name__ == "__main__":
    sys.exit(main())
