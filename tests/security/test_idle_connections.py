"""Connections without a token cost a coordinator little, and not for long. Real servers."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import grpc
import pytest

from pyspark_zkgroup.protocols.light.access import open_channel
from pyspark_zkgroup.protocols.light.rules.messages import Accepted, Hello
from pyspark_zkgroup.security.stream_access import StreamAccess
from tests.harness.light import LightGroup
from tests.harness.planted_secrets import COORDINATOR_TOKEN
from tests.harness.talk import Talk, registering
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.ports import free_ports

PROGRAM = "from pyspark_zkgroup.cli.main import main; main()"
# Fewer than all of them take.
FILES = 200
IDLE = 200


@pytest.fixture
def address(sandbox: Sandbox, tmp_path: Path) -> Iterator[str]:
    """Of a coordinator that may have few files open."""
    token = tmp_path / "token"
    token.write_text(f"{COORDINATOR_TOKEN}\n")
    token.chmod(0o600)
    (port,) = free_ports(1)
    listen = f"127.0.0.1:{port}"
    given = ["--zookeeper", sandbox.kafka_zookeeper_connect, "--session-timeout-ms", "2000"]
    given += ["--listen", listen, "--token-file", str(token)]
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_NOFILE, ({FILES}, {FILES})); {PROGRAM}"
    process = subprocess.Popen([sys.executable, "-c", limited, "coordinator", *given])
    try:
        yield listen
    finally:
        process.terminate()
        process.wait(20)


def comes_in(address: str, hello: Hello) -> bool:
    with closing(Talk(address)) as one:
        try:
            return isinstance(one.ask(hello), Accepted)
        except grpc.RpcError:
            return False


def test_idle_connections_without_a_token_do_not_stop_an_honest_member(
    sandbox: Sandbox, address: str
) -> None:
    group = LightGroup(sandbox)
    hello = Hello(group.name, f"{group.name}_honest", "h" * 32, 5000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    host, _, port = address.rpartition(":")
    with ExitStack() as idle:
        idle.callback(group.close)
        idle.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        wait_until(lambda: comes_in(address, hello), 30, "the coordinator to be in office")
        inside = idle.enter_context(closing(Talk(address)))
        assert isinstance(inside.ask(hello), Accepted)
        for _ in range(IDLE // 2):
            idle.enter_context(socket.create_connection((host, int(port)), timeout=10))
        for _ in range(IDLE // 2):
            channel = open_channel(address, StreamAccess())
            idle.callback(channel.close)
            channel.subscribe(lambda _state: None, try_to_connect=True)
        another = Hello(group.name, f"{group.name}_another", "a" * 32, 5000)
        wait_until(lambda: comes_in(address, another), 40, "an honest member to come in")
        # And who was inside is served as before.
        topic = group.topic(1)
        assert type(inside.ask(registering(hello, topic))).__name__ == "Registered"
