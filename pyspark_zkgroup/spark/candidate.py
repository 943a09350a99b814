"""The candidate in a query's driver: beside the member, for all groups of its ZooKeeper.

It listens to no light members: they would come and go with a query that has nothing to do with
them. While it is in office they keep what they have, and find nobody to register with.
"""

from __future__ import annotations

from pyspark_zkgroup.options import Options
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.zk.port import SessionSettings


def candidate_of(options: Options, name: str) -> Candidate | None:
    """Not started yet; None where the options do not ask for one."""
    if options.protocol != "coordinator" or not options.coordinator_candidate:
        return None
    settings = SessionSettings(
        hosts=options.zookeeper_hosts,
        chroot=options.zookeeper_chroot,
        timeout_ms=options.zookeeper_session_timeout_ms,
        connection_timeout_ms=options.zookeeper_connection_timeout_ms,
        auth=options.zookeeper_auth,
        set_acl=options.zookeeper_set_acl,
        security=options.zookeeper_security,
    )
    # Its own connections: those of the member are used in another thread.
    brokers = ClusterView(options)
    poll = brokers.partitions if options.bootstrap_servers else None
    watching = Watching(poll, options.metadata_refresh_ms / 1000.0, brokers.close)
    return Candidate(settings, Candidacy(name), LightDesk(), watching)
