"""The gRPC settings of both ends of a stream: ports, certificates, the token in the metadata."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import grpc

from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.wire import MESSAGE_BYTES_MAX
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.stream_access import StreamAccess

METHOD = "/zkgroup.Light/Stream"
TOKEN = "zkgroup-token"
_STREAMS_MAX = 4
_METADATA_BYTES_MAX = 16 * 1024
_HANDSHAKE_MS = 5_000
_IDLE_MS = 10_000
_KEEPALIVE_MS = 30_000
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.enable_http_proxy", 0),
]


def open_channel(address: str, access: StreamAccess) -> grpc.Channel:
    # gRPC must not reconnect: the search does, each time with a new channel.
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
    """Return the port that was taken; 0 if none was available."""
    if not access.tls:
        return int(server.add_insecure_port(address))
    pair = (access.key.text.encode(), access.certificates.encode())
    credentials = grpc.ssl_server_credentials(
        [pair],
        access.authorities.encode() or None,
        require_client_auth=bool(access.authorities),
    )
    return int(server.add_secure_port(address, credentials))


def server_options(connections_max: int) -> list[tuple[str, Any]]:
    """Close connections on which nothing arrives.

    A connection uses a file descriptor, and a client can open one without a token. A member has one
    connection, with one stream.
    """
    return [
        *_OPTIONS,
        ("grpc.so_reuseport", 0),
        ("grpc.max_concurrent_streams", _STREAMS_MAX),
        ("grpc.max_metadata_size", _METADATA_BYTES_MAX),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _IDLE_MS),
        ("grpc.max_allowed_incoming_connections", connections_max),
    ]


def metadata(access: StreamAccess) -> list[tuple[str, bytes | str]]:
    """Return the metadata of a stream. Metadata is ASCII; a token need not be."""
    token = access.token.text
    return [(f"{TOKEN}-bin", token.encode())] if token else []


def caller_of(
    access: StreamAccess, given: Iterable[Any], shown: Mapping[str, Iterable[bytes]]
) -> Caller | None:
    """Return the caller, by the metadata and certificate of its stream; None if it is not admitted.

    All tokens are compared, in a time that does not depend on them.
    """
    subject = b",".join(shown.get("x509_subject", ())).decode("utf-8", "replace")
    if not access.token.text and not access.group_tokens:
        return Caller(subject=subject)
    found = b"".join(value for key, value in given if key == f"{TOKEN}-bin")
    for_all = bool(access.token.text) & _is_same(access.token, found)
    groups = frozenset(
        group
        for group, tokens in access.group_tokens.items()
        if sum(_is_same(token, found) for token in tokens)
    )
    if not for_all and not groups:
        return None
    return Caller(groups, frozenset(access.group_tokens) if for_all else None, subject)


def _is_same(token: Secret, found: bytes) -> bool:
    return hmac.compare_digest(token.text.encode(), found)
