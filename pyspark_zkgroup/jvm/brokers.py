"""Where brokers listen, from what they register in ZooKeeper (any version from 0.8 to 3.9)."""

from __future__ import annotations

import json
import re

from pyspark_zkgroup.errors import BadZnodeError

_ENDPOINT_LENGTH_MAX = 1000
_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,9})")


def parse_broker(path: str, data: bytes | None, protocol: str = "PLAINTEXT") -> str | None:
    """The broker's first address for that protocol as host:port; None where it has none."""
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise _bad(path, data) from error
    if not isinstance(value, dict):
        raise _bad(path, data)
    protocols = value.get("listener_security_protocol_map") or {}
    endpoints = value.get("endpoints") or []
    if not isinstance(protocols, dict) or not isinstance(endpoints, list):
        raise _bad(path, data)
    for endpoint in endpoints:
        known = isinstance(endpoint, str) and len(endpoint) <= _ENDPOINT_LENGTH_MAX
        match = _ENDPOINT.fullmatch(endpoint) if known else None
        if match and protocols.get(match[1], match[1]) == protocol:
            return _address(match[2], int(match[3]))
    host, port = value.get("host"), value.get("port")
    if protocol != "PLAINTEXT":
        return None
    if isinstance(host, str) and isinstance(port, int) and port > 0:
        return _address(host, port)
    return None


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bad(path: str, data: bytes | None) -> BadZnodeError:
    return BadZnodeError.of("broker_node", path=path, data=(data or b"")[:200])
