"""Certificates for servers and clients of a sandbox: good ones, and one for each way to be bad.

    certificates = Certificates.make(folder)
    certificates.ca, certificates.server.both, certificates.expired.key, ...

Of each identity there are three files, since programs want different ones: `certificate` (with the
authority's behind it), `key` (PKCS#8), and `both` in one. All are PEM. They are good for a day, for
servers on the loopback, and only clients that are configured to trust them.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLIENT_NAME = "client"
WRONG_HOST = "elsewhere.example"
KEY_PASSWORD = "opens-the-key"
"""Of `Certificates.locked_key`, which is the client's key once more."""
_HOSTS = ("localhost", "127.0.0.1", "::1")
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Identity:
    folder: Path
    name: str

    @property
    def certificate(self) -> Path:
        return self.folder / f"{self.name}.crt"

    @property
    def key(self) -> Path:
        return self.folder / f"{self.name}.key"

    @property
    def both(self) -> Path:
        return self.folder / f"{self.name}.pem"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where they stand. `make` writes them; the folder must not be shared with anything else."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Certificates:
        """Leaves those alone that are there already and still good for half a day."""
        made = cls(folder)
        if not made._are_good():
            made._write()
        return made

    @property
    def ca(self) -> Path:
        """The authority that signed all of them but the stranger's."""
        return self.folder / "ca.pem"

    @property
    def other_ca(self) -> Path:
        """One that signed none of them."""
        return self.folder / "other-ca.pem"

    @property
    def server(self) -> Identity:
        """For localhost, 127.0.0.1 and ::1."""
        return Identity(self.folder, "server")

    @property
    def client(self) -> Identity:
        return Identity(self.folder, CLIENT_NAME)

    @property
    def expired(self) -> Identity:
        """A server's, good until yesterday."""
        return Identity(self.folder, "expired")

    @property
    def wrong_host(self) -> Identity:
        """A server's, for another host."""
        return Identity(self.folder, "wrong-host")

    @property
    def stranger(self) -> Identity:
        """A client's, signed by the other authority."""
        return Identity(self.folder, "stranger")

    @property
    def locked_key(self) -> Path:
        """The client's key behind KEY_PASSWORD."""
        return self.folder / f"{CLIENT_NAME}-locked.key"

    def _are_good(self) -> bool:
        if not self.locked_key.exists():  # written last
            return False
        authority = x509.load_pem_x509_certificate(self.ca.read_bytes())
        return authority.not_valid_after_utc > _now() + _DAY / 2

    def _write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        authority, other = _Authority("zkgroup sandbox"), _Authority("zkgroup stranger")
        self.ca.write_bytes(authority.pem)
        self.other_ca.write_bytes(other.pem)
        now = _now()
        authority.sign(self.server, _HOSTS, until=now + _DAY)
        authority.sign(self.expired, _HOSTS, until=now - _DAY)
        authority.sign(self.wrong_host, (WRONG_HOST,), until=now + _DAY)
        other.sign(self.stranger, (), until=now + _DAY)
        key = authority.sign(self.client, (), until=now + _DAY)
        locked = serialization.BestAvailableEncryption(KEY_PASSWORD.encode())
        _write_secret(self.locked_key, _key_pem(key, locked))


class _Authority:
    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            self._begun(self._name, self._key, until=_now() + _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)

    def sign(
        self, identity: Identity, hosts: Sequence[str], *, until: dt.datetime
    ) -> ec.EllipticCurvePrivateKey:
        key = ec.generate_private_key(ec.SECP256R1())
        usages = x509.ExtendedKeyUsage(
            [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        )
        begun = (
            self._begun(_named(identity.name), key, until=until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usages, critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_host(host) for host in hosts])
            begun = begun.add_extension(names, critical=False)
        signed = begun.sign(self._key, hashes.SHA256())
        chain = signed.public_bytes(serialization.Encoding.PEM) + self.pem
        key_pem = _key_pem(key, serialization.NoEncryption())
        identity.certificate.write_bytes(chain)
        _write_secret(identity.key, key_pem)
        _write_secret(identity.both, key_pem + chain)
        return key

    def _begun(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, until: dt.datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(until - 3 * _DAY)
            .not_valid_after(until)
            # Newer versions of OpenSSL and Python want to know whose keys are whose.
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _key_pem(
    key: ec.EllipticCurvePrivateKey, locked: serialization.KeySerializationEncryption
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc)
