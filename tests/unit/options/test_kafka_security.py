"""The options of TLS and SASL: the settings they give, and errors when they do not fit."""

from __future__ import annotations

import pickle
import re
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.options import parse
from pyspark_zkgroup.security.kafka_security import OPEN, KafkaSecurity
from pyspark_zkgroup.security.sasl import AwsCredentials, Password, Sasl, TokenFunction
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.tls import Tls, context
from tests.harness.given_options import LEAST as LEAST_OF_ALL
from tests.harness.given_options import refusal
from tests.harness.planted_secrets import PASSWORD, leaks_of, redaction
from zkgroup_sandbox.certificates import KEY_PASSWORD, Certificates

# Without them a login is refused, as tests/security/test_where_logins_go.py has it.
LEAST = {**LEAST_OF_ALL, "kafka.bootstrap.servers": "k:9092"}
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
LOGIN = f'{SCRAM} required username="alice" password="{PASSWORD}";'
SASL = {
    "kafka.security.protocol": "SASL_PLAINTEXT",
    "kafka.sasl.mechanism": "scram-sha-512",
    "kafka.sasl.jaas.config": LOGIN,
}
TLS = {"kafka.security.protocol": "ssl"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("certificates"))


def security(given: dict[str, Any]) -> KafkaSecurity:
    return parse({**LEAST, **given}).fetch.security


def said(given: dict[str, Any]) -> str:
    text = refusal({**LEAST, **given})
    assert leaks_of(text) == []
    return text


def test_nothing_is_the_default() -> None:
    assert security({}) == OPEN == security({"kafka.security.protocol": "plaintext"})


def test_a_login() -> None:
    made = security(SASL)
    login = Password("alice", Secret(PASSWORD))
    assert made == KafkaSecurity("SASL_PLAINTEXT", None, Sasl("SCRAM-SHA-512", login))
    assert (made.who, made.principal) == ("user 'alice'", "User:alice")
    assert pickle.loads(pickle.dumps(made)) == made
    assert leaks_of(repr(made), repr(parse({**LEAST, **SASL}))) == []


def test_a_function_needs_no_line_of_jaas() -> None:
    given = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "oauth.token.function": "our.tokens:current",
    }
    made = Sasl("OAUTHBEARER", TokenFunction("our.tokens", "current"))
    assert security(given).sasl == made
    bearer = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
    assert security({**given, "kafka.sasl.jaas.config": f"{bearer};"}).sasl == made
    assert "'oauth.token.function' is 'our.tokens:current', but 'kafka.sasl.jaas.config'" in said(
        {**given, "kafka.sasl.jaas.config": f"{bearer} clientId=a;"}
    )


def test_logins_by_aws_need_no_line_of_jaas() -> None:
    given = {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "AWS_MSK_IAM"}
    expected = Sasl("AWS_MSK_IAM", AwsCredentials())
    line = "software.amazon.msk.auth.iam.IAMLoginModule required;"
    for pasted in ({}, {"kafka.sasl.jaas.config": line}):
        assert security({**given, **pasted}).sasl == expected


def test_secrets_may_be_named_instead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", 'with "quotes"; in it')
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    for named, password in (
        ("${env:KAFKA_PASSWORD}", 'with "quotes"; in it'),
        (f"${{directory:{tmp_path}:password}}", PASSWORD),
        ("${other:x}", "${other:x}"),
    ):
        line = f'{SCRAM} required username=alice password="{named}";'
        login = Sasl("SCRAM-SHA-512", Password("alice", Secret(password)))
        assert security({**SASL, "kafka.sasl.jaas.config": line}).sasl == login
    line = f'{SCRAM} required username=alice password="${{env:NO_SUCH}}";'
    assert "names the environment variable 'NO_SUCH', which the driver has not" in said(
        {**SASL, "kafka.sasl.jaas.config": line}
    )
    line = f'{SCRAM} required username=alice password="${{directory:{tmp_path}:none}}";'
    assert f"names {tmp_path}/none, which cannot be read: No such file or directory" in said(
        {**SASL, "kafka.sasl.jaas.config": line}
    )


def test_the_expression_of_the_manual_hides_secrets_in_a_plan(certificates: Certificates) -> None:
    """As Spark 4.2 prints the options of a stream."""
    options = {
        "kafka.sasl.jaas.config": LOGIN,
        "kafka.ssl.keystore.key": certificates.client.key.read_text(),
        "kafka.ssl.key.password": KEY_PASSWORD,
        "zookeeper.auth": f"digest:user:{PASSWORD}",
        "group.id": "billing",
    }
    for names in (list(options), list(reversed(options))):
        shown = ", ".join(f"{name}={options[name]}" for name in names)
        plan = re.sub(redaction(), "*", f"Relation zkgroup, [{shown}], [key#1]")
        assert leaks_of(plan) == []
        assert KEY_PASSWORD not in plan
        assert "group.id=billing" in plan


