"""The `light` protocol: a member without ZooKeeper, told by a coordinator over the network.

Its session, its nodes and its commands are the coordinator's affair; which transactions it asks
for, and what their outcomes mean, is what it is for every member that owns by nodes.
"""

from __future__ import annotations

import logging
import queue
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pyspark_zkgroup.errors import FencedError, ServerError
from pyspark_zkgroup.group.ownership import version_of
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import LightSeat, Registration, encode_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.coordinator.command_channel import CommandChannel, CommandRead
from pyspark_zkgroup.protocols.coordinator.membership import CoordinatorMembership
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.environment import REAL, Surroundings
from pyspark_zkgroup.protocols.light.call import Call
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.messages import Hello, Told
from pyspark_zkgroup.protocols.light.session import LightSession, LightSettings
from pyspark_zkgroup.protocols.light.store import LightStore
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.commits import fenced
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.registrations import take_over_owners
from pyspark_zkgroup.protocols.owned.requests import Requests
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka
from pyspark_zkgroup.zk.port import SessionEvent, SessionLostError, SessionSettings

_PREDECESSOR_SHARE = 2.0
_LOOK_AGAIN_S = 0.2
_log = logging.getLogger("pyspark_zkgroup.group")


class StreamChannel(CommandChannel):
    """Commands come on the stream; those that are not answered come again on the next one."""

    def prepare(self, context: MemberContext) -> None:
        """There is no node to be made."""

    def begin(self, context: MemberContext) -> None:
        self.live(context.session)

    def listen(self, context: MemberContext) -> bool:
        """They come by themselves."""
        return True

    def obey(self, context: MemberContext) -> None:
        commands = _session(context).commands
        while not commands.empty():
            self._hear(commands.get())

    def _hear(self, command: Command) -> None:
        if all(read.command != command for read in self._standing):
            self._standing.append(CommandRead("", command))
        if command.life == self.life and command.generation >= self._newest:
            self._newest = command.generation
            self._apply(command)

    def answer(self, context: MemberContext) -> None:
        """An answer that is lost with the stream is asked for again by the next command, or by the
        same one.
        """
        left: list[CommandRead] = []
        for read in self._standing:
            if read.command.life != self.life:
                continue
            answer = self._answer_to(context, read.command)
            if answer is None:
                left.append(read)
            else:
                _session(context).say(Told(answer))
        self._standing = left


class NoRequests(Requests):
    """What an operator asks of members lies in nodes that a light member does not read."""

    def rests(self, context: MemberContext, members: Mapping[str, Registration]) -> bool:
        del context, members
        return False


class LightMembership(CoordinatorMembership):
    protocol = "light"
    looks_every_s = 5.0

    def __init__(
        self,
        options: Options,
        brokers: Brokers,
        surroundings: Surroundings = REAL,
        in_kafka: OffsetsInKafka | None = None,
    ) -> None:
        self._open_light = surroundings.open_light or _open_session
        surroundings = replace(surroundings, open_store=self._open)
        super().__init__(options, brokers, surroundings, in_kafka)
        self.channel = StreamChannel(self.coordinated)
        self.keeper.server = "the coordinator"
        self.requests = NoRequests(self.keeper, self.copy)
        self._session: LightSession | None = None
        self._incarnation = secrets.token_hex(32)

    def _open(
        self, settings: SessionSettings, events: queue.SimpleQueue[SessionEvent]
    ) -> LightStore:
        """A new session, taken in by a coordinator, or the error that says why there is none."""
        del settings
        light = self.options.light
        hello = Hello(
            self.options.group_id, self.consumer, self._incarnation, light.session_timeout_ms
        )
        before = self._session
        if before is not None and isinstance(before.refused, FencedError):
            raise before.refused
        given_up = frozenset(self.keeper.former)
        settings_here = LightSettings(light.addresses, light.access, hello, given_up)
        session = self._session = self._open_light(settings_here, events)
        return LightStore(session)

    def _introduce(self, context: MemberContext) -> bool:
        self._refuse_others(context)
        self._find_brokers(context)
        self._snapshot = Snapshot({}, dict(self.brokers.partitions()))
        self._notes = ()
        return True

    def _joins_before_replay(self, context: MemberContext, plan: Plan) -> bool:
        """A coordinator executes nothing for a member that is not registered."""
        del context, plan
        return True

    def _find_brokers(self, context: MemberContext) -> None:
        if self.options.bootstrap_servers:
            return
        found = _session(context).brokers
        if not found:
            raise ServerError(
                "The coordinator knows no Kafka brokers: none has registered in its ZooKeeper for "
                f"{self.options.security.protocol}",
                "Set kafka.bootstrap.servers",
            )
        self.brokers.found(found)

    def _join(self, context: MemberContext) -> None:
        if self.keeper.joined:
            return
        first = not self._ever_joined
        if first:
            self._inspect(context)
        else:
            self._find_brokers(context)
        before = context.session
        self._register(context)
        if before >= 0 and context.session != before:
            # Somebody deleted our registration. What was claimed under it is nobody's by now.
            raise SessionLostError("our registration was deleted")
        if context.static and self._plan is not None:
            take_over_owners(context)
        self.keeper.joined = self._ever_joined = True
        self.keeper.stir("joined")
        if first:
            self._refuse_others(context)
        self.channel.begin(context)

    def _register(self, context: MemberContext) -> None:
        store = cast(LightStore, context.store)
        shown = identity.shown(self.options.group_id, self.consumer, self._incarnation)
        stamped = replace(
            self.registration,
            timestamp=str(int(self.clock.time() * 1000)),
            light=LightSeat(shown, self.options.light.session_timeout_ms),
        )
        # Evidence is for a process that begins: one that has been a member never takes back.
        plan = self._plan if not self._ever_joined else None
        fences = {r.partition: version_of(r.fence) for r in plan.ranges} if plan else {}
        evidence = {p: fence for p, fence in fences.items() if fence is not None}
        patience_s = context.store.session.negotiated_timeout_s * _PREDECESSOR_SHARE
        give_up_at = self.clock.monotonic() + patience_s
        said = ""
        while True:
            taken = store.register(encode_registration(stamped), context.static, evidence)
            if not taken:
                return
            if not context.static or self._ever_joined or self.clock.monotonic() > give_up_at:
                raise fenced(context, taken)
            if not said:
                said = taken
                _log.warning("[ZKG-175] waiting for the end of a predecessor: %s", taken)
            self.keeper.wait(_LOOK_AGAIN_S)

    def _move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        moved = super()._move(context, mine)
        # No watch tells when it is free.
        moved.again |= bool(moved.waiting)
        return moved

    def status(self) -> dict[str, Any]:
        session = self.keeper.session
        return {**super().status(), "coordinator": session.settings.hosts if session else None}


def _open_session(settings: LightSettings, events: queue.SimpleQueue[SessionEvent]) -> LightSession:
    """Taken in by a coordinator, or the error that says why not."""
    session = LightSession(settings, events, Call)
    session.open()
    return session


def _session(context: MemberContext) -> LightSession:
    return cast(LightSession, context.store.session)
