"""What ends by itself, and topics that do not exist: there is nothing to read, so it would end well
each time, and the mistake in a name would not be noticed.

A query without an end waits for such topics instead, and says so in its progress.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.listing import first_few, similar_names
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.port import Brokers, Membership

# A broker may learn of a new topic some seconds after others.
_DOUBTED_S = 5.0
_LOOK_AGAIN_S = 1.0
_NAMED_MAX = 10
_log = logging.getLogger("pyspark_zkgroup.planner")


def check(options: Options, membership: Membership, brokers: Brokers, clock: Clock) -> None:
    """SubscriptionError if a topic that the options name does not exist; with
    failOnDataLoss=false a warning.
    """
    subscription = options.topics.subscription
    if subscription.is_wildcard:
        return
    there = {partition.topic for partition in membership.subscribed()}
    absent = [topic for topic, _ in subscription.entries if topic not in there]
    give_up_at = clock.monotonic() + _DOUBTED_S
    while absent:
        topics = brokers.partitions()
        absent = [topic for topic in absent if topic not in topics]
        if clock.monotonic() >= give_up_at:
            break
        membership.wait(_LOOK_AGAIN_S)
    if absent:
        refuse(options, absent, topics)


def refuse(options: Options, absent: Collection[str], topics: Collection[str]) -> None:
    """`topics`: those of the cluster, among which the names that were meant may be."""
    named = first_few((f"{topic!r}{similar_names(topic, topics)}" for topic in absent), _NAMED_MAX)
    what = f"The cluster has no topic {named}"
    if options.fetch.fail_on_data_loss:
        raise SubscriptionError.of("no_topic_to_read", reason=what)
    _log.warning(catalogue.warning("ZKG-101", loss=what, action="reading without it"))
