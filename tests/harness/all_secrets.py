"""Options with a secret in every place that takes one, and all that a query leaves behind."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization

from tests.harness.planted_secrets import KEY_PASSWORD, ZOOKEEPER_LOGIN, ZOOKEEPER_PASSWORD
from tests.harness.secured_brokers import SCRAM
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.certificates import Certificates
from zkgroup_sandbox.sessions import session

ZOE = "org.apache.zookeeper.server.auth.DigestLoginModule required"


def locked(certificates: Certificates, file: Path) -> Path:
    """The client's certificate, with its key behind the planted password."""
    key = serialization.load_pem_private_key(certificates.client.key.read_bytes(), None)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(KEY_PASSWORD.encode()),
    )
    file.write_bytes(pem + certificates.client.certificate.read_bytes())
    return file


def to_zookeeper(servers: Sandbox, own: Path, login: str = ZOOKEEPER_LOGIN) -> dict[str, str]:
    """TLS with a locked key, a login, and also a credential. The group protects its nodes."""
    (zookeeper,) = servers.zookeepers
    chroot = servers.kafka_zookeeper_connect.partition("/")[2]
    return {
        "zookeeper.connect": f"{zookeeper.secure_address}/{chroot}",
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.ssl.truststore.location": str(servers.directory / "certificates" / "ca.pem"),
        "zookeeper.ssl.keystore.location": str(own),
        "zookeeper.ssl.keystore.password": KEY_PASSWORD,
        "zookeeper.sasl.jaas.config": f'{ZOE} username="zoe" password="{login}";',
        "zookeeper.auth": f"digest:app:{ZOOKEEPER_PASSWORD}",
        "zookeeper.set.acl": "true",
    }


def to_brokers(servers: Sandbox, password: str, user: str = "carol") -> dict[str, str]:
    """A login within TLS, and a private key that is in its option."""
    certificates = Certificates(servers.directory / "certificates")
    return {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{SCRAM} username="{user}" password="{password}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(certificates.ca),
        "kafka.ssl.keystore.certificate.chain": certificates.client.certificate.read_text(),
        "kafka.ssl.keystore.key": certificates.client.key.read_text(),
    }


def with_locked_key(own: Path) -> dict[str, str]:
    """In place of the key of `to_brokers`: one behind the planted password."""
    return {
        "kafka.ssl.keystore.key": own.read_text(),
        "kafka.ssl.key.password": KEY_PASSWORD,
    }


def znodes(connect: str) -> list[bytes]:
    """Everything below /consumers, names and content; by a client that may read all of it."""
    found: list[bytes] = []
    with session(connect) as client:
        paths = ["/consumers"]
        while paths:
            path = paths.pop()
            found += [path.encode(), client.get(path)[0] or b""]
            paths += [f"{path}/{child}" for child in client.get_children(path)]
    return found
