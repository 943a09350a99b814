"""The candidate in a query's driver: next to the member, for all groups of its ZooKeeper.

It listens to no light members: they would come and go with a query that has nothing to do with
them. While it is in office they keep what they have, and find no coordinator to register with.
"""

from __future__ import annotations

from pyspark_zkgroup.options import Options
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.light.desk import LightDesk


def candidate_of(options: Options, name: str) -> Candidate | None:
    """Not started yet; None where the options do not ask for one."""
    if options.protocol.name != "coordinator" or not options.protocol.is_candidate:
        return None
    # Its own connections: those of the member are used in another thread.
    brokers = ClusterView(options)
    poll = brokers.partitions if options.fetch.bootstrap else None
    watching = Watching(poll, options.fetch.client.metadata_refresh_ms / 1000.0, brokers.close)
    return Candidate(options.zookeeper, Candidacy(name), LightDesk(), watching)
