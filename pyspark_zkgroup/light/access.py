"""The two ends of a stream in gRPC's words: ports, certificates, and the token in the metadata."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Any

import grpc

from pyspark_zkgroup.group.light.wire import MESSAGE_BYTES_MAX
from pyspark_zkgroup.security.stream_access import StreamAccess

METHOD = "/zkgroup.Light/Stream"
TOKEN = "zkgroup-token"
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.enable_http_proxy", 0),
]


def open_channel(address: str, access: StreamAccess) -> grpc.Channel:
    # Reconnecting is the search's business, which begins anew each time.
    options = [*_OPTIONS, ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
    if not access.tls:
        return grpc.insecure_channel(address, options)
    credentials = grpc.ssl_channel_credentials(
        access.authorities.encode() or None,
        access.key.text.encode() or None,
        access.certificates.encode() or None,
    )
    return grpc.secure_channel(address, credentials, options)


def add_port(server: grpc.Server, address: str, access: StreamAccess) -> int:
    """The port that was taken; 0 where none could be."""
    if not access.tls:
        return int(server.add_insecure_port(address))
    pair = (access.key.text.encode(), access.certificates.encode())
    credentials = grpc.ssl_server_credentials(
        [pair],
        access.authorities.encode() or None,
        require_client_auth=bool(access.authorities),
    )
    return int(server.add_secure_port(address, credentials))


def server_options() -> list[tuple[str, Any]]:
    return [*_OPTIONS, ("grpc.so_reuseport", 0)]


def metadata(access: StreamAccess) -> list[tuple[str, bytes | str]]:
    """Metadata is ASCII; a token need not be."""
    token = access.token.text
    return [(f"{TOKEN}-bin", token.encode())] if token else []


def is_let_in(access: StreamAccess, given: Iterable[Any]) -> bool:
    wanted = access.token.text.encode()
    found = b"".join(value for key, value in given if key == f"{TOKEN}-bin")
    return not wanted or hmac.compare_digest(wanted, found)
