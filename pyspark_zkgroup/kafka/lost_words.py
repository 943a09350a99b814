"""Describes in words why a broker gave no answer. The description follows the broker's address."""

from __future__ import annotations

import errno
import os
import re

import kafka.errors

_REFUSED = "connection refused: nothing listens on this port"
_SILENT = "the host does not answer"
CLOSED = "the server closed the connection"
TLS_ENDED = "the server ended the TLS handshake, as a port without TLS does"
_FORBIDDEN = "a firewall or the operating system forbids the connection"
_TOO_MANY = "too many files and sockets are open (see ulimit -n)"
_WORDS = {
    errno.ECONNREFUSED: _REFUSED,
    errno.ETIMEDOUT: _SILENT,
    errno.EHOSTDOWN: _SILENT,
    errno.EHOSTUNREACH: "there is no route to this host",
    errno.ENETUNREACH: "the network of this host cannot be reached",
    errno.ENETDOWN: "the network is down",
    errno.ECONNRESET: CLOSED,
    errno.ECONNABORTED: CLOSED,
    errno.EPIPE: CLOSED,
    errno.ENOTCONN: CLOSED,
    errno.ESHUTDOWN: CLOSED,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EADDRNOTAVAIL: "this machine has no free local port or no address for the connection",
    errno.EAFNOSUPPORT: "this machine does not support the kind of address (IPv4 or IPv6)",
    errno.EMFILE: _TOO_MANY,
    errno.ENFILE: _TOO_MANY,
}
_PHRASES = {"socket disconnected": CLOSED, "Connection timed out": _SILENT}
# How kafka-python writes the number of a system error, and how Python does.
_NUMBER = re.compile(r"(?:\[Errno (\d+)\]|^(\d+) (?:E[A-Z0-9]+|UNKNOWN)$)")
_TIMEOUTS = (kafka.errors.KafkaTimeoutError, kafka.errors.RequestTimedOutError)


def words(error: BaseException, *, answer_bytes_max: int) -> str:
    if isinstance(error, kafka.errors.InvalidReceiveError):
        return (
            f"its answer is larger than the {answer_bytes_max} bytes that are taken; "
            "a larger fetch.message.max.bytes raises that"
        )
    if isinstance(error, _TIMEOUTS):
        return "no answer in time"
    said = str(error.args[0]) if error.args else ""
    if isinstance(error, kafka.errors.KafkaConnectionError):
        return _of_connection(said, error)
    name = type(error).__name__.removesuffix("Error")
    return f"{name}: {said}" if said else name


def _of_connection(said: str, error: BaseException) -> str:
    if "DNS" in said:
        return "the host name cannot be resolved (DNS)"
    cause = error.args[0] if error.args else None
    found = _NUMBER.search(said)
    if isinstance(cause, OSError) and cause.errno is not None:
        return _of_number(cause.errno)
    if found is not None:
        return _of_number(int(found[1] or found[2]))
    return _PHRASES.get(said, said) or "the connection closed"


def _of_number(number: int) -> str:
    if number in _WORDS:
        return _WORDS[number]
    if number not in errno.errorcode:
        return f"the connection failed (error {number})"
    return f"the connection failed: {os.strerror(number).lower()}"
