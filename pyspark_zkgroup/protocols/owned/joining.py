"""Joins the group: first everything that can refuse the member, then its registration."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.owned import commits, replays
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.decider import Decider
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.registrations import (
    refuse_offsets_beyond_end,
    take_over_owners,
)
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.positions import check_partitions

_log = logging.getLogger("pyspark_zkgroup.group")

Register = Callable[[MemberContext, Plan | None, bool], None]


def unless_all_is_taken(context: MemberContext, plan: Plan) -> bool:
    """If others took all of it, they would release now what we claim only after the batch."""
    return context.static or not replays.all_taken(context, plan)


@dataclass(frozen=True, slots=True)
class Entry:
    """How a protocol registers its members. `prepare` comes first. `register` receives the plan
    that the query was started with, and whether it joins for the first time; so does `begin`, which
    comes after it. `precedes_replay`: whether to join before a plan is replayed.
    """

    register: Register
    prepare: Callable[[MemberContext], None] = lambda _context: None
    begin: Callable[[MemberContext, bool], None] = lambda _context, _first: None
    precedes_replay: Callable[[MemberContext, Plan], bool] = unless_all_is_taken


@dataclass(eq=False, repr=False)
class Joining:
    """`new_query`: it has no checkpoint, so its options decide where to start."""

    options: Options
    brokers: Brokers
    agenda: Agenda
    entry: Entry
    decider: Decider
    first: FirstOffsets
    copy: KafkaCopy
    plan: Plan | None = None
    new_query: bool = True
    ever_joined: bool = False

    def restart(self, plan: Plan) -> None:
        self.new_query = False
        self.plan = plan

    def join(self, context: MemberContext) -> None:
        if self.agenda.joined:
            return
        is_first = not self.ever_joined
        self.entry.prepare(context)
        if is_first:
            self._inspect(context)
        self.entry.register(context, self.plan, is_first)
        if context.static and self.plan is not None:
            take_over_owners(context)
        self.agenda.joined = self.ever_joined = True
        self.agenda.stir("joined")
        self.entry.begin(context, is_first)

    def join_again(self, context: MemberContext) -> None:
        """Join after our registration was deleted. Look at what we hold first: commits rely on
        this.

        The deletion may have removed all nodes, and other members may have rebuilt them since.
        """
        _log.warning(catalogue.warning("ZKG-117"))
        commits.reconsider(context, list(context.holdings.held))
        self.agenda.joined = False
        self.join(context)

    def _inspect(self, context: MemberContext) -> None:
        """Check everything that can refuse this member before anything is written."""
        brokers_known = self.decider.introduce(context)
        subscribed = self.decider.subscribed()
        topics = frozenset(p.topic for p in subscribed)
        if self.new_query:
            self.first.fresh = topics
        # Also if there is nothing to read yet: brokers that cannot be reached are found now, not at
        # the first record.
        if brokers_known:
            self.brokers.partitions()
            self.copy.refuse_live_group()
            if self.options.fetch.fail_on_data_loss and not self.decider.told:
                refuse_offsets_beyond_end(context, subscribed, self.brokers)
            if self.new_query:
                present = {t: self.decider.snapshot.topics.get(t, ()) for t in topics}
                check_partitions(self.options.starting, present)
                self.first.check(context, present)
