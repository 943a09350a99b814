"""Parses addresses: `host:port` lists, and ZooKeeper's with a chroot at the end.

Nothing is resolved here: the client that connects to a host finds out whether it exists.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

ZOOKEEPER_PORT = 2181
PORT_MAX = 65535

# Letters, digits, '-', '.' and '_' (container networks have host names with it).
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?")
_IPV6_ZONE = re.compile(r"[A-Za-z0-9._~-]+")
_PORT = re.compile(r"[0-9]{1,5}")
_ADDRESS = "host, host:port or [IPv6]:port"


@dataclass(frozen=True, slots=True)
class Address:
    """A server's host (IPv6 without its brackets) and port."""

    host: str
    port: int

    def __post_init__(self) -> None:
        if not self.host or not 0 < self.port <= PORT_MAX:
            raise ValueError(f"not an address: {self.host!r}, {self.port!r}")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ConnectString:
    """ZooKeeper servers of one ensemble, and the node below which the cluster's nodes live."""

    addresses: tuple[Address, ...]
    chroot: str

    def __post_init__(self) -> None:
        if not self.addresses:
            raise ValueError("a connect string needs a server")

    @property
    def hosts(self) -> str:
        return ",".join(map(str, self.addresses))

    def __str__(self) -> str:
        return self.hosts + self.chroot


def parse_connect_string(text: str) -> ConnectString:
    """`h1:2181,h2:2181/chroot`; ValueError says what is wrong with it."""
    if "://" in text:
        scheme = text.partition("://")[0]
        raise ValueError(f"starts with the scheme {scheme + '://'!r}")
    hosts, slash, path = text.partition("/")
    chroot = _chroot(path) if slash else ""
    return ConnectString(parse_addresses(hosts, default_port=ZOOKEEPER_PORT), chroot)


def parse_addresses(text: str, default_port: int | None = None) -> tuple[Address, ...]:
    """A comma separated list in its own order, each server once; blanks around a comma are cut."""
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise ValueError("names no server")
    if not all(parts):
        raise ValueError("has an empty entry between two commas or at an end")
    return tuple(dict.fromkeys(parse_address(part, default_port) for part in parts))


def parse_address(text: str, default_port: int | None = None) -> Address:
    if "://" in text:
        raise ValueError(f"has the address {text!r} with a scheme in front of it")
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or rest and not rest.startswith(":"):
            raise ValueError(f"has the address {text!r}, which is not {_ADDRESS}")
        _check_ipv6(host, text)
        colon, port = rest[:1], rest[1:]
    else:
        host, colon, port = text.partition(":")
        if ":" in port:
            raise ValueError(
                f"has the address {text!r} with more than one colon (an IPv6 address is written "
                "in brackets)"
            )
        if not _HOST.fullmatch(host):
            raise ValueError(f"has the address {text!r} without a legal host name")
    if not colon and default_port is not None:
        return Address(host, default_port)
    if not colon:
        raise ValueError(f"has the address {text!r} without a port")
    return Address(host, _port(port, text))


def _port(digits: str, text: str) -> int:
    # A pattern first: int() alone would also take signs, blanks and the digits of other scripts.
    if not _PORT.fullmatch(digits) or not 0 < int(digits) <= PORT_MAX:
        raise ValueError(f"has the address {text!r} with a port that is not from 1 to {PORT_MAX}")
    return int(digits)


def _check_ipv6(host: str, text: str) -> None:
    address, percent, zone = host.partition("%")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        raise ValueError(f"has the address {text!r} with no IPv6 address in brackets") from None
    if percent and not _IPV6_ZONE.fullmatch(zone):
        raise ValueError(f"has the address {text!r} with an unreadable zone")


def _chroot(path: str) -> str:
    """`kafka/` is `/kafka`, nothing is the root: both are what people mean by them."""
    if "," in path:
        raise ValueError(
            "has a chroot in front of a comma; the chroot follows the last server, once for all"
        )
    path = path.removesuffix("/")
    if not path:
        return ""
    for part in path.split("/"):
        if part in ("", ".", "..") or any(_unfit(character) for character in part):
            raise ValueError(f"has the chroot {'/' + path!r}, which is not a path of ZooKeeper")
    return "/" + path


def _unfit(character: str) -> bool:
    """What ZooKeeper's own path check refuses, and blanks, which are slips of the keyboard."""
    code = ord(character)
    return (
        code <= 0x20
        or 0x7F <= code <= 0x9F
        or 0xD800 <= code <= 0xF8FF
        or 0xFFF0 <= code <= 0xFFFF
        or character.isspace()
    )
