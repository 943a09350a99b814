"""TLS and SASL below kazoo: a socket of our own making, and what its log must not show.

kazoo's own TLS does not verify a server's certificate unless it is configured to, takes
certificates from files alone, and sleeps on an answer that came in one TLS record with another:
what has been decrypted already makes no socket readable.
"""

from __future__ import annotations

import importlib.util
import logging
import socket
import ssl
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import SASL, Auth

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.security.sasl import Kerberos, Password
from pyspark_zkgroup.security.tls import Tls, context
from pyspark_zkgroup.security.zookeeper_security import ZooKeeperSecurity

_SERVICE = "zookeeper"


class TlsHandler(SequentialThreadingHandler):  # type: ignore[misc]
    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self._context = context(tls)

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **_: Any
    ) -> ssl.SSLSocket:
        """`hostname` is the name that was asked for: the certificate must be for it."""
        made = socket.create_connection(address, timeout)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._context.wrap_socket(made, server_hostname=hostname)

    def select(self, *args: Any, **kwargs: Any) -> Any:
        readers, writers, troubled, *timeout = args
        ready = [r for r in readers if isinstance(r, ssl.SSLSocket) and r.pending()]
        if not ready:
            return super().select(*args, **kwargs)
        others, *rest = super().select(
            [r for r in readers if r not in ready], writers, troubled, *([0.0] if timeout else [])
        )
        return (ready + list(others), *rest)


class WithoutLogins(logging.Filter):
    """At the level DEBUG kazoo logs each request, and so those that log in."""

    def filter(self, record: logging.LogRecord) -> bool:
        args = record.args if isinstance(record.args, tuple) else (record.args,)
        return not any(isinstance(arg, (Auth, SASL)) for arg in args)


def sasl_options(security: ZooKeeperSecurity) -> dict[str, str] | None:
    """For kazoo; AccessError where a package is missing that it needs."""
    login = security.login
    if login is None:
        return None
    _need("puresasl", "pure-sasl", security.mechanism)
    if isinstance(login, Kerberos):
        _need("kerberos", "kerberos", security.mechanism)
        return {"mechanism": "GSSAPI", "service": login.service}
    assert isinstance(login, Password)
    return {
        "mechanism": "DIGEST-MD5",
        "service": _SERVICE,
        "username": login.username,
        "password": login.password.text,
    }


def _need(module: str, package: str, mechanism: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise AccessError.of("package_missing", mechanism=mechanism, package=package)
