from __future__ import annotations

import pytest

from pyspark_zkgroup.connect_string import (
    Address,
    ConnectString,
    parse_address,
    parse_addresses,
    parse_connect_string,
)

COMMA = "has a chroot in front of a comma; the chroot follows the last server, once for all"
COLONS = "with more than one colon (an IPv6 address is written in brackets)"
PORT = "with a port that is not from 1 to 65535"


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("zk1", "zk1:2181", ""),
        ("zk1:2182", "zk1:2182", ""),
        ("zk1,zk2:2182,zk3", "zk1:2181,zk2:2182,zk3:2181", ""),
        (" zk1 , zk2 ", "zk1:2181,zk2:2181", ""),
        ("zk1,zk1:2181,zk2", "zk1:2181,zk2:2181", ""),
        ("zk1:2181/", "zk1:2181", ""),
        ("zk1/kafka", "zk1:2181", "/kafka"),
        ("zk1/kafka/", "zk1:2181", "/kafka"),
        ("zk1/a/b.c/..d", "zk1:2181", "/a/b.c/..d"),
        ("127.0.0.1:1/é", "127.0.0.1:1", "/é"),
        ("[::1]", "[::1]:2181", ""),
        ("[::1]:65535,[fe80::1%eth0]:1/x", "[::1]:65535,[fe80::1%eth0]:1", "/x"),
        ("my_zk-1.example.org.:2181", "my_zk-1.example.org.:2181", ""),
    ],
)
def test_what_is_read(text: str, hosts: str, chroot: str) -> None:
    found = parse_connect_string(text)
    assert (found.hosts, found.chroot) == (hosts, chroot)
    assert parse_connect_string(str(found)) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no server"),
        ("/kafka", "names no server"),
        (" , ", "names no server"),
        ("zk1,", "has an empty entry between two commas or at an end"),
        ("zk1,,zk2", "has an empty entry between two commas or at an end"),
        ("zk1/a,zk2/a", COMMA),
        ("zookeeper://zk1:2181/a", "starts with the scheme 'zookeeper://'"),
        ("zk1//a", "has the chroot '//a', which is not a path of ZooKeeper"),
        ("zk1/a//b", "has the chroot '/a//b', which is not a path of ZooKeeper"),
        ("zk1/a/../b", "has the chroot '/a/../b', which is not a path of ZooKeeper"),
        ("zk1/a b", "has the chroot '/a b', which is not a path of ZooKeeper"),
        ("zk1/a\0", "has the chroot '/a\\x00', which is not a path of ZooKeeper"),
        ("zk1:", f"has the address 'zk1:' {PORT}"),
        ("zk1:0", f"has the address 'zk1:0' {PORT}"),
        ("zk1:65536", f"has the address 'zk1:65536' {PORT}"),
        ("zk1:-1", f"has the address 'zk1:-1' {PORT}"),
        ("zk1:2181x", f"has the address 'zk1:2181x' {PORT}"),
        ("zk1:\u0662", f"has the address 'zk1:\u0662' {PORT}"),
        ("zk1:" + "9" * 5000, f"has the address 'zk1:{'9' * 5000}' {PORT}"),
        (":2181", "has the address ':2181' without a legal host name"),
        ("a b:1", "has the address 'a b:1' without a legal host name"),
        ("-a:1", "has the address '-a:1' without a legal host name"),
        ("::1:2181", f"has the address '::1:2181' {COLONS}"),
        ("[::1", "has the address '[::1', which is not host, host:port or [IPv6]:port"),
        ("[::1]2181", "has the address '[::1]2181', which is not host, host:port or [IPv6]:port"),
        ("[zk1]:2181", "has the address '[zk1]:2181' with no IPv6 address in brackets"),
        ("[127.0.0.1]:1", "has the address '[127.0.0.1]:1' with no IPv6 address in brackets"),
        ("[fe80::1%a b]:1", "has the address '[fe80::1%a b]:1' with an unreadable zone"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_connect_string(text)
    assert f"{caught.value}" == why


def test_a_port_must_be_given_where_there_is_no_usual_one() -> None:
    assert parse_addresses("k1:1,[::1]:2") == (Address("k1", 1), Address("::1", 2))
    with pytest.raises(ValueError, match="has the address 'k1' without a port"):
        parse_addresses("k1")
    with pytest.raises(ValueError, match="with a scheme in front of it"):
        parse_address("PLAINTEXT://k1:9092")


def test_values_are_checked_when_they_are_built() -> None:
    with pytest.raises(ValueError, match="not an address"):
        Address("zk1", 0)
    with pytest.raises(ValueError, match="needs a server"):
        ConnectString((), "")
