"""`zkgroup exporter` while groups and brokers come and go."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli import exporter
from pyspark_zkgroup.cli.brokered_live import BrokeredLive
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import AccessError, ServerError, ZkgroupError
from pyspark_zkgroup.exposition import exposition
from pyspark_zkgroup.inspect.group_metrics import metrics
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition
from zkgroup_sandbox.ports import LOOPBACK, free_ports

ORDERS = TopicPartition("orders", 0)
MEMBER = BrokeredMember("a-1", "app", "/10.0.0.1", None, ("orders",), "", frozenset({ORDERS}))


class Ends(LogEnds):
    """Brokers with one group, as long as it is there."""

    def __init__(self) -> None:
        super().__init__("b:1", ())
        self.is_there = True
        self.fails: ZkgroupError | None = None
        self.hides_ends: ZkgroupError | None = None

    def groups(self, names: Any) -> tuple[BrokeredGroup, ...]:
        if self.fails is not None:
            raise self.fails
        group = BrokeredGroup("g", "classic", "Stable", "range", None, (MEMBER,))
        return (group,) if self.is_there else ()

    def topics(self) -> dict[str, tuple[int, ...]]:
        return {"orders": (0,)}

    def stored(self, _group: str, _partitions: Any) -> dict[TopicPartition, StoredOffset]:
        return {ORDERS: StoredOffset(5)}

    def read(self, partitions: Any) -> dict[TopicPartition, int]:
        if self.hides_ends is not None:
            raise self.hides_ends
        return dict.fromkeys(partitions, 9)


def watching(ends: Ends) -> exporter._Watch:
    return exporter._Watch(BrokeredLive("g", cast(Any, ends), may_be_new=False))


def served(watch: exporter._Watch, later_s: float = 0.0) -> dict[str, float]:
    """By metric, of those with one sample."""
    text = exposition(metrics([watch.now], time.time() + later_s))
    found = re.finditer(r"^zkgroup_group_(\w+){.*} (.+)$", text, re.MULTILINE)
    return {sample[1]: float(sample[2]) for sample in found}


def test_a_group_that_disappears_does_not_end_the_exporter_and_may_come_back() -> None:
    ends = Ends()
    watch = watching(ends)
    assert served(watch)["up"] == 1
    ends.is_there = False
    watch.again()
    gone = served(watch)
    assert (gone["up"], gone["members"], "lag_records" in gone) == (0, 0, False)
    watch.again()
    ends.is_there = True
    watch.again()
    assert (served(watch)["up"], served(watch)["members"], served(watch)["lag_records"]) == (
        1,
        1,
        4,
    )


@pytest.mark.parametrize("error", [ServerError("away"), AccessError("no longer allowed")])
def test_a_look_that_fails_leaves_what_was_seen(error: ZkgroupError) -> None:
    ends = Ends()
    watch = watching(ends)
    ends.fails = error
    watch.again()
    assert (served(watch)["up"], served(watch)["lag_records"]) == (0, 4)


def test_a_lag_that_cannot_be_known_is_not_up_and_lasts_on() -> None:
    """Brokers that describe the group may still not tell the ends of its logs."""
    ends = Ends()
    watch = watching(ends)
    ends.hides_ends = ServerError("no leader")
    watch.again()
    blind = served(watch, 3600)
    assert (blind["up"], "lag_records" in blind) == (0, False)
    assert blind["lag_seconds"] >= 3600
    ends.hides_ends = None
    watch.again()
    assert served(watch, 3600)["up"] == 1
    assert served(watch, 3600)["lag_seconds"] >= 3600


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    @contextmanager
    def found(_connect: str, _bootstrap: str, group: str) -> Iterator[BrokeredLive]:
        yield BrokeredLive(group, cast(Any, Ends()), may_be_new=False)

    monkeypatch.setattr(exporter, "found_group", found)
    return CliRunner().invoke(main, ["exporter", "--bootstrap-servers", "b:1", *arguments])


def test_a_group_named_twice_has_each_sample_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prometheus refuses all metrics of an answer with a sample twice."""
    lines = run(monkeypatch, "g", "g", "--once").stdout.splitlines()
    assert 'zkgroup_group_up{group="g"} 1' in lines
    assert len(lines) == len(set(lines))


def test_a_client_that_hangs_up_is_no_event(capfd: pytest.CaptureFixture[str]) -> None:
    (port,) = free_ports(1)
    watch = watching(Ends())

    class EndedError(Exception):
        pass

    class Watches(list[exporter._Watch]):
        """Ends the exporter once both clients were served."""

        def __iter__(self) -> Iterator[exporter._Watch]:
            if threading.current_thread() is threading.main_thread():
                with socket.create_connection((LOOPBACK, port)) as hasty:
                    hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    hasty.sendall(b"GET /met")
                with urlopen(f"http://{LOOPBACK}:{port}/metrics") as answer:
                    assert b"zkgroup_group_up" in answer.read()
                raise EndedError
            return super().__iter__()

    with pytest.raises(EndedError):
        exporter._serve(Watches([watch]), LOOPBACK, port, 0.01)
    assert "Traceback" not in capfd.readouterr().err
