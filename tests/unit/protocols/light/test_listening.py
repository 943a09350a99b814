"""The port of a coordinator that serves light members."""

from __future__ import annotations

from pyspark_zkgroup.protocols.coordinator.candidate import Watching
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.listening_candidate import LightOffice
from pyspark_zkgroup.protocols.light.server import Listener
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import SessionSettings


def test_a_closed_port_is_free_for_another_listener() -> None:
    first = Listener("127.0.0.1:0", StreamAccess(), lambda *_: None, 1)
    first.close()
    second = Listener(f"127.0.0.1:{first.port}", StreamAccess(), lambda *_: None, 1)
    assert second.port == first.port
    second.close()


def test_a_candidate_that_listens_serves_members_at_its_address() -> None:
    settings = SessionSettings("zk1:2181", "", 5000, 5000)
    for advertised in ("", "outside:7000"):
        desk = LightDesk()
        office = LightOffice(
            settings, "one", Watching(), desk, "127.0.0.1:0", StreamAccess(), advertised
        )
        try:
            assert desk.is_served
            assert office.address == (advertised or f"127.0.0.1:{office.listener.port}")
            assert office.candidate.candidacy.address == office.address
        finally:
            office.listener.close()
