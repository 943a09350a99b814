"""Connections: what happens when brokers are away, slow, or come back, and when processes fork."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.pool import ClusterPool
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.kafka.wire import LATEST, metadata_request, offsets_request
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.tls import Tls
from zkgroup_sandbox import Sandbox

# kafka-python leaves a socket without a connection to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:unclosed <socket\.socket .*laddr=\('0\.0\.0\.0', \d+\)>:ResourceWarning"
)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def settings(*addresses: str) -> FetchSettings:
    return FetchSettings(addresses)


def test_nothing_is_opened_before_the_first_question(silent_port: int) -> None:
    cluster = Cluster(settings(f"127.0.0.1:{silent_port}"))
    cluster.close()
    cluster.close()


def test_brokers_that_are_away_are_named_in_time() -> None:
    addresses = [f"127.0.0.1:{closed_port()}" for _ in range(2)]
    cluster = Cluster(settings(*addresses))
    began = time.monotonic()
    try:
        with pytest.raises(ServerError, match=r"within 0\.5 s") as caught:
            metadata.topics(cluster, timeout_s=0.5)
    finally:
        cluster.close()
    assert time.monotonic() - began < 3
    for address in addresses:
        refused = f"{address}: connection refused: nothing listens on this port"
        assert refused in f"{caught.value}"
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("is_secure", "said"),
    [
        (False, "the server closed the connection"),
        (True, "the server ended the TLS handshake, as a port without TLS does"),
    ],
)
def test_a_server_that_is_no_broker_is_described(is_secure: bool, said: str) -> None:
    """Such as ZooKeeper, which closes a connection that sends what it does not know."""

    def close_each(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.recv(1)
                connection.close()

    security = KafkaSecurity("SSL", Tls()) if is_secure else KafkaSecurity()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=close_each, args=(server,), daemon=True).start()
        cluster = Cluster(FetchSettings((address,), security=security))
        try:
            with pytest.raises(ServerError) as caught:
                metadata.topics(cluster, timeout_s=1.5)
        finally:
            cluster.close()
            server.shutdown(socket.SHUT_RDWR)
    assert f"{address}: {said}" in caught.value.what
    assert "ZooKeeper closes such connections" in caught.value.remedy
    assert f"kafka.security.protocol={security.protocol}" in caught.value.remedy


def test_a_broker_that_says_nothing_is_no_hang(silent_port: int) -> None:
    cluster = Cluster(settings(f"127.0.0.1:{silent_port}"))
    began = time.monotonic()
    try:
        with pytest.raises(ServerError, match=f"127.0.0.1:{silent_port}"):
            metadata.topics(cluster, timeout_s=0.5)
    finally:
        cluster.close()
    assert time.monotonic() - began < 3


def test_one_address_of_several_is_enough(sandbox: Sandbox, silent_port: int) -> None:
    addresses = [
        f"127.0.0.1:{closed_port()}",
        f"127.0.0.1:{silent_port}",
        sandbox.bootstrap_servers,
    ]
    cluster = Cluster(settings(*addresses))
    try:
        assert metadata.read(cluster, [], timeout_s=6).brokers
        began = time.monotonic()
        assert metadata.read(cluster, [], timeout_s=6).brokers
        assert time.monotonic() - began < 1
    finally:
        cluster.close()


def test_a_name_that_does_not_resolve_is_named() -> None:
    cluster = Cluster(settings("no-such-host.invalid:9092"))
    try:
        with pytest.raises(ServerError, match=r"no-such-host\.invalid:9092"):
            metadata.topics(cluster, timeout_s=0.2)
    finally:
        cluster.close()


def test_an_unknown_broker_is_lost_not_an_exception(sandbox: Sandbox) -> None:
    cluster = Cluster(settings(sandbox.bootstrap_servers))
    try:
        (broker,) = metadata.read(cluster, [], timeout_s=5).brokers
        request = offsets_request({TopicPartition("not-there", 0): LATEST})
        answers = cluster.ask_each({broker: request, 999: metadata_request([])}, timeout_s=5)
        assert isinstance(answers[999], Lost)
        assert not isinstance(answers[broker], Lost)
    finally:
        cluster.close()


def test_connections_are_kept(sandbox: Sandbox) -> None:
    topic = f"kept-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(topic, 1)
    cluster = Cluster(settings(sandbox.bootstrap_servers))
    try:
        offsets.latest(cluster, [TopicPartition(topic, 0)], timeout_s=5)
        before = open_sockets()
        for _ in range(10):
            offsets.latest(cluster, [TopicPartition(topic, 0)], timeout_s=5)
            metadata.topics(cluster, [topic], timeout_s=5)
        # Other sockets of this process may still be closing.
        assert open_sockets() <= before
    finally:
        cluster.close()


def test_closing_leaves_nothing_open(sandbox: Sandbox) -> None:
    before = open_sockets()
    for _ in range(3):
        cluster = Cluster(settings(sandbox.bootstrap_servers))
        metadata.topics(cluster, timeout_s=5)
        cluster.close()
    # Other sockets of this process may still be closing.
    assert open_sockets() <= before


def open_sockets() -> set[str]:
    links = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists the directory
            links.add(str(entry.readlink()))
    return {link for link in links if link.startswith("socket:") or "epoll" in link}


class StopError(BaseException):
    pass


# A connection that the signal interrupts inside kafka-python is left to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_signal_at_any_moment_ends_what_it_should(sandbox: Sandbox) -> None:
    """A handler that raises ends the request, whatever kafka-python's loop is doing."""
    topic = f"signal-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(topic, 12)
    partitions = [TopicPartition(topic, n) for n in range(12)]
    sockets = open_sockets()
    cluster = Cluster(settings(sandbox.bootstrap_servers))
    rng = Random(1)

    def stop(_number: int, _frame: object) -> None:
        raise StopError

    def work(later: threading.Timer) -> None:
        later.start()
        ends = time.monotonic() + 10
        while time.monotonic() < ends:
            offsets.latest(cluster, partitions, timeout_s=5)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        for _ in range(40):
            later = threading.Timer(0.01 * rng.random(), os.kill, (os.getpid(), signal.SIGTERM))
            with pytest.raises(StopError):
                work(later)
            later.join()
    finally:
        signal.signal(signal.SIGTERM, before)
        cluster.close()
    gc.collect()
    assert open_sockets() <= sockets


