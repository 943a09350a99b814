"""Connections to the brokers of one cluster, driven on the caller's thread, idle without work.

Only this file and receiving.py know kafka-python's KafkaConnectionManager and its selector; wire.py
has the requests. A Cluster belongs to one thread at a time and to the process that made it. It asks
for metadata only on request: kafka-python's bootstrap and refresh loop are never started.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import kafka
import kafka.errors
from kafka.net.selector import NetworkSelector

from pyspark_zkgroup import libraries
from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.clock import SYSTEM, Clock
from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.kafka.leader_cache import Leaders
from pyspark_zkgroup.kafka.losses import Losses, Lost
from pyspark_zkgroup.kafka.receiving import Connections
from pyspark_zkgroup.kafka.record_sizes import RecordSizes
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.kafka.signals import HeldSignals
from pyspark_zkgroup.model import TopicPartition

Request = Any
Response = Any

_FRAME_OVERHEAD_BYTES = 1024 * 1024  # what surrounds the records of one answer, generously
_ATTEMPT_S_MIN = 1.0
_GRACE_MS = 100.0
_CLOSING_ROUNDS = 5
_ROUND_MS = 1000.0  # the loop ends its rounds earlier when anything happens
_NO_TIMER_MS = 24 * 3600 * 1000.0


class Call:
    """A request under way to one broker. Its answer comes in whenever the cluster is given time."""

    def __init__(self, node: int, timeout_s: float) -> None:
        self.node = node
        self.left_s = timeout_s
        """Only waiting counts: what came while its owner was busy elsewhere is not late."""
        self.connection: Any = None
        self.future: Any = None
        self.late: Lost | None = None

    @property
    def is_done(self) -> bool:
        return self.late is not None or bool(self.future.is_done)

    @property
    def answer(self) -> Response | Lost:
        if self.late is not None:
            return self.late
        if self.future.exception is not None:
            raise self.future.exception
        return self.future.value


def _connecting(settings: FetchSettings) -> dict[str, Any]:
    """The connection manager's own settings, by its names."""
    client = settings.client
    options = [
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    ]
    if client.send_buffer_bytes is not None:
        options.append((socket.SOL_SOCKET, socket.SO_SNDBUF, client.send_buffer_bytes))
    if client.receive_buffer_bytes is not None:
        options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, client.receive_buffer_bytes))
    return {
        "socket_options": options,
        "client_dns_lookup": client.dns_lookup,
        "connections_max_idle_ms": client.idle_max_ms,
        "reconnect_backoff_ms": client.reconnect_backoff_ms,
        "reconnect_backoff_max_ms": max(
            client.reconnect_backoff_ms, client.reconnect_backoff_max_ms
        ),
        "socket_connection_setup_timeout_ms": (
            settings.request_timeout_ms
            if client.connect_timeout_ms is None
            else client.connect_timeout_ms
        ),
    }


