"""One rebalance of a member with owner nodes: look at the group, then release and claim."""

from __future__ import annotations

import logging

from pyspark_zkgroup.protocols.owned.decider import Look
from pyspark_zkgroup.protocols.owned.joining import Joining
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.rules.causes import events
from pyspark_zkgroup.protocols.waiting import Waiting

_log = logging.getLogger("pyspark_zkgroup.group")


def rebalance(context: MemberContext, joining: Joining, waiting: Waiting) -> None:
    """Causes stay on the agenda if it fails. `waiting` notes what is ours and not held."""
    agenda, decider = joining.agenda, joining.decider
    before, began = decider.snapshot, context.clock.monotonic()
    causes = agenda.take_causes()
    try:
        look = decider.look(context)
        if look is Look.UNREGISTERED:
            joining.join_again(context)
            return
        agenda.trouble = ""
        if look is Look.UNDECIDED:
            return
        target = decider.target
        mine = {p: t.number for p, t in target.items() if t.consumer == context.consumer}
        moved = decider.move(context, mine)
    except BaseException:
        for cause in causes:
            agenda.stir(cause)
        raise
    waiting.note(moved.waiting)
    agenda.follow_up(again=moved.again, later=moved.later)
    if moved.claimed or moved.released or moved.lost:
        _log.info(
            "Rebalanced group %s: %s, holding %d of %d; cause: %s; took %.0f ms",
            *(context.paths.group, moved, len(context.holdings.held), len(target)),
            events(causes, context.paths, context.consumer, before, decider.snapshot),
            (context.clock.monotonic() - began) * 1000,
        )