# --- the pool ---


def test_a_lease_that_ends_well_is_lent_again(sandbox: Sandbox) -> None:
    pool = ClusterPool()
    one = settings(sandbox.bootstrap_servers)
    other = FetchSettings(one.bootstrap, client_id="other")
    with pool.lease(one) as first:
        metadata.topics(first, timeout_s=5)
        with pool.lease(one) as second:
            assert second is not first
    with pool.lease(other) as third:
        assert third not in (first, second)
    with pool.lease(one) as again:
        assert again in (first, second)
    pool.close()


def test_a_lease_that_fails_is_closed(sandbox: Sandbox) -> None:
    pool = ClusterPool()
    before = open_sockets()
    used: list[Cluster] = []

    def fail() -> None:
        with pool.lease(settings(sandbox.bootstrap_servers)) as cluster:
            used.append(cluster)
            metadata.topics(cluster, timeout_s=5)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail()
    # Other sockets of this process may still be closing.
    assert open_sockets() <= before
    with pool.lease(settings(sandbox.bootstrap_servers)) as second:
        assert second not in used
    pool.close()


def test_an_abandoned_generator_gives_its_lease_back(sandbox: Sandbox) -> None:
    pool = ClusterPool()

    def reading() -> Generator[Cluster]:
        with pool.lease(settings(sandbox.bootstrap_servers)) as cluster:
            while True:
                yield cluster

    generator = reading()
    first = next(generator)
    generator.close()
    with pool.lease(settings(sandbox.bootstrap_servers)) as second:
        assert second is first
    pool.close()


def test_the_pool_keeps_a_bounded_number(sandbox: Sandbox) -> None:
    pool = ClusterPool()
    before = len(open_sockets())
    for n in range(20):
        with pool.lease(FetchSettings((sandbox.bootstrap_servers,), client_id=f"c{n}")):
            pass
    per_cluster = 3  # a selector and the two ends of its wake-up
    assert len(open_sockets()) - before <= 8 * per_cluster
    pool.close()
    assert len(open_sockets()) <= before


def test_threads_get_clusters_of_their_own(sandbox: Sandbox) -> None:
    pool = ClusterPool()
    answers: list[int] = []

    def ask() -> None:
        for _ in range(5):
            with pool.lease(settings(sandbox.bootstrap_servers)) as cluster:
                answers.append(len(metadata.read(cluster, [], timeout_s=10).brokers))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 20
    pool.close()


def test_a_forked_process_leaves_the_connections_of_its_parent_alone(sandbox: Sandbox) -> None:
    pool = ClusterPool()
    own = settings(sandbox.bootstrap_servers)
    with pool.lease(own) as first:
        for _ in range(2):  # by the address we named, then by the broker's own
            metadata.topics(first, timeout_s=5)
    child = os.fork()
    if child == 0:
        try:
            with pool.lease(own) as cluster:
                is_new = cluster is not first
                brokers = metadata.read(cluster, [], timeout_s=10).brokers
            pool.close()
            os._exit(0 if is_new and brokers else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    with pool.lease(own) as again:
        assert again is first
        before = open_sockets()
        metadata.topics(again, timeout_s=5)
        # Other sockets of this process may still be closing.
        assert open_sockets() <= before
    pool.close()


def test_a_host_name_that_cannot_be_resolved_is_named() -> None:
    cluster = Cluster(settings("kafka1.invalid:9092"))
    try:
        with pytest.raises(ServerError, match=r"kafka1\.invalid:9092: the host name cannot be "):
            metadata.topics(cluster, timeout_s=1.0)
    finally:
        cluster.close()
