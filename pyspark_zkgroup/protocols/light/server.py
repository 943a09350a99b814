"""Listens to light members: one stream for each, whose messages another room answers.

A client that is not admitted is refused before any of its messages is read. A stream that sends
invalid messages, sends more than it may, or sends nothing in time ends alone. A stream whose client
does not read fills its own bounded queue, and ends too.
"""

from __future__ import annotations

import logging
import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import grpc

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.protocols.light.access import METHOD, add_port, caller_of, server_options
from pyspark_zkgroup.protocols.light.conversation import Greet, NotAdmittedError, Outbox, converse
from pyspark_zkgroup.protocols.light.refusal_log import RefusalLog
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.wire import BadMessageError, decode_from_member, encode
from pyspark_zkgroup.security.stream_access import StreamAccess

_HELLO_S = 10.0
# Streams whose client has not identified itself yet.
_UNHEARD_MAX = 64
# Connections beyond those of the members: of clients that are refused, or send nothing.
_CONNECTIONS_MORE = 512
_FILES_KEPT = 96
_SHOWN = 100
_STOP_S = 1.0
_log = logging.getLogger("pyspark_zkgroup.coordinator")


class Listener:
    """`greet` takes the first message and returns the object that takes the others; None if the
    stream ends after what is in the outbox.
    """

    def __init__(
        self,
        address: str,
        access: StreamAccess,
        greet: Greet,
        members_max: int,
    ) -> None:
        self.access = access
        self.greet = greet
        self.refusals = RefusalLog()
        self._unheard = threading.BoundedSemaphore(_UNHEARD_MAX)
        self._pool = ThreadPoolExecutor(members_max, thread_name_prefix="zkgroup-light")
        self._server = grpc.server(
            self._pool,
            options=server_options(_connections_max(members_max)),
            maximum_concurrent_rpcs=members_max,
        )
        handler = grpc.stream_stream_rpc_method_handler(self._stream)
        service, _, method = METHOD.strip("/").partition("/")
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {method: handler}),)
        )
        try:
            self.port = add_port(self._server, address, access)
        except (RuntimeError, ValueError) as error:
            self._pool.shutdown(wait=False)
            raise ServerError.of("cannot_listen", address=address, error=error) from error
        self._server.start()

    def close(self) -> None:
        self._server.stop(_STOP_S).wait(_STOP_S * 2)
        self._pool.shutdown(wait=False)

    def _stream(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        caller = caller_of(self.access, context.invocation_metadata(), context.auth_context())
        if caller is None:
            if self.refusals.may_say("no token of ours"):
                _log.warning(catalogue.warning("ZKG-168", peer=context.peer()))
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "not admitted")
            return
        if not self._unheard.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many come at once")
        outbox = Outbox()
        outbox.cancel = context.cancel
        reader = _Reader(requests, context, outbox, self, caller)
        threading.Thread(target=reader.run, name="zkgroup-light-reader", daemon=True).start()
        context.add_callback(outbox.close)
        for message in outbox.messages():
            yield encode(message)
        if reader.is_foreign:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "not admitted")
        if reader.bad:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, reader.bad)

    def heard(self) -> None:
        """One more client has identified itself."""
        self._unheard.release()


def _connections_max(members_max: int) -> int:
    """Return fewer than the limit on files: without a file for ZooKeeper its office would be
    lost.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = members_max + _CONNECTIONS_MORE
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - _FILES_KEPT))


class _Reader:
    """Takes what arrives on one stream. gRPC wakes it when the stream is over."""

    def __init__(
        self,
        requests: Iterator[bytes],
        context: Any,
        outbox: Outbox,
        listener: Listener,
        caller: Caller,
    ) -> None:
        self.requests = requests
        self.context = context
        self.outbox = outbox
        self.listener = listener
        self.caller = caller
        self.bad = ""
        self.is_foreign = False
        self._is_heard = False

    def run(self) -> None:
        # A client that opens a stream and sends nothing would keep its place permanently.
        silent = threading.Timer(_HELLO_S, self.outbox.close)
        silent.daemon = True
        silent.start()
        refusals = self.listener.refusals

        def begun() -> None:
            silent.cancel()
            self._heard()

        try:
            messages = map(decode_from_member, self.requests)
            converse(messages, self.outbox, self.listener.greet, self.caller, begun)
        except NotAdmittedError as error:
            self.is_foreign = True
            if refusals.may_say("token of another group"):
                _log.warning(
                    catalogue.warning(
                        "ZKG-194", peer=self.context.peer(), group=repr(str(error)[:_SHOWN])
                    )
                )
        except BadMessageError as error:
            self.bad = str(error)
            if refusals.may_say("no message"):
                _log.warning(catalogue.warning("ZKG-169", peer=self.context.peer(), error=error))
        except Exception as error:  # noqa: BLE001 - gRPC ends the iterator of a broken stream so
            if self.context.is_active():
                _log.exception(catalogue.warning("ZKG-170", peer=self.context.peer(), error=error))
        finally:
            silent.cancel()
            self._heard()
            self.outbox.close()

    def _heard(self) -> None:
        if not self._is_heard:
            self._is_heard = True
            self.listener.heard()
