"""TLS and logins of our sessions, on a real server. A rejected client fails at once."""

from __future__ import annotations

import importlib.util
import logging
import queue
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.group.ops import Check, Create, Delete, Done, SetData
from pyspark_zkgroup.security.sasl import Kerberos, Password
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.tls import Tls
from pyspark_zkgroup.security.zookeeper_security import OPEN, ZooKeeperSecurity
from pyspark_zkgroup.zk.session import Session, SessionSettings
from pyspark_zkgroup.zk.store import Store
from tests.harness.planted_secrets import PASSWORD, WRONG_PASSWORD, ZOOKEEPER_PASSWORD, leaks_of
from tests.harness.tls_port import tls_port
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox, secured_zookeeper
from zkgroup_sandbox.certificates import Certificates, Identity
from zkgroup_sandbox.cut import Cut

AT_ONCE_S = 3.0
"""On a loaded machine; waiting for a timeout would take longer."""
CONNECT_MS = 6000
SOON_MS = 1500
"""For servers that are waited for until then."""
IN_TIME_S = 10.0

(ZOE,) = secured_zookeeper.USERS
LOGIN = Password(ZOE, Secret(secured_zookeeper.USERS[ZOE]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("secured-zookeeper"), brokers=0, secured=True) as started:
        yield started


@pytest.fixture(scope="module")
def certificates(server: Sandbox) -> Certificates:
    return Certificates(server.directory / "certificates")


def tls(certificates: Certificates, identity: Identity | None = None, **more: Any) -> Tls:
    return Tls(
        authorities=certificates.ca.read_text(),
        certificates=identity.certificate.read_text() if identity else "",
        key=Secret(identity.key.read_text()) if identity else NO_SECRET,
        **more,
    )


def session_of(
    hosts: str,
    security: ZooKeeperSecurity,
    *auth: tuple[str, str],
    set_acl: bool = False,
    connect_ms: int = CONNECT_MS,
) -> Session:
    settings = SessionSettings(hosts, "", 6000, connect_ms, auth, set_acl, security)
    return Session(settings, queue.SimpleQueue())


@contextmanager
def opened(hosts: str, security: ZooKeeperSecurity, **more: bool) -> Iterator[Session]:
    session = session_of(hosts, security, **more)
    session.open()
    try:
        yield session
    finally:
        session.close()


def made_by(session: Session, path: str) -> list[tuple[str, str, int]]:
    """Return the ACL of a node that the session creates: scheme, identity, rights."""
    (outcome,) = Store(session).commit([(Create(path, b""),)])
    assert isinstance(outcome, Done)
    acls, _ = session.ask(session.client.get_acls_async(path))
    return sorted((acl.id.scheme, acl.id.id, acl.perms) for acl in acls)


def test_tls_names_who_shows_a_certificate(server: Sandbox, certificates: Certificates) -> None:
    (zookeeper,) = server.zookeepers
    security = ZooKeeperSecurity(tls(certificates, certificates.client))
    with opened(zookeeper.secure_address, security, set_acl=True) as session:
        assert made_by(session, "/by-certificate") == [
            ("world", "anyone", 1),
            ("x509", "CN=client", 31),
        ]
        assert len(Store(session).nodes(["/by-certificate"] * 2500)) == 2500


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_login(server: Sandbox, certificates: Certificates, is_secure: bool) -> None:
    (zookeeper,) = server.zookeepers
    own = tls(certificates, certificates.client) if is_secure else None
    hosts = zookeeper.secure_address if is_secure else zookeeper.address
    with opened(hosts, ZooKeeperSecurity(own, LOGIN), set_acl=True) as session:
        who = made_by(session, f"/by-login-{is_secure}")
        assert ("sasl", ZOE, 31) in who
        assert ("world", "anyone", 1) in who


def test_a_session_outlives_its_connection(server: Sandbox, certificates: Certificates) -> None:
    """It reconnects with TLS and its login, and its watches still fire."""
    (zookeeper,) = server.zookeepers
    security = ZooKeeperSecurity(tls(certificates, certificates.client), LOGIN)
    with Cut([zookeeper.secure_address]) as cut, opened(cut.addresses, security) as session:
        before = session.id
        cut.refuse()
        wait_until(lambda: not session.connected, 10, "the end of the connection")
        cut.heal()
        wait_until(lambda: session.connected, 10, "another connection")
        store = Store(session)
        wait_until(lambda: store.stats(["/"]), 10, "an answer")
        assert (session.id, session.alive) == (before, True)


def test_one_server_with_a_bad_certificate_does_not_keep_us_from_the_others(
    server: Sandbox, certificates: Certificates
) -> None:
    (zookeeper,) = server.zookeepers
    security = ZooKeeperSecurity(tls(certificates, certificates.client))
    with tls_port(certificates.expired) as expired:
        for hosts in (f"{expired},{zookeeper.secure_address}",) * 3:  # kazoo shuffles them
            with opened(hosts, security) as session:
                assert session.connected
        # None of them is left: the error of the one is reported next to the other.
        with pytest.raises(ServerError, match="certificate has expired") as caught:
            session_of(f"{expired},127.0.0.1:1", security, connect_ms=SOON_MS).open()
        assert "127.0.0.1:1" in caught.value.what


# The port, the security settings (with certificates), and the message.
def refused(certificates: Certificates, name: str) -> tuple[str, ZooKeeperSecurity, str, str]:
    client = certificates.client
    other = Tls(authorities=certificates.other_ca.read_text())
    module = "zookeeper.sasl.jaas.config"
    wrong = Password(ZOE, Secret(WRONG_PASSWORD))
    nobody = Password("unknown", Secret(WRONG_PASSWORD))
    cases: dict[str, tuple[str, ZooKeeperSecurity, str, str]] = {
        "no client certificate": (
            "secure",
            ZooKeeperSecurity(tls(certificates)),
            "refuses our TLS connection (bad certificate)",
            "zookeeper.ssl.keystore.location",
        ),
        "a stranger's certificate": (
            "secure",
            ZooKeeperSecurity(tls(certificates, certificates.stranger)),
            "refuses our TLS connection (certificate unknown)",
            "zookeeper.ssl.keystore.location",
        ),
        "an unknown authority": (
            "secure",
            ZooKeeperSecurity(other),
            "self-signed certificate in certificate chain",
            "zookeeper.ssl.truststore.location",
        ),
        "an expired certificate": (
            "expired",
            ZooKeeperSecurity(tls(certificates, client)),
            "shows a TLS certificate that is not accepted: certificate has expired",
            "Renew the server's certificate",
        ),
        "another host": (
            "wrong_host",
            ZooKeeperSecurity(tls(certificates, client)),
            "certificate is not valid for '127.0.0.1'",
            "Name the server in zookeeper.connect as its certificate does",
        ),
        "a wrong password": (
            "client",
            ZooKeeperSecurity(None, wrong),
            "does not accept the login of user 'zoe' by DIGEST-MD5",
            module,
        ),
        "an unknown user within TLS": (
            "secure",
            ZooKeeperSecurity(tls(certificates, client), nobody),
            "does not accept the login of user 'unknown' by DIGEST-MD5",
            module,
        ),
    }
    return cases[name]


@pytest.mark.parametrize(
    "name",
    [
        "no client certificate",
        "a stranger's certificate",
        "an unknown authority",
        "an expired certificate",
        "another host",
        "a wrong password",
        "an unknown user within TLS",
    ],
)
def test_a_refused_client_learns_why_at_once(
    server: Sandbox, certificates: Certificates, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    port, security, what, remedy = refused(certificates, name)
    (zookeeper,) = server.zookeepers
    caplog.set_level(1)
    with ExitStack() as stack:
        if port in ("expired", "wrong_host"):
            hosts = stack.enter_context(tls_port(getattr(certificates, port)))
        else:
            hosts = zookeeper.secure_address if port == "secure" else zookeeper.address
        session = session_of(hosts, security)
        began = time.monotonic()
        with pytest.raises(AccessError) as caught:
            session.open()
        assert time.monotonic() - began < AT_ONCE_S
    assert what in caught.value.what
    assert caught.value.what.startswith(f"ZooKeeper at {hosts} ")
    assert remedy in caught.value.remedy
    assert not session.alive
    assert leaks_of(f"{caught.value}", repr(session.settings), caplog.text) == []


def test_any_host_is_accepted_if_the_check_is_off(certificates: Certificates) -> None:
    """The handshake succeeds then, but the port does not speak ZooKeeper's protocol."""
    security = ZooKeeperSecurity(tls(certificates, certificates.client, check_host=False))
    with tls_port(certificates.wrong_host) as hosts, pytest.raises(ServerError) as caught:
        session_of(hosts, security, connect_ms=SOON_MS).open()
    assert "certificate" not in caught.value.what


def test_credentials_of_an_unknown_scheme_are_refused(server: Sandbox) -> None:
    session = session_of(server.zookeepers[0].address, OPEN, ("nosuch", ZOOKEEPER_PASSWORD))
    began = time.monotonic()
    with pytest.raises(AccessError, match=r"the credentials of zookeeper\.auth") as caught:
        session.open()
    assert time.monotonic() - began < AT_ONCE_S
    assert leaks_of(f"{caught.value}") == []


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_port_of_the_other_kind_is_guessed_in_time(
    server: Sandbox, certificates: Certificates, is_secure: bool
) -> None:
    """It only closes the connection, like a server that is just starting. So it is waited for, as
    long as zookeeper.connection.timeout.ms says (6 s by default).
    """
    (zookeeper,) = server.zookeepers
    security = ZooKeeperSecurity(tls(certificates, certificates.client)) if is_secure else OPEN
    hosts = zookeeper.address if is_secure else zookeeper.secure_address
    began = time.monotonic()
    with pytest.raises(ServerError) as caught:
        session_of(hosts, security, connect_ms=SOON_MS).open()
    assert time.monotonic() - began < IN_TIME_S
    guess = (
        "closes the connection when TLS begins, as a port without TLS does"
        if is_secure
        else "closes the connection at once, as a TLS port does"
    )
    assert f"{hosts} {guess}" in caught.value.what
    assert "zookeeper.ssl.client.enable" in caught.value.what


@pytest.mark.parametrize(
    ("login", "module", "package"),
    [(LOGIN, "puresasl", "pure-sasl"), (Kerberos("zookeeper"), "kerberos", "kerberos")],
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, login: Password | Kerberos, module: str, package: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == module else find(n))
    with pytest.raises(AccessError, match=f"package {package} is not installed"):
        session_of("127.0.0.1:1", ZooKeeperSecurity(None, login))


def test_nothing_of_a_login_is_logged(server: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    """At level DEBUG kazoo logs each request with its contents."""
    login = Password(ZOE, Secret(secured_zookeeper.USERS[ZOE]))
    session = session_of(
        server.zookeepers[0].address,
        ZooKeeperSecurity(None, login),
        ("digest", f"zoe:{ZOOKEEPER_PASSWORD}"),
    )
    caplog.set_level(1)
    logging.getLogger("pyspark_zkgroup.zk.kazoo").setLevel(1)
    try:
        session.open()
        Store(session).stats(["/"])
    finally:
        session.close()
        logging.getLogger("pyspark_zkgroup.zk.kazoo").setLevel(logging.ERROR)
    assert "Sending request" in caplog.text, "kazoo logs no requests any more: look at what it does"
    assert leaks_of(caplog.text, repr(session.settings)) == []
    assert secured_zookeeper.USERS[ZOE] not in caplog.text


# -- ACLs


@pytest.fixture
def protected(server: Sandbox) -> Iterator[str]:
    """A node with a child that only user `o` may change or read."""
    (zookeeper,) = server.zookeepers
    owner = KazooClient(zookeeper.address, auth_data=[("digest", f"o:{PASSWORD}")])
    owner.start()
    path = f"/protected-{time.monotonic_ns()}"
    acl = [make_digest_acl("o", PASSWORD, all=True)]
    owner.create(path, b"", acl=acl)
    owner.create(f"{path}/below", b"7", acl=acl)
    yield path
    owner.delete(path, recursive=True)
    owner.stop()
    owner.close()


DIGEST = (("digest", f"o:{WRONG_PASSWORD}"),)


@pytest.mark.parametrize(
    ("auth", "remedy"),
    [
        ((), "Give zookeeper.auth, zookeeper.sasl.jaas.config or a client certificate"),
        (DIGEST, "A wrong user or password of zookeeper.auth shows nowhere but here"),
    ],
)
def test_what_may_not_be_done_names_node_and_right(
    server: Sandbox, protected: str, auth: tuple[tuple[str, str], ...], remedy: str
) -> None:
    session = session_of(server.zookeepers[0].address, OPEN, *auth)
    session.open()
    store = Store(session)
    below = f"{protected}/below"
    fine = Create(f"/fine-{time.monotonic_ns()}", b"", ephemeral=True)
    try:
        for do, what, right in (
            (lambda: store.nodes([below]), f"read {below}", "READ"),
            (lambda: store.nodes(["/", below] * 20), f"read {below}", "READ"),
            (lambda: store.children([protected]), f"read {protected}", "READ"),
            (
                lambda: store.commit([(fine,), (SetData(below, b"8", 0),)]),
                f"write {below}",
                "WRITE",
            ),
            (lambda: store.commit([(Check(below, 0),)]), f"read {below}", "READ"),
            (
                lambda: store.commit([(Create(f"{below}/x", b""),)]),
                f"make nodes below {below}",
                "CREATE",
            ),
            (
                lambda: store.commit([(Delete(below, 0),)]),
                f"delete nodes below {protected}",
                "DELETE",
            ),
            (lambda: store.stats([protected]), f"read {protected}", "READ"),
            (lambda: store.ensure([f"{below}/a/b"]), f"read {protected}", "READ"),
        ):
            with pytest.raises(AccessError) as caught:
                do()
            assert caught.value.what.endswith(f" does not allow this client to {what}")
            assert remedy in caught.value.remedy
            assert caught.value.remedy.endswith(f"or add {right} for it to the ACL of that node")
            assert leaks_of(f"{caught.value}") == []
    finally:
        session.close()