def test_stores_are_read_on_the_driver(certificates: Certificates) -> None:
    made = security(
        {
            **TLS,
            "kafka.ssl.truststore.type": "pem",
            "kafka.ssl.truststore.location": str(certificates.ca),
            "kafka.ssl.keystore.type": "PEM",
            "kafka.ssl.keystore.location": str(certificates.client.both),
            "kafka.ssl.enabled.protocols": "TLSv1.3",
            "kafka.ssl.endpoint.identification.algorithm": "",
        }
    )
    assert made.tls == Tls(
        authorities=certificates.ca.read_text(),
        certificates=certificates.client.certificate.read_text(),
        key=Secret(certificates.client.key.read_text()),
        check_host=False,
        versions=("TLSv1.3",),
    )
    found = context(made.tls)
    assert (found.check_hostname, found.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert found.minimum_version == found.maximum_version == ssl.TLSVersion.TLSv1_3
    assert leaks_of(repr(made)) == []


def test_a_key_leaves_no_file_behind(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = certificates.client.certificate.read_text()
    key = certificates.client.key.read_text()
    context(Tls(certificates=text, key=Secret(key)))
    with pytest.raises(ValueError):
        context(Tls(certificates=text, key=Secret(key.replace("M", "N", 3))))
    assert list(tmp_path.iterdir()) == []


def test_options_that_would_have_no_effect_are_refused() -> None:
    assert said({"kafka.sasl.jaas.config": LOGIN}) == (
        "Option 'kafka.sasl.jaas.config' is '*****', but 'kafka.security.protocol' is PLAINTEXT by "
        "default, where it would have no effect. Set 'kafka.security.protocol' to SASL_PLAINTEXT "
        "or SASL_SSL, or leave the other out"
    )
    assert said({**SASL, "kafka.ssl.truststore.type": "PEM"}) == (
        "Option 'kafka.ssl.truststore.type' is 'PEM', but 'kafka.security.protocol' is "
        "'SASL_PLAINTEXT', where it would have no effect. Set 'kafka.security.protocol' to SSL or "
        "SASL_SSL, or leave the other out"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"kafka.security.protocol": "SASL_SSL"},
            "Option 'kafka.sasl.jaas.config' is missing, but 'kafka.security.protocol' is "
            "'SASL_SSL' and 'kafka.sasl.mechanism' is GSSAPI by default. Set it to: "
            "com.sun.security.auth.module.Krb5LoginModule required, its options, and a semicolon",
        ),
        (
            {**SASL, "kafka.sasl.mechanism": "PLAIN"},
            "Option 'kafka.sasl.jaas.config' is '*****', which names the login module "
            f"{SCRAM}, but PLAIN needs "
            "org.apache.kafka.common.security.plain.PlainLoginModule. See docs/security.md for "
            "what PLAIN needs",
        ),
        (
            {**SASL, "kafka.sasl.jaas.config": LOGIN[:-1]},
            "Option 'kafka.sasl.jaas.config' is '*****', which does not end with a semicolon (at "
            f"character {len(LOGIN)}). Allowed: one login module, such as "
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="..." password="...";',
        ),
        (
            {**SASL, "kafka.sasl.mechanism": "DIGEST"},
            "Option 'kafka.sasl.mechanism' is 'DIGEST', which is not an allowed value. Allowed: "
            "PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512 or OAUTHBEARER or GSSAPI or AWS_MSK_IAM",
        ),
        (
            {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "AWS_MSK_IAM"},
            "Option 'kafka.sasl.mechanism' is 'AWS_MSK_IAM', but 'kafka.security.protocol' is "
            "'SASL_PLAINTEXT'. Set the latter to SASL_SSL",
        ),
        (
            {**SASL, "oauth.token.function": "a:b"},
            "Option 'oauth.token.function' is 'a:b', but 'kafka.sasl.mechanism' is "
            "'scram-sha-512'. It is for OAUTHBEARER: leave it out",
        ),
        (
            {**TLS, "kafka.ssl.keystore.certificate.chain": "x"},
            "Option 'kafka.ssl.keystore.certificate.chain' is 'x', which holds no "
            "-----BEGIN CERTIFICATE-----. Allowed: certificates as PEM "
            "(-----BEGIN CERTIFICATE----- and so on)",
        ),
        (
            {**TLS, "kafka.ssl.key.password": PASSWORD},
            "Option 'kafka.ssl.key.password' is '*****', but there is no locked private key. Leave "
            "it out, or give a key with -----BEGIN ENCRYPTED PRIVATE KEY-----",
        ),
        (
            {**TLS, "kafka.ssl.truststore.location": "/no/such/file"},
            "Option 'kafka.ssl.truststore.location' is '/no/such/file', which the driver cannot "
            "read: No such file or directory. Give the path of a file on the driver's machine",
        ),
        (
            {"kafka.sasl.username": "alice"},
            "Option 'kafka.sasl.username' (given 'alice') is refused: username and password are "
            "set in one line, as for Kafka's own clients. Use 'kafka.sasl.jaas.config', such as "
            f'{SCRAM} required username="..." password="...";',
        ),
    ],
)
def test_what_does_not_fit(given: dict[str, str], text: str) -> None:
    assert said(given) == text


