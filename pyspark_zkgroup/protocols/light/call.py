"""A stream as a gRPC call, in threads of gRPC and one of ours."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import grpc

from pyspark_zkgroup.protocols.light.access import METHOD, metadata, open_channel
from pyspark_zkgroup.protocols.light.rules.messages import ToCoordinator
from pyspark_zkgroup.protocols.light.rules.wire import (
    BadMessageError,
    decode_from_coordinator,
    encode,
)
from pyspark_zkgroup.protocols.light.stream import Inbox, NotLetInError
from pyspark_zkgroup.security.stream_access import StreamAccess


class Call:
    def __init__(self, address: str, access: StreamAccess, inbox: Inbox) -> None:
        self._outgoing: queue.SimpleQueue[ToCoordinator | None] = queue.SimpleQueue()
        self._channel = open_channel(address, access)
        opened = self._channel.stream_stream(METHOD)
        self._call = opened(_sent(self._outgoing), metadata=metadata(access))
        threading.Thread(target=_receive, args=(self._call, inbox), daemon=True).start()

    def send(self, message: ToCoordinator) -> None:
        self._outgoing.put(message)

    def finish(self) -> None:
        self._outgoing.put(None)

    def close(self) -> None:
        self.finish()
        self._call.cancel()
        self._channel.close()


def _sent(outgoing: queue.SimpleQueue[ToCoordinator | None]) -> Iterator[bytes]:
    """Yield what gRPC sends, in one of its threads; ends with the stream."""
    while (message := outgoing.get()) is not None:
        yield encode(message)


def _receive(call: Any, inbox: Inbox) -> None:
    try:
        for data in call:
            inbox.put(decode_from_coordinator(data))
        inbox.put(ConnectionError("the stream was closed"))
    except grpc.RpcError as error:
        inbox.put(_told(error))
    except BadMessageError as error:
        inbox.put(error)
    finally:
        call.cancel()


def _told(error: grpc.RpcError) -> Exception:
    if not isinstance(error, grpc.Call):
        return ConnectionError(str(error))
    text = f"{error.details() or error.code()}"
    if error.code() is grpc.StatusCode.UNAUTHENTICATED:
        return NotLetInError(text)
    if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
        return ConnectionError(
            "the coordinator does not understand this member; both have to run the same release "
            f"({text})"
        )
    return ConnectionError(text)
