"""Options of TLS and SASL to ZooKeeper: the settings they give, and errors of wrong ones."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.security.sasl import Kerberos, Password
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.tls import context
from pyspark_zkgroup.security.zookeeper_security import OPEN, ZooKeeperSecurity
from tests.harness.given_options import LEAST, refusal
from tests.harness.planted_secrets import (
    KEY_PASSWORD as PLANTED_KEY_PASSWORD,
)
from tests.harness.planted_secrets import (
    PASSWORD,
    WRONG_PASSWORD,
    ZOOKEEPER_PASSWORD,
    leaks_of,
    redaction,
)
from zkgroup_sandbox.certificates import KEY_PASSWORD, Certificates

DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule required"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true"
LOGIN = {"zookeeper.sasl.jaas.config": f'{DIGEST} username="zoe" password="{PASSWORD}";'}
TLS = {"zookeeper.ssl.client.enable": "true"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("certificates"))


def security(given: dict[str, Any]) -> ZooKeeperSecurity:
    return parse({**LEAST, **given}).zookeeper.security


def said(given: dict[str, Any]) -> str:
    text = refusal({**LEAST, **given})
    assert leaks_of(text) == []
    return text


def test_nothing_is_the_default() -> None:
    assert security({}) == OPEN == security({"zookeeper.ssl.client.enable": "false"})


def test_a_login_and_a_ticket() -> None:
    found = security(LOGIN)
    assert found == ZooKeeperSecurity(None, Password("zoe", Secret(PASSWORD)))
    assert (found.mechanism, found.names_us) == ("DIGEST-MD5", True)
    assert pickle.loads(pickle.dumps(found)) == found
    assert leaks_of(repr(found), repr(parse({**LEAST, **LOGIN}))) == []
    ticket = security({"zookeeper.sasl.jaas.config": f"{KERBEROS};"})
    assert ticket == ZooKeeperSecurity(None, Kerberos("zookeeper"))
    named = {"zookeeper.sasl.client.username": "zk"}
    ticket = security({"zookeeper.sasl.jaas.config": f"{KERBEROS};", **named})
    assert (ticket.login, ticket.mechanism) == (Kerberos("zk"), "GSSAPI")


def test_files_are_read_whatever_their_kind_is_called(certificates: Certificates) -> None:
    given = {
        **TLS,
        "zookeeper.ssl.trustStore.location": str(certificates.ca),  # as ZooKeeper spells it
        "zookeeper.ssl.keystore.location": str(certificates.client.both),
    }
    tls = security(given).tls
    assert tls is not None
    assert tls.check_host
    assert context(tls).get_ca_certs()
    assert security(given).names_us
    assert leaks_of(repr(tls), repr(parse({**LEAST, **given}))) == []
    assert security({**given, "zookeeper.ssl.keystore.type": "pem"}).tls == tls
    assert "but 'zookeeper.ssl.truststore.type' is 'JKS'" in said(
        {**given, "zookeeper.ssl.truststore.type": "JKS"}
    )


def test_a_locked_key(certificates: Certificates, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(
        certificates.locked_key.read_bytes() + certificates.client.certificate.read_bytes()
    )
    given = {**TLS, "zookeeper.ssl.keystore.location": str(both)}
    password = "zookeeper.ssl.keystore.password"
    assert f"is encrypted, but '{password}' is not set" in said(given)
    assert "cannot be decrypted with its password" in said({**given, password: WRONG_PASSWORD})
    tls = security({**given, password: KEY_PASSWORD}).tls
    assert tls is not None
    assert tls.key_password == Secret(KEY_PASSWORD)
    assert KEY_PASSWORD not in repr(parse({**LEAST, **given, password: KEY_PASSWORD}))


@pytest.mark.parametrize(
    ("head", "option", "command"),
    [
        (b"\xfe\xed\xfe\xed", "truststore", "keytool -list -rfc -keystore"),
        (b"\xfe\xed\xfe\xed", "keystore", "keytool -importkeystore -srckeystore"),
        (b"\x30\x82\x09\x01", "keystore", "openssl pkcs12 -in"),
    ],
)
def test_an_error_shows_how_to_convert_a_jvm_store_to_pem(
    tmp_path: Path, head: bytes, option: str, command: str
) -> None:
    store = tmp_path / "store"
    store.write_bytes(head + b"more")
    text = said({**TLS, f"zookeeper.ssl.{option}.location": str(store)})
    assert f"{command} {store}" in text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"zookeeper.ssl.truststore.location": "/x"},
            "'zookeeper.ssl.client.enable' is false by default, where it would have no effect",
        ),
        ({**TLS, "zookeeper.ssl.keystore.location": "/no/such"}, "which the driver cannot read"),
        ({"zookeeper.sasl.client.username": "zk"}, "'zookeeper.sasl.jaas.config' is not given"),
        ({**LOGIN, "zookeeper.sasl.client.username": "zk"}, "logs in by DIGEST-MD5"),
        (
            {"zookeeper.sasl.jaas.config": f"x.Y required password={PASSWORD};"},
            "names the login module x.Y, but ZooKeeper takes org.apache.zookeeper",
        ),
        ({"zookeeper.sasl.jaas.config": f"{DIGEST} password={PASSWORD};"}, "gives no username"),
        ({"zookeeper.ssl.truststore.password": PASSWORD}, "a PEM file has no password"),
        ({"zookeeper.clientCnxnSocket": "x.Y"}, "it follows from 'zookeeper.ssl.client.enable'"),
        ({"zookeeper.set.acl": "true"}, "or 'zookeeper.sasl.jaas.config', or a client certificate"),
    ],
)
def test_wrong_options_are_named(given: dict[str, str], text: str) -> None:
    assert text in said(given)


@pytest.mark.parametrize("given", [TLS, LOGIN])
def test_a_member_of_the_brokers_group_has_no_use_for_it(given: dict[str, str]) -> None:
    alone = {"group.id": "billing", "subscribe": "orders", "protocol": "kafka"}
    text = refusal({**alone, "kafka.bootstrap.servers": "k1:9092", **given})
    assert f"Option {next(iter(given))!r} is" in text
    assert "'protocol' is 'kafka', which uses no ZooKeeper" in text
    assert leaks_of(text) == []


def test_a_login_is_enough_to_keep_nodes_for_oneself() -> None:
    assert parse({**LEAST, **LOGIN, "zookeeper.set.acl": "true"}).zookeeper.set_acl


def test_the_credential_may_be_named_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZK_PASSWORD", f"{ZOOKEEPER_PASSWORD}:with a colon")
    found = parse({**LEAST, "zookeeper.auth": "digest:zoe:${env:ZK_PASSWORD}"})
    assert found.zookeeper.auth == (("digest", f"zoe:{ZOOKEEPER_PASSWORD}:with a colon"),)
    assert leaks_of(repr(found)) == []
    assert "names the environment variable 'NO_SUCH'" in said(
        {"zookeeper.auth": "digest:zoe:${env:NO_SUCH}"}
    )


@pytest.mark.parametrize("in_order", [list, lambda names: list(reversed(list(names)))])
def test_the_expression_of_the_manual_hides_secrets_in_a_plan(in_order: Any) -> None:
    """As Spark 4.2 prints the options of a stream."""
    options = {
        **LOGIN,
        "kafka.sasl.jaas.config": f'x.Y required password="{PASSWORD}";',
        "zookeeper.ssl.keystore.password": PLANTED_KEY_PASSWORD,
        "zookeeper.auth": f"digest:user:{ZOOKEEPER_PASSWORD}",
        "group.id": "billing",
    }
    given = ", ".join(f"{name}={options[name]}" for name in in_order(options))
    plan = re.sub(redaction(), "*", f"Relation zkgroup, [{given}], [key#1]")
    assert leaks_of(plan) == []
    assert "group.id=billing" in plan