def test_a_key_and_its_certificate_must_fit(certificates: Certificates) -> None:
    own = {
        **TLS,
        "kafka.ssl.keystore.certificate.chain": certificates.client.certificate.read_text(),
        "kafka.ssl.keystore.key": certificates.locked_key.read_text(),
    }
    assert said(own) == (
        "The private key is encrypted, but 'kafka.ssl.key.password' is not set. Set it to the "
        "password of the key"
    )
    assert "whose private key cannot be decrypted with its password" in said(
        {**own, "kafka.ssl.key.password": PASSWORD}
    )
    made = security({**own, "kafka.ssl.key.password": KEY_PASSWORD})
    assert leaks_of(repr(made)) == []
    assert KEY_PASSWORD not in repr(made)
    del own["kafka.ssl.keystore.certificate.chain"]
    assert said(own) == (
        "Option 'kafka.ssl.keystore.key' is '*****', but 'kafka.ssl.keystore.certificate.chain' is "
        "not given. Give both"
    )
    stranger = certificates.stranger.key.read_text()
    chain = certificates.client.certificate.read_text()
    assert "whose private key is not the key of the first certificate" in said(
        {
            **TLS,
            "kafka.ssl.keystore.certificate.chain": chain,
            "kafka.ssl.keystore.key": stranger,
        }
    )


def test_a_pem_file_that_is_not_called_one(certificates: Certificates) -> None:
    location = str(certificates.ca)
    assert said({**TLS, "kafka.ssl.truststore.location": location}) == (
        f"Option 'kafka.ssl.truststore.location' is {location!r}, which is a PEM file, but "
        "'kafka.ssl.truststore.type' is JKS by default. Set 'kafka.ssl.truststore.type' to PEM"
    )


@pytest.mark.parametrize("kind", ["JKS", pytest.param("PKCS12", marks=pytest.mark.long)])
def test_other_stores_are_refused_with_the_commands_that_make_pem_of_them(
    certificates: Certificates, tmp_path: Path, kind: str
) -> None:
    """The commands that are shown are run here, where there are their programs."""
    if not shutil.which("keytool") or not shutil.which("openssl"):
        pytest.skip("there is no keytool, or no openssl")
    trust, own = tmp_path / "trust.store", tmp_path / "own.store"
    first, both = ["-storepass", "changeit"], certificates.client.both
    kinds = ["-storetype", kind]
    add = ["-importcert", "-noprompt", "-alias", "a", "-file", str(certificates.ca)]
    keytool(tmp_path, *add, "-keystore", str(trust), *kinds, *first)
    made = ["pkcs12", "-export", "-in", str(both), "-out", "own.p12", "-passout", "pass:changeit"]
    subprocess.run(["openssl", *made], cwd=tmp_path, check=True, capture_output=True)
    moved = ["-srckeystore", "own.p12", "-srcstorepass", "changeit", "-deststorepass", "changeit"]
    keytool(tmp_path, "-importkeystore", *moved, "-destkeystore", str(own), "-deststoretype", kind)
    for name, store, expected, out in (
        ("truststore", trust, certificates.ca.read_text(), "trust.pem"),
        ("keystore", own, certificates.client.certificate.read_text(), "key.pem"),
    ):
        text = said({**TLS, f"kafka.ssl.{name}.location": str(store)})
        assert f"which is a store of the kind {kind}: only PEM can be read" in text
        commands = text.partition("Make a PEM file of it (")[2].rpartition("), and set")[0]
        for command in commands.split(", then "):
            run_with_password(command, tmp_path)
        given = {
            **TLS,
            f"kafka.ssl.{name}.location": str(tmp_path / out),
            f"kafka.ssl.{name}.type": "PEM",
        }
        tls = security(given).tls
        assert tls is not None
        assert expected in (tls.authorities, tls.certificates)


def keytool(folder: Path, *arguments: str) -> None:
    subprocess.run(["keytool", *arguments], cwd=folder, check=True, capture_output=True)


def run_with_password(command: str, folder: Path) -> None:
    """Run a command with the passwords that it would ask for."""
    told = command.replace("-in ", "-passin pass:changeit -in ")
    told = told.replace("-importkeystore", "-importkeystore -srcstorepass changeit")
    told = told.replace("-deststoretype", "-deststorepass changeit -deststoretype")
    told = told.replace("-rfc", "-rfc -storepass changeit")
    subprocess.run(told, shell=True, cwd=folder, check=True, capture_output=True)
