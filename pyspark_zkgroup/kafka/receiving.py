"""Answers of brokers, received whole: each straight into the bytes that are then decoded.

kafka-python reads a socket in pieces of 4 KiB and copies each byte five more times before a fetch
has its records: more work than decoding them. So its connections are given another transport and
another parser here. What they are built on is its inside; tests/contract/test_kafka_python.py fails
when that changes. All requests but fetches are still taken apart by kafka-python itself.
"""

from __future__ import annotations

import ssl
import time
from io import BytesIO
from typing import Any

import kafka.errors
from kafka.net.connection import KafkaConnection
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.parser import KafkaProtocol

from pyspark_zkgroup.kafka import auth, fetch_response
from pyspark_zkgroup.kafka.lost_words import TLS_ENDED
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.sasl import Sasl
from pyspark_zkgroup.security.tls_failure import failure_of

_SIZE_BYTES = 4
_CORRELATION_ID_BYTES = 4
_NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Frame:
    """One answer on its way in: its length, then so many bytes."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._head = bytearray(_SIZE_BYTES)
        self._body: BytesIO | None = None
        self._view = memoryview(self._head)
        self._at = 0
        self._is_first = True

    @property
    def missing(self) -> memoryview:
        """Where the next bytes belong."""
        return self._view[self._at :]

    def received(self, count: int) -> bytes | None:
        """The whole answer without its length, if these bytes were its last."""
        self._at += count
        if self._at < len(self._view):
            return None
        if self._body is None:
            self._begin(int.from_bytes(self._head, "big", signed=True))
            self._is_first = False
            return None
        self._view.release()
        # The very bytes that were received into: BytesIO hands out what it holds.
        whole = self._body.getvalue()
        self._body, self._view, self._at = None, memoryview(self._head), 0
        return whole

    def _begin(self, size: int) -> None:
        refusal = auth.speaks_tls(bytes(self._head)) if self._is_first else None
        if refusal is not None:
            raise refusal
        if not _CORRELATION_ID_BYTES <= size <= self._size_max:
            raise kafka.errors.InvalidReceiveError(f"Invalid frame length: {size}")
        self._body = BytesIO()
        self._body.seek(size - 1)
        self._body.write(b"\0")
        self._view, self._at = self._body.getbuffer(), 0


class _Transport(KafkaTCPTransport):  # type: ignore[misc]
    """`_frame` is given to it when it is made."""

    _frame: Frame

    async def _read_from_sock(self) -> None:
        while self._read and not self._closed:
            await self._net.wait_read(self._sock)
            try:
                self._receive()
            except kafka.errors.KafkaError as error:
                self.abort(error=error)
            except OSError as error:
                lasting = auth.tls_refusal(error)
                self.abort(error=lasting or kafka.errors.KafkaConnectionError(error))

    def _receive(self) -> None:
        """All that has arrived.

        A broker that refuses a login answers, and closes the connection. Both are here at once; the
        end, seen before the answer was acted upon, would take its place. So it is left to the next
        round, in which it is still there.
        """
        has_answer = False
        while self._read and not self._closed:
            try:
                count = self._sock.recv_into(self._frame.missing)
            except _NOT_NOW:
                return
            except OSError:
                if has_answer:
                    return
                raise
            if count == 0 and has_answer:
                return
            if count == 0:
                raise kafka.errors.KafkaConnectionError("socket disconnected")
            self.last_read = time.monotonic()
            whole = self._frame.received(count)
            if whole is not None:
                has_answer = True
                self._protocol.data_received(whole)

    def write(self, data: bytes) -> None:
        """At once if the socket takes it: a fetch is in flight when its sender continues."""
        sent = 0
        if self._sock is not None and not self._writing and not self._closed:
            try:
                sent = self._sock.send(data)
            except _NOT_NOW:
                sent = 0
            except OSError as error:
                self.abort(error=kafka.errors.KafkaConnectionError(error))
                return
        if sent < len(data):
            super().write(memoryview(data)[sent:])


class _TlsTransport(_Transport, KafkaSSLTransport):  # type: ignore[misc]
    """What is received is decrypted into its place. OpenSSL hands out one record of TLS, of 16 KiB
    at most, at a time; `_receive` continues until it has no more, so that nothing is left inside it
    when the socket is waited for.
    """

    async def shake_hands(self, timeout_at: float | None) -> None:
        while True:
            try:
                self._sock.do_handshake()
                return
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at=timeout_at)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at=timeout_at)
            except OSError as error:
                failure = failure_of(error)
                has_ended = failure is not None and failure.kind == "ended"
                has_ended |= isinstance(error, ConnectionError)
                raise auth.tls_refusal(error) or kafka.errors.KafkaConnectionError(
                    TLS_ENDED if has_ended else f"the TLS handshake failed: {error}"
                ) from None


class _Parser(KafkaProtocol):  # type: ignore[misc]
    def receive_bytes(self, data: bytes) -> list[tuple[int, Any]]:
        """`data` is one whole answer."""
        header = self.in_flight_requests[0] if self.in_flight_requests else None
        if header is None or not _is_plain_fetch(header):
            buffer = KafkaBytes(len(data))
            buffer.write(data)
            buffer.seek(0)
            return [self._process_response(buffer)]
        self.in_flight_requests.popleft()
        correlation_id = int.from_bytes(data[:_CORRELATION_ID_BYTES], "big", signed=True)
        if correlation_id != header.correlation_id:
            raise kafka.errors.CorrelationIdError(
                f"Correlation IDs do not match: sent {header.correlation_id}, recv {correlation_id}"
            )
        body = memoryview(data)[_CORRELATION_ID_BYTES:]
        try:
            answer = fetch_response.parse(body, header.request_api_version)
        except fetch_response.ResponseError as error:
            raise kafka.errors.KafkaProtocolError(f"no answer to a fetch: {error}") from error
        return [(correlation_id, answer)]


def _is_plain_fetch(header: Any) -> bool:
    key, version = header.request_api_key, header.request_api_version
    return bool(key == fetch_response.API_KEY and version <= fetch_response.VERSION_MAX)


class _Connection(KafkaConnection):  # type: ignore[misc]
    sasl: Sasl | None = None

    async def _sasl_authenticate(self, timeout_at: float | None = None) -> None:
        assert self.sasl is not None
        with auth.LoginUnderWay():
            try:
                await super()._sasl_authenticate(timeout_at)
            except Exception as error:  # noqa: BLE001 - what a mechanism raises is not its own kind
                raise auth.login_refusal(error, self.sasl) from None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.parser = _Parser(client_id=self.config["client_id"], ident=f"node={self.node_id}")


class Connections(KafkaConnectionManager):  # type: ignore[misc]
    """Makes connections that receive answers whole."""

    def __init__(self, net: Any, security: KafkaSecurity, **settings: Any) -> None:
        super().__init__(net, **settings, **auth.settings(security))
        self._sasl = security.sasl

    def get_connection(self, node_id: Any, timeout_ms: float, **_: Any) -> Any:
        """The one there is, or a new one, which connects within the time given."""
        self.maybe_raise_auth_failure(node_id)
        if self.connection_delay(node_id) > 0:
            raise kafka.errors.NodeNotReadyError(node_id)
        if node_id in self._conns:
            return self._conns[node_id]
        node = self.cluster.broker_metadata(node_id)
        if node is None:
            raise kafka.errors.UnknownBrokerIdError(node_id)
        made = _Connection(
            self._net,
            node_id=node_id,
            broker_version_data=self.broker_version_data,
            **self.config,
        )
        made.sasl = self._sasl
        made.close_future.add_both(lambda _: self._conns.pop(node_id, None))
        self._conns[node_id] = made
        timeout_at = time.monotonic() + timeout_ms / 1000
        self._net.call_soon(lambda: self._connect(node, made, timeout_at=timeout_at))
        return made

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        socket = await create_connection(
            self._net,
            node.host,
            node.port,
            self.config["socket_options"],
            proxy_url=self.config["proxy_url"],
            timeout_at=timeout_at,
        )
        if not self.ssl_enabled:
            return self._receiving(_Transport(self._net, socket, host=node.host))
        tls = self.config["ssl_context"]
        made = self._receiving(_TlsTransport(self._net, socket, host=node.host, ssl_context=tls))
        try:
            await made.shake_hands(timeout_at)
        except BaseException:
            made.close()
            raise
        return made

    def _receiving(self, made: _Transport) -> Any:
        made._frame = Frame(self.config["receive_message_max_bytes"])
        return made
