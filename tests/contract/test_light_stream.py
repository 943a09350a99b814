"""Which clients a coordinator's port admits: the two real ends of a stream, with nothing behind."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import AccessError, AssignmentError, FencedError, ServerError
from pyspark_zkgroup.protocols.light.call import Call
from pyspark_zkgroup.protocols.light.conversation import Conversation, Outbox
from pyspark_zkgroup.protocols.light.coordinator_search import LightSettings
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    Elsewhere,
    Executed,
    Hello,
    Leave,
    Rejected,
    ToCoordinator,
    ToMember,
)
from pyspark_zkgroup.protocols.light.server import Listener
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.stream_access import StreamAccess
from tests.harness.waiting import wait_until
from zkgroup_sandbox.certificates import Certificates, Identity

HELLO = Hello("g", "g_a", "one", 1000)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("certificates"))


def access(
    trust: Path | None = None, shown: Identity | None = None, token: str = ""
) -> StreamAccess:
    return StreamAccess(
        Secret(token),
        True,
        trust.read_text() if trust else "",
        shown.certificate.read_text() if shown else "",
        Secret(shown.key.read_text()) if shown else NO_SECRET,
    )


@contextmanager
def listening(own: StreamAccess, answer: ToMember) -> Iterator[Listener]:
    def greet(hello: Hello, outbox: Outbox, _caller: Caller) -> Conversation | None:
        assert hello == HELLO
        outbox.put(answer)
        if not isinstance(answer, Accepted):
            outbox.close()
        return Silent()

    made = Listener("127.0.0.1:0", own, greet, 20)
    try:
        yield made
    finally:
        made.close()


class Silent:
    def take(self, message: object) -> None:
        """Answer nothing."""

    def end(self) -> None:
        """Keep nothing."""


def come(listener: Listener, given: StreamAccess) -> None:
    settings = LightSettings((f"127.0.0.1:{listener.port}",), given, HELLO)
    session = LightSession(settings, queue.SimpleQueue(), Call)
    session.open()
    session.close()


def test_a_member_with_valid_credentials_is_admitted(certificates: Certificates) -> None:
    own = access(certificates.ca, certificates.server, "token")
    with listening(own, Accepted(1, 0)) as listener:
        come(listener, access(certificates.ca, certificates.client, "token"))
        with pytest.raises(AccessError, match="rejects the token of this member"):
            come(listener, access(certificates.ca, certificates.client, "other"))


@pytest.mark.parametrize("case", ["no certificate", "a stranger's", "expired", "plain"])
def test_a_client_without_a_valid_certificate_is_refused(
    case: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.light.session._OPEN_S_MIN", 1.0)
    shown = {"a stranger's": certificates.stranger, "expired": certificates.expired}.get(case)
    given = StreamAccess() if case == "plain" else access(certificates.ca, shown)
    own = access(certificates.ca, certificates.server)
    with listening(own, Accepted(1, 0)) as listener, pytest.raises(ServerError):
        come(listener, given)


def test_a_coordinator_of_another_authority_is_not_trusted(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.light.session._OPEN_S_MIN", 1.0)
    own = access(None, certificates.server)
    with listening(own, Accepted(1, 0)) as listener:
        come(listener, access(certificates.ca))
        with pytest.raises(ServerError, match="No coordinator was found"):
            come(listener, access(certificates.other_ca))


@pytest.mark.parametrize(
    ("answer", "error", "named"),
    [
        (Rejected("its group is none", retriable=False), AssignmentError, "its group is none"),
        (Rejected("taken over", retriable=False, fenced=True), FencedError, "taken over"),
        (Rejected("full", retriable=True), ServerError, "full"),
        (Elsewhere("", "c2"), ServerError, "the coordinator c2 serves no light members"),
        (Elsewhere(""), ServerError, "no coordinator is in office"),
    ],
)
def test_a_client_that_cannot_be_served_learns_why(
    answer: ToMember, error: type[Exception], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.light.session._OPEN_S_MIN", 1.0)
    with listening(StreamAccess(), answer) as listener, pytest.raises(error, match=named):
        come(listener, StreamAccess())


class Leaving:
    """What a coordinator does for a member that leaves; it keeps the messages."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.came: list[ToCoordinator] = []

    def take(self, message: ToCoordinator) -> None:
        self.came.append(message)
        if isinstance(message, Leave):
            self.outbox.put(Executed(message.number, ()))

    def end(self) -> None:
        """Keep nothing."""


@pytest.mark.parametrize("is_misled", [False, True], ids=["at once", "after another answer"])
def test_a_life_that_was_given_up_is_ended_before_a_new_session(is_misled: bool) -> None:
    """Its owner nodes exist, and the new session knows none of them. Or: a coordinator is ending
    that life, answers that there is none, and dies; its successor still finds it registered.
    """
    found: list[tuple[int, Leaving]] = []

    def left() -> list[int]:
        return [life for life, seat in found if any(isinstance(m, Leave) for m in seat.came)]

    def greet(_hello: Hello, outbox: Outbox, _caller: Caller) -> Conversation:
        dies = is_misled and not found
        life = 0 if dies or left() else 7
        outbox.put(Accepted(1, life))
        found.append((life, Leaving(outbox)))
        if dies:
            outbox.close()
        return found[-1][1]

    listener = Listener("127.0.0.1:0", StreamAccess(), greet, 20)
    settings = LightSettings(
        (f"127.0.0.1:{listener.port}",), StreamAccess(), HELLO, given_up=frozenset({7})
    )
    session = LightSession(settings, queue.SimpleQueue(), Call)
    try:
        session.open()
        wait_until(
            lambda: left() and session.connected and found[-1][0] == 0, 5.0, "a session to begin"
        )
        assert left() == [7]
    finally:
        session.close()
        listener.close()


def test_a_port_that_is_taken_is_named() -> None:
    with listening(StreamAccess(), Accepted(1, 0)) as first:
        address = f"127.0.0.1:{first.port}"
        with pytest.raises(ServerError, match=address):
            Listener(address, StreamAccess(), lambda *_: None, 1)
