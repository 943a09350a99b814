"""Handles an operator's request to leave the group, and to stay outside or to end the query.

It is handled at a boundary, where no batch is under way. The member commits what is done and ends
its session, so that the server deletes registration and owner nodes in one transaction. It
continues outside of the group with a new session, which shows that the process lives. It answers
only when a look has shown that the old registration is gone: the partitions are free then. When the
request is withdrawn, the member joins like after an expiry.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.group.ops import Create, Delete, Done, Op, SetData
from pyspark_zkgroup.group.requests import Request, decode_request, encode_request, in_force
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.protocols.owned import commits
from pyspark_zkgroup.protocols.owned.hand_over import outwait_readers
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.session_keeper import SessionKeeper

_log = logging.getLogger("pyspark_zkgroup.group")


class Requests:
    def __init__(self, keeper: SessionKeeper, copy: KafkaCopy) -> None:
        self.keeper = keeper
        self.agenda = keeper.agenda
        self.copy = copy
        self.request: Request | None = None
        self._version = 0
        self._own_sessions: set[int] = set()
        self._outside = False
        self._shown_in = 0

    @property
    def at_rest(self) -> bool:
        """It is outside and has answered: there is nothing to do until the request is withdrawn."""
        session = self.keeper.session
        return self._outside and session is not None and session.id == self._shown_in

    @property
    def ended(self) -> str:
        request = self.request
        return request.by if request and request.kind == "stop" and self.at_rest else ""

    @property
    def note(self) -> str:
        state = "outside of the group" if self._outside else "leaving the group"
        return f"{state}: {self.request}"

    def rests(self, context: MemberContext, members: Mapping[str, Registration]) -> bool:
        """Return whether this boundary must not join, claim or plan; the rest is done here."""
        self._own_sessions.add(context.session)
        if self.agenda.asked_anew:
            self._look(context)
        if self.request is None:
            if self._outside:
                self._come_back(context)
            return False
        self.agenda.take_causes()
        if context.holdings.unsettled:
            commits.commit_finished(context)
        if self._outside:
            if not context.holdings.unsettled and self._shown_in != context.session:
                self._answer(context, self.request)
        elif not context.holdings.unsettled or not self._is_registered(context):
            # An evicted member may commit nothing as a member. What is done is settled from
            # outside, like after an expiry, if no other member has read on.
            outwait_readers(self.agenda, (), members)
            self._leave(context)
        return True

    def _is_registered(self, context: MemberContext) -> bool:
        (node,) = context.store.stats([context.paths.id(context.consumer)])
        return node is not None and node.ephemeral_owner == context.session

    def _look(self, context: MemberContext) -> None:
        path = context.paths.request(context.consumer)
        try:
            # The watch first, so that it reports what is written after the look.
            (found,) = context.store.stats([path], watch=True)
            (node,) = context.store.nodes([path]) if found is not None else [None]
        except AccessError as error:
            _log.warning(catalogue.warning("ZKG-148", error=error))
            node = None
        # Only now: a look that was not answered must be repeated.
        self.agenda.asked_anew = False
        request = None if node is None else decode_request(node.data)
        before, self.request = self.request, in_force(request, self._own_sessions)
        self._version = 0 if node is None else node.node.version
        if self.request is not None and before is None:
            _log.info("Leaving group %s after this batch: %s", context.paths.group, self.request)

    def _leave(self, context: MemberContext) -> None:
        self.copy.write(context, has_lease=self.keeper.may_plan, last=True)
        context.callback.tell("release", context.holdings.held)
        held = len(context.holdings.held)
        self.keeper.step_out()
        self._outside = True
        _log.info(
            "Left group %s, released %d partitions: %s", context.paths.group, held, self.request
        )

    def _answer(self, context: MemberContext, request: Request) -> None:
        context.store.sync()
        (old,) = context.store.stats([context.paths.id(context.consumer)])
        if old is not None:
            return  # its session could not be ended; it expires
        try:
            context.store.ensure([context.paths.resting])
            (shown,) = context.store.stats([context.paths.rests(context.consumer)])
            operations: list[Op] = []
            if shown is None:
                operations.append(
                    Create(context.paths.rests(context.consumer), b"", ephemeral=True)
                )
            elif shown.ephemeral_owner != context.session:
                return
            if request.answer is None:
                answered = request.answered("left the group", int(context.clock.time() * 1000))
                path = context.paths.request(context.consumer)
                operations.append(SetData(path, encode_request(answered), self._version))
            (outcome,) = context.store.commit([tuple(operations)])
        except AccessError as error:
            _log.warning(catalogue.warning("ZKG-149", error=error))
            self._shown_in = context.session
            return
        if isinstance(outcome, Done):
            self._shown_in = context.session
        else:
            self.agenda.asked_anew = True

    def _come_back(self, context: MemberContext) -> None:
        _log.info("Joining group %s again: the request was withdrawn", context.paths.group)
        context.store.commit([(Delete(context.paths.rests(context.consumer), 0),)])
        self._outside, self._shown_in = False, 0
        self.agenda.stir("the request to leave was withdrawn")
