"""Brokers that require TLS, a login and ACLs: admitted clients read, others fail at once."""

from __future__ import annotations

import logging
import pickle
import time

import pytest

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.inspect.group_reader import opened
from pyspark_zkgroup.jvm.brokers import parse_broker
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.cluster_view import ClusterView
from tests.harness.planted_secrets import PASSWORD, TOKEN, WRONG_PASSWORD, leaks_of
from tests.harness.producing import produce
from tests.harness.secured_brokers import (
    BEARER,
    HIDDEN,
    LISTED,
    PLAIN,
    RECORDS,
    TOPIC,
    certificates_of,
    inline,
    jaas,
    one_line,
    options_of,
    read,
    scram,
    showing,
    view_of,
)
from zkgroup_sandbox import Sandbox, access
from zkgroup_sandbox.certificates import KEY_PASSWORD, Certificates

AT_ONCE_S = 6.0
"""On a loaded machine; it is some tenths of a second on one at rest. Waiting would take 10 s."""


@pytest.fixture(scope="module")
def certificates(servers: Sandbox) -> Certificates:
    return certificates_of(servers)


GOOD = {
    "tls": ("ssl", {}),
    "tls 1.2": ("ssl", {"kafka.ssl.enabled.protocols": "TLSv1.2"}),
    "tls, any host": ("wrong_host", {"kafka.ssl.endpoint.identification.algorithm": ""}),
    "plain": (
        "sasl_plaintext",
        jaas("PLAIN", f'{PLAIN} username="alice" password="alice-secret";'),
    ),
    "plain in tls": ("sasl_ssl", jaas("PLAIN", f'{PLAIN} username=alice password="alice-secret";')),
    "scram 256": ("sasl_ssl", scram(PASSWORD, "SCRAM-SHA-256")),
    "scram 512": ("sasl_plaintext", scram(PASSWORD)),
    "unsigned token": (
        "sasl_ssl",
        jaas("OAUTHBEARER", f'{BEARER} unsecuredLoginStringClaim_sub="carol";'),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_admitted_client_reads(servers: Sandbox, name: str) -> None:
    view = view_of(servers, *GOOD[name])
    assert view.latest([TopicPartition(TOPIC, 0)]) == {TopicPartition(TOPIC, 0): RECORDS}
    view.close()
    assert read(view)["value"].to_pylist() == [b"%d" % n for n in range(RECORDS)]


@pytest.mark.parametrize("how", ["location", "inline"])
def test_a_client_that_shows_a_certificate(
    servers: Sandbox, certificates: Certificates, how: str
) -> None:
    is_inline = how == "inline"
    given = inline(certificates) if is_inline else showing(certificates.client.both)
    view = view_of(servers, "mutual", given)
    assert read(view).num_rows == RECORDS


def test_certificates_to_trust_may_stand_in_the_option(
    servers: Sandbox, certificates: Certificates
) -> None:
    options = options_of(servers, "ssl", {})
    (broker,) = servers.brokers
    given = {
        "zookeeper.connect": "zk1",
        "group.id": "secured",
        "subscribe": TOPIC,
        "kafka.bootstrap.servers": broker.listener("ssl"),
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.certificates": one_line(certificates.ca),
    }
    assert parse(given).fetch.security == options.fetch.security


def test_records_of_many_tls_records_come_whole(servers: Sandbox) -> None:
    """An answer of megabytes is hundreds of records of TLS, and ends within one of them."""
    topic = "large"
    tp = TopicPartition(topic, 0)
    servers.create_topic(topic, 1)
    access.allow(servers.brokers[0], "User:carol", topic, ["READ", "DESCRIBE"])
    values: list[bytes | None] = [bytes([n]) * (300_000 + n) for n in range(40)]
    produce(servers.bootstrap_servers, tp, values, batch_size=700_000)
    view = view_of(servers, "sasl_ssl", scram(PASSWORD), topic)
    assert read(view, topic, len(values))["value"].to_pylist() == values


# The listener, the options, the message, and the remedy.
BAD = {
    "password": (
        "sasl_ssl",
        scram(WRONG_PASSWORD),
        "does not accept the login of user 'carol' by SCRAM-SHA-512",
        "Check username and password in kafka.sasl.jaas.config",
    ),
    "plain password": (
        "sasl_plaintext",
        jaas("PLAIN", f'{PLAIN} username="alice" password="{WRONG_PASSWORD}";'),
        "does not accept the login of user 'alice' by PLAIN",
        "Check username and password in kafka.sasl.jaas.config",
    ),
    "user": (
        "sasl_plaintext",
        scram(PASSWORD, user="unknown"),
        "does not accept the login of user 'unknown' by SCRAM-SHA-512",
        "that the brokers know this user for SCRAM-SHA-512",
    ),
    "mechanism": (
        "sasl_ssl",
        jaas(
            "GSSAPI",
            "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true "
            "serviceName=kafka;",
        ),
        "does not take logins by GSSAPI",
        "Set kafka.sasl.mechanism to one that the listener has enabled",
    ),
    "token": (
        "sasl_ssl",
        {
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "oauth.token.function": f"{__name__}:bad_token",
        },
        "does not accept the login of this client (OAUTHBEARER)",
        "Check where its token comes from",
    ),
    "expired certificate": (
        "expired",
        {},
        "shows a TLS certificate that is not accepted: certificate has expired",
        "Renew the broker's certificate",
    ),
    "wrong host": (
        "wrong_host",
        {},
        "certificate is not valid for '127.0.0.1'",
        "Reach the broker (kafka.bootstrap.servers, advertised.listeners) by a name",
    ),
    "no client certificate": (
        "mutual",
        {},
        "refuses our TLS connection",
        "It may want a certificate of this client",
    ),
    "no tls at a port with": (
        "sasl_ssl",
        {"kafka.security.protocol": "SASL_PLAINTEXT", **scram(PASSWORD)},
        "speaks TLS on that port",
        "Set kafka.security.protocol to SSL or SASL_SSL",
    ),
}


def bad_token() -> str:
    return TOKEN


@pytest.mark.parametrize("name", BAD)
def test_a_refused_client_learns_why_at_once(
    servers: Sandbox, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    listener, given, what, remedy = BAD[name]
    view = view_of(servers, listener, given)
    caplog.set_level(logging.DEBUG)
    began = time.monotonic()
    with pytest.raises(AccessError) as on_driver:
        view.latest([TopicPartition(TOPIC, 0)])
    view.close()
    between = time.monotonic()
    with pytest.raises(AccessError) as in_task:
        read(view)
    ended = time.monotonic()
    for error in (on_driver.value, in_task.value):
        assert what in error.what
        assert view.fetch_settings().bootstrap[0] in error.what
        assert remedy in error.remedy
        again = pickle.loads(pickle.dumps(error))
        assert leaks_of(str(error), repr(error), str(again), repr(again)) == []
    assert (between - began < AT_ONCE_S, ended - between < AT_ONCE_S) == (True, True)
    assert leaks_of(caplog.text) == []


def test_a_topic_that_may_not_be_looked_at(servers: Sandbox) -> None:
    view = view_of(servers, "sasl_ssl", scram(PASSWORD), HIDDEN)
    began = time.monotonic()
    with pytest.raises(AccessError) as on_driver:
        view.latest([TopicPartition(HIDDEN, 0)])
    view.close()
    with pytest.raises(AccessError) as in_task:
        read(view, HIDDEN)
    assert time.monotonic() - began < 2 * AT_ONCE_S
    assert (
        f"{on_driver.value}"
        == f"{in_task.value}"
        == (
            "[ZKG-014] The brokers do not allow user 'carol' to describe topic 'for-others' "
            "(TopicAuthorizationFailed). Add the ACLs: kafka-acls --add --allow-principal "
            "User:carol --operation Read --operation Describe --topic for-others"
        )
    )


def test_a_named_topic_that_is_hidden_is_not_taken_for_one_that_is_not_there_yet(
    servers: Sandbox,
) -> None:
    """Where topics come from Kafka: among all of its topics a hidden one is not listed."""
    view = view_of(servers, "sasl_ssl", scram(PASSWORD), HIDDEN)
    with pytest.raises(AccessError, match="user 'carol' to describe topic 'for-others'"):
        view.partitions()
    view.close()
    view = view_of(servers, "sasl_ssl", scram(PASSWORD), TOPIC)
    assert view.partitions()[TOPIC] == (0,)
    view.close()


def test_a_topic_that_may_be_looked_at_and_not_read(servers: Sandbox) -> None:
    view = view_of(servers, "sasl_ssl", scram(PASSWORD), LISTED)
    assert view.latest([TopicPartition(LISTED, 0)]) == {TopicPartition(LISTED, 0): RECORDS}
    view.close()
    began = time.monotonic()
    with pytest.raises(AccessError, match="user 'carol' to read topic 'only-described'"):
        read(view, LISTED)
    assert time.monotonic() - began < AT_ONCE_S


def test_nothing_of_a_login_is_logged_or_shown(
    servers: Sandbox, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)  # below DEBUG: kafka-python's own loop traces there
    given = {
        **jaas("PLAIN", f'{PLAIN} username="alice" password="alice-secret";'),
        **inline(certificates),
    }
    options = options_of(servers, "sasl_ssl", given)
    view = ClusterView(options)
    assert read(view).num_rows == RECORDS
    assert "Request" in caplog.text, "kafka-python logs no requests any more: look at what it does"
    shown = (caplog.text, repr(options), repr(view.fetch_settings()), str(options))
    for text in shown:
        assert leaks_of(text) == []
        assert "alice-secret" not in text
        assert KEY_PASSWORD not in text


def test_brokers_found_in_zookeeper_are_reached_by_the_listener_of_the_protocol(
    servers: Sandbox,
) -> None:
    (broker,) = servers.brokers
    with opened(servers.kafka_zookeeper_connect) as store:
        (node,) = store.nodes(["/brokers/ids/1"])
    assert node is not None
    data = node.data
    for listener, protocol in (("ssl", "SSL"), ("sasl_ssl", "SASL_SSL")):
        assert parse_broker("/brokers/ids/1", data, protocol) == broker.listener(listener)
    assert parse_broker("/brokers/ids/1", data) == broker.address
