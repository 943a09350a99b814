"""A coordinator that serves light members: a candidate, its desk, and the port it listens on."""

from __future__ import annotations

from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.environment import REAL, Environment
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.server import Listener
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import SessionSettings

# Streams beyond those of the members: they receive the error that there are too many.
_REFUSALS = 16


class LightOffice:
    """`listen` is host:port; port 0 takes a free one. `advertised` is the address that members
    receive, `listen` itself if it is empty. A candidate that is not in office names the
    coordinator.
    """

    def __init__(
        self,
        settings: SessionSettings,
        name: str,
        watching: Watching,
        desk: LightDesk,
        listen: str,
        access: StreamAccess,
        advertised: str = "",
        environment: Environment = REAL,
    ) -> None:
        desk.is_served = True
        self.desk = desk
        self.listener = Listener(listen, access, desk.greet, desk.limits.members + _REFUSALS)
        host = listen.rpartition(":")[0]
        self.address = advertised or f"{host}:{self.listener.port}"
        candidacy = Candidacy(name, self.address)
        self.candidate = Candidate(settings, candidacy, desk, watching, environment)

    def start(self) -> None:
        self.candidate.start()

    def close(self) -> None:
        self.candidate.close()
        self.listener.close()
