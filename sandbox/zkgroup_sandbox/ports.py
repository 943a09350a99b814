"""Free ports on the loopback, chosen so that no other process takes one by accident."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError

LOOPBACK = "127.0.0.1"
FIRST, LAST = 20_000, 32_700
ATTEMPTS_MAX = 2_000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int, *, avoid: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """Return ports on which no process listens now.

    A process may take one before the server does: the caller starts it again with others.

    Ports of the kernel's ephemeral range are not used. A server of the sandbox is killed, its
    client reconnects in a loop, the kernel gives such an attempt the very port it connects to,
    the client is then connected to itself, and the server can never bind its port again.
    """
    taken: set[int] = set(avoid)
    ports: list[int] = []
    first, last = _range_outside_ephemeral()
    for _ in range(ATTEMPTS_MAX):
        if len(ports) == count:
            return tuple(ports)
        port = random.randint(first, last)
        if port not in taken and can_listen(port):
            taken.add(port)
            ports.append(port)
    raise SandboxError.of("no_free_ports", count=count, address=LOOPBACK, first=first, last=last)


def can_listen(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the JVM does: connections of a former server in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _range_outside_ephemeral() -> tuple[int, int]:
    try:
        low = int(EPHEMERAL_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return FIRST, LAST  # macOS and others start their ephemeral range far above
    if low - 1 - FIRST >= 1_000:
        return FIRST, min(LAST, low - 1)
    if low - 1 >= 3_000:
        return 2_000, low - 1
    return FIRST, LAST
