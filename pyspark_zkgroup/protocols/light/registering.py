"""Registers a light member in its group, through a coordinator."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import cast

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ownership import version_of
from pyspark_zkgroup.jvm.registration import Registration, encode_registration
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.light.store import LightStore
from pyspark_zkgroup.protocols.light.stream_channel import session_of
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.commits import fenced
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.registrations import stamped
from pyspark_zkgroup.protocols.owned.topics_view import Topics
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.zk.port import SessionLostError

_PREDECESSOR_SHARE = 2.0
_LOOK_AGAIN_S = 0.2
_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(frozen=True, slots=True)
class StreamRegistration:
    options: Options
    registration: Registration
    agenda: Agenda
    brokers: Brokers

    def read_topics(self, context: MemberContext) -> Topics:
        self._find_brokers(context)
        return Topics(dict(self.brokers.partitions()), "kafka")

    def register(self, context: MemberContext, plan: Plan | None, first: bool) -> None:
        if not first:
            self._find_brokers(context)
        before = context.session
        self._register(context, plan, first)
        if before >= 0 and context.session != before:
            # Another client deleted our registration. What was claimed under it is lost by now.
            raise SessionLostError("our registration was deleted")

    def _find_brokers(self, context: MemberContext) -> None:
        if self.options.fetch.bootstrap:
            return
        found = session_of(context).brokers
        if not found:
            raise ServerError.of(
                "no_registered_brokers", protocol=self.options.fetch.security.protocol
            )
        self.brokers.found(found)

    def _register(self, context: MemberContext, plan: Plan | None, first: bool) -> None:
        data = encode_registration(stamped(self.registration, context))
        # Evidence is for a process that starts: a former member never takes anything back.
        fences = {r.partition: version_of(r.fence) for r in plan.ranges} if plan and first else {}
        evidence = {p: fence for p, fence in fences.items() if fence is not None}
        patience_s = context.store.session.negotiated_timeout_s * _PREDECESSOR_SHARE
        give_up_at = context.clock.monotonic() + patience_s
        said = ""
        while True:
            store = cast(LightStore, context.store)
            taken = store.register(data, context.static, evidence)
            if not taken:
                return
            if not context.static or not first or context.clock.monotonic() > give_up_at:
                raise fenced(context, taken)
            if not said:
                said = taken
                _log.warning(catalogue.warning("ZKG-175", reason=taken))
            self.agenda.wait(_LOOK_AGAIN_S)
