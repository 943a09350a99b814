"""Ports are free, distinct and not of the range the kernel gives to outgoing connections."""

from __future__ import annotations

import socket

from zkgroup_sandbox.ports import EPHEMERAL_RANGE, LOOPBACK, can_listen, free_ports


def test_ports_are_free_and_distinct() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(can_listen(port) for port in ports)


def test_ports_to_avoid_are_avoided() -> None:
    first = frozenset(free_ports(50))
    assert not first & set(free_ports(50, avoid=first))


def test_ports_lie_below_the_ephemeral_range() -> None:
    if EPHEMERAL_RANGE.exists():
        low = int(EPHEMERAL_RANGE.read_text().split()[0])
        assert low < 5_000 or all(port < low for port in free_ports(100))


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        assert not can_listen(taken.getsockname()[1])