class Cluster:
    """Opens nothing until it is asked something; opens again whatever was closed."""

    def __init__(
        self,
        settings: FetchSettings,
        *,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        broker_version: tuple[int, ...] | None = None,
    ) -> None:
        """`broker_version` holds the protocol down to what a broker of that version spoke."""
        libraries.check("kafka-python", kafka.__version__)
        if not settings.bootstrap:
            raise ValueError("no broker is named in bootstrap")
        self.settings = settings
        self.clock = clock
        self.requests = 0
        self.leaders = Leaders()
        self.near_replicas: dict[TopicPartition, tuple[int, float]] = {}
        self.sizes = RecordSizes()
        self._rng = rng or Random()
        self.answered: int | str | None = None
        self._losses = Losses(settings, self._address)
        self._net = NetworkSelector(
            client_id=settings.client_id,
            slow_task_threshold_secs=0,  # decoding an answer of 16 MiB is no accident
        )
        self._manager = Connections(
            self._net,
            settings.security,
            bootstrap_servers=list(settings.bootstrap),
            client_id=settings.client_id,
            request_timeout_ms=settings.request_timeout_ms,
            receive_message_max_bytes=settings.record_batch_bytes_max + _FRAME_OVERHEAD_BYTES,
            api_version=broker_version,
            **_connecting(settings),
        )

    def ask(
        self,
        build: Callable[[], Request],
        *,
        timeout_s: float,
        last: Collection[int] = (),
        is_answer: Callable[[Response], bool] = lambda _: True,
    ) -> Response:
        """The first answer that any broker gives; those in `last` are asked after all others.
        ServerError names the addresses when none does in time.
        """
        deadline = self.clock.monotonic() + timeout_s
        waits = self.pauses()
        while True:
            nodes = sorted(self._candidates(), key=last.__contains__)
            refusal: AccessError | None = None
            for tried, node in enumerate(nodes):
                left = deadline - self.clock.monotonic()
                if left <= 0:
                    break
                # One that swallows packets must not use up the time of those that would answer, nor
                # keep us from it when it continues.
                share = min(left / (len(nodes) - tried), self.settings.request_timeout_ms / 1000)
                share = max(share, min(left, _ATTEMPT_S_MIN))
                answer = self._run(self._send, node, build(), share)
                if not isinstance(answer, Lost):
                    if not is_answer(answer):
                        self._losses.add(node, "it knows no brokers yet")
                        continue
                    self.answered = node
                    return answer
                if not answer.retryable and answer.refusal is None:
                    raise self._losses.unreachable(timeout_s, self.addresses)
                # Of one broker's certificate the others know nothing: they are asked once.
                refusal = refusal or answer.refusal
            if refusal is not None:
                raise refusal
            left = deadline - self.clock.monotonic()
            if left <= 0:
                raise self._losses.unreachable(timeout_s, self.addresses)
            self.wait(min(next(waits), left))

    def ask_each(
        self, requests: Mapping[int, Request], *, timeout_s: float
    ) -> dict[int, Response | Lost]:
        """Send one request to each broker, all at the same time; a lost answer is a Lost."""
        answers: dict[int, Response | Lost] = self._run(self._send_all, requests, timeout_s)
        for node, answer in answers.items():
            if not isinstance(answer, Lost):
                self.answered = node
        return answers

    def start(self, node: int, request: Request, *, timeout_s: float) -> Call:
        """Returns when the request is written, or at once where there is no connection yet."""
        call = Call(node, timeout_s)
        with HeldSignals(self._net.wakeup):
            self._net.poll(timeout_ms=0)
            call.future = self._manager.call_soon(self._send_call, call, request)
            self._net.poll(timeout_ms=0)
        return call

    def first(self, calls: Sequence[Call], *, timeout_s: float) -> Call | None:
        """The first of them that has its answer; None if none has within the time."""
        left_s = min(timeout_s, min(call.left_s for call in calls))
        began = self.clock.monotonic()
        with HeldSignals(self._net.wakeup) as signals:
            self._net.poll(timeout_ms=0)
            while not any(call.is_done for call in calls):
                round_s = left_s - (self.clock.monotonic() - began)
                if round_s <= 0:
                    break
                self._net.poll(timeout_ms=min(round_s * 1000, _ROUND_MS))
                signals.deliver()
        waited_s = self.clock.monotonic() - began
        for call in calls:
            call.left_s -= waited_s
            if call.left_s <= 0 and not call.is_done:
                self._give_up(call)
        return next((call for call in calls if call.is_done), None)

    def take_in(self) -> None:
        """What has arrived leaves the sockets, so that the brokers can send on."""
        with HeldSignals(self._net.wakeup):
            self._net.poll(timeout_ms=0)

    def abandon(self, calls: Iterable[Call]) -> None:
        """Close the connections that owe an answer which is no longer wanted."""
        if self._manager.closed:
            return
        for call in calls:
            if not call.is_done and call.connection is not None:
                call.connection.close()
        self.take_in()

    def learn(self, response: Response) -> None:
        """Takes the brokers' addresses from an answer to a metadata request."""
        self._manager.cluster.update_metadata(response)
        for broker in self._manager.cluster.bootstrap_brokers():
            self._losses.forget(broker.node_id)
            self._manager.close(broker.node_id)

    @property
    def answered_from(self) -> str:
        return "" if self.answered is None else self._address(self.answered)

    def knows(self, node: int) -> bool:
        return self._manager.cluster.broker_metadata(node) is not None

    def pauses(self) -> Iterator[float]:
        """Before a broker is asked again, and again."""
        client = self.settings.client
        first_s, most_s = client.retry_backoff_ms / 1000, client.retry_backoff_max_ms / 1000
        return delays(self._rng, first_s=first_s, most_s=max(first_s, most_s))

    def wait(self, seconds: float) -> None:
        """Lets time pass and looks after the connections: a broker's throttling ends in it."""
        self._run(self._pause, seconds)

    def close(self) -> None:
        """Closes every connection; no answer is waited for. May be called again."""
        if self._manager.closed:
            return
        self._manager.close()
        # A connection with a request that is not written yet closes when it has been.
        for _ in range(_CLOSING_ROUNDS):
            self._net.poll(timeout_ms=0)
        self._net.close()

    @property
    def addresses(self) -> tuple[str, ...]:
        known = tuple(f"{b.host}:{b.port}" for b in self._manager.cluster.brokers())
        return known + tuple(s for s in self.settings.bootstrap if s not in known)

    def _candidates(self) -> list[int | str]:
        """The broker that answered last, the other known ones in any order, those configured."""
        cluster = self._manager.cluster
        known = [b.node_id for b in cluster.brokers()]
        self._rng.shuffle(known)
        known.sort(key=lambda node: node != self.answered)
        return known + [b.node_id for b in cluster.bootstrap_brokers()]

    def _run(self, coroutine: Callable[..., Any], *args: Any) -> Any:
        # What happened to the sockets since the last call is seen first. Without this, a request
        # after a long pause would be written to a connection that its broker closed meanwhile, and
        # be lost.
        with HeldSignals(self._net.wakeup) as signals:
            self._net.poll(timeout_ms=0)
            future = self._manager.call_soon(coroutine, *args)
            while not future.is_done:
                self._net.poll(timeout_ms=_ROUND_MS)
                signals.deliver()
        if future.exception is not None:
            raise future.exception
        return future.value

    async def _send(self, node: int | str, request: Request, timeout_s: float) -> Response | Lost:
        timeout_ms = timeout_s * 1000
        try:
            connection = self._manager.get_connection(node, timeout_ms=timeout_ms)
            self.requests += 1
            sent = connection.send_request(request, request_timeout_ms=timeout_ms)
            # The request's own timer closes the connection. This one, a little later, is for a
            # request that is still waiting for its connection, whose timer does not run yet.
            answer = await self._manager.wait_for(sent, timeout_ms + _GRACE_MS)
        except kafka.errors.KafkaError as error:
            return self._losses.of(node, error, is_brief=timeout_s < _ATTEMPT_S_MIN)
        self._losses.forget(node)
        return answer

    async def _send_call(self, call: Call, request: Request) -> Response | Lost:
        """Without timers of kafka-python's: those run on while the caller is busy elsewhere."""
        node = call.node
        try:
            call.connection = self._manager.get_connection(node, timeout_ms=call.left_s * 1000)
            self.requests += 1
            answer = await call.connection.send_request(request, request_timeout_ms=_NO_TIMER_MS)
        except kafka.errors.KafkaError as error:
            return self._losses.of(node, error)
        self._losses.forget(node)
        return answer

    def _give_up(self, call: Call) -> None:
        error = kafka.errors.KafkaTimeoutError("no answer in time")
        call.late = self._losses.of(call.node, error)
        if call.connection is not None:
            call.connection.close(error)

    async def _send_all(
        self, requests: Mapping[int, Request], timeout_s: float
    ) -> dict[int, Response | Lost]:
        sent = {
            node: self._manager.call_soon(self._send, node, request, timeout_s)
            for node, request in requests.items()
        }
        return {node: await future for node, future in sent.items()}

    async def _pause(self, seconds: float) -> None:
        await self._net.sleep(seconds)

    def _address(self, node: int | str) -> str:
        broker = self._manager.cluster.broker_metadata(node)
        return f"broker {node}" if broker is None else f"{broker.host}:{broker.port}"
