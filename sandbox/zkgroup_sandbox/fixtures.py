"""pytest fixtures with real servers; a conftest.py names this module in `pytest_plugins`.

    zookeeper     one ZooKeeper, no Kafka
    sandbox       ZooKeeper and Kafka 3.9 with one broker, whose own nodes are under /kafka
    sandbox_41    Kafka 4.1 (KRaft) with one broker, and ZooKeeper next to it
    secured       Kafka 3.9 as in `sandbox`, with TLS, SASL and ACLs (see secured.py), and so
                  ZooKeeper (see secured_zookeeper.py)
    registry      a schema registry, with ZooKeeper next to it
    chroot        a fresh path on `zookeeper`, for each test
    new_sandbox   a function that starts another, for tests that hurt servers or need more of them

The first five start when a test first asks for them and live as long as the run. Tests share
them, so they use group and topic names of their own and leave the servers
alive. The directories stay where pytest keeps its temporary ones, logs included, data not.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from zkgroup_sandbox.registry import Registry
from zkgroup_sandbox.sandbox import Sandbox
from zkgroup_sandbox.sessions import session


@contextmanager
def _started(paths: pytest.TempPathFactory, name: str, **parameters: Any) -> Iterator[Sandbox]:
    sandbox = Sandbox(paths.mktemp(name), **parameters)
    try:
        yield sandbox.start()
    finally:
        sandbox.kill()
        shutil.rmtree(sandbox.directory / "data", ignore_errors=True)
        shutil.rmtree(sandbox.directory / "tmp", ignore_errors=True)


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with _started(tmp_path_factory, "zookeeper", brokers=0) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with _started(tmp_path_factory, "registry", brokers=0, registry=True) as sandbox:
        yield sandbox.registry


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with _started(tmp_path_factory, "sandbox", kafka="3.9") as started:
        yield started


@pytest.fixture(scope="session")
def sandbox_41(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with _started(tmp_path_factory, "sandbox-41", kafka="4.1") as started:
        yield started


@pytest.fixture(scope="session")
def sandbox_44(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with _started(tmp_path_factory, "sandbox-44", kafka="4.4") as started:
        yield started


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with _started(tmp_path_factory, "secured", kafka="3.9", secured=True) as started:
        yield started


@pytest.fixture
def chroot(zookeeper: Sandbox) -> str:
    """An empty node on `zookeeper`: append it to zookeeper.zookeeper_connect."""
    path = f"/test-{uuid.uuid4().hex[:12]}"
    with session(zookeeper.zookeeper_connect) as client:
        client.create(path)
    return path


@pytest.fixture
def new_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Sandbox]]:
    """Call it with the parameters of Sandbox (without the directory); it ends with the test."""
    running = []

    def start(**parameters: Any) -> Sandbox:
        started = _started(tmp_path_factory, "own-sandbox", **parameters)
        running.append(started)
        return started.__enter__()

    yield start
    for started in reversed(running):
        started.__exit__(None, None, None)
