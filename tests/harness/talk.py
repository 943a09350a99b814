"""A stream to a coordinator that says what no member says."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import grpc

from pyspark_zkgroup.group.balance import STICKY
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.protocols.light.access import METHOD, metadata, open_channel
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.messages import (
    Hello,
    Ping,
    Register,
    Tell,
    ToCoordinator,
    ToMember,
)
from pyspark_zkgroup.protocols.light.rules.wire import decode_from_coordinator, encode
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.stream_access import StreamAccess
from tests.harness.planted_secrets import COORDINATOR_TOKEN


class Talk:
    """`heard` has all that comes; `replies` what is neither a ping nor a command."""

    def __init__(self, address: str, access: StreamAccess | str = COORDINATOR_TOKEN) -> None:
        given = StreamAccess(Secret(access)) if isinstance(access, str) else access
        self.channel = open_channel(address, given)
        self.outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.call = self.channel.stream_stream(METHOD)(
            iter(self.outgoing.get, None), metadata=metadata(given)
        )
        self.heard = (decode_from_coordinator(data) for data in self.call)
        self.replies: Iterator[ToMember] = (m for m in self.heard if not isinstance(m, Ping | Tell))

    def say(self, message: ToCoordinator) -> None:
        self.outgoing.put(encode(message))

    def ask(self, message: ToCoordinator) -> ToMember:
        self.say(message)
        return next(self.replies)

    def ending(self) -> grpc.StatusCode:
        """How it ends, when it does."""
        try:
            for _ in self.heard:
                continue
            return self.call.code()
        except grpc.RpcError as error:
            return error.code()

    def close(self) -> None:
        self.outgoing.put(None)
        self.call.cancel()
        self.channel.close()


def registering(hello: Hello, topic: str, number: int = 1, *, static: bool = False) -> Register:
    shown = identity.shown(hello.group, hello.consumer, hello.incarnation)
    seat = LightSeat(shown, hello.timeout_ms)
    asks = Registration(Subscription.static({topic: 1}), "1", STICKY, static_id=static, light=seat)
    return Register(number, encode_registration(asks), static)


def talk(address: str, messages: list[bytes], token: str = COORDINATOR_TOKEN) -> grpc.StatusCode:
    """How the stream ends."""
    one = Talk(address, token)
    for message in messages:
        one.outgoing.put(message)
    try:
        return one.ending()
    finally:
        one.close()


def answers(address: str, messages: list[ToCoordinator], count: int) -> list[ToMember]:
    one = Talk(address)
    for message in messages:
        one.say(message)
    try:
        return [next(one.replies) for _ in range(count)]
    finally:
        one.close()
