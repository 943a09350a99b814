"""How a client knows servers and shows itself to them by TLS; and the context that does it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_zkgroup.security.secret import NO_SECRET, Secret

if TYPE_CHECKING:
    import ssl

VERSIONS = ("TLSv1.2", "TLSv1.3")


class BadKeyError(ValueError):
    """Certificate and key cannot be used; the text says why."""


class BadAuthoritiesError(ValueError):
    """The certificates to trust cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Texts are PEM: they travel to the tasks, which may have none of the files."""

    authorities: str = field(default="", repr=False)
    """Certificates that are trusted; none: those that the system trusts."""
    certificates: str = field(default="", repr=False)
    """Our own, and those behind it; none: we show none."""
    key: Secret = NO_SECRET
    key_password: Secret = NO_SECRET
    check_host: bool = True
    """False: a server may show a trusted certificate of another host."""
    versions: tuple[str, ...] = VERSIONS


def context(tls: Tls) -> ssl.SSLContext:
    import ssl  # OpenSSL is loaded where something is encrypted, not with the options

    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = tls.check_host
    versions = sorted(ssl.TLSVersion[name.replace(".", "_")] for name in tls.versions)
    made.minimum_version, made.maximum_version = versions[0], versions[-1]
    # As in a JVM's trust store, any certificate that is named is trusted, not only a self-signed
    # one.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if tls.authorities:
        try:
            made.load_verify_locations(cadata=tls.authorities)
        except ssl.SSLError as error:
            raise BadAuthoritiesError(
                f"is no certificate that can be read ({_why(error)})"
            ) from None
    else:
        made.load_default_certs()
    if tls.certificates:
        _show(made, tls)
    return made


def _show(made: ssl.SSLContext, tls: Tls) -> None:
    """OpenSSL takes a key from a file alone: one that no other user can read, deleted at once."""
    import ssl

    handle, name = tempfile.mkstemp(suffix=".pem")  # mkstemp: mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(tls.key.text + tls.certificates)
        made.load_cert_chain(name, password=tls.key_password.text)
    except ssl.SSLError as error:
        raise BadKeyError(_key_reason(error, is_locked=bool(tls.key_password.text))) from None
    finally:
        Path(name).unlink()


def _key_reason(error: ssl.SSLError, *, is_locked: bool) -> str:
    reason = error.reason or ""
    if reason == "KEY_VALUES_MISMATCH" or reason == "KEY_TYPE_MISMATCH":
        return "is not the key of the first certificate"
    if is_locked:  # OpenSSL has several reasons for a wrong password
        return "cannot be decrypted with its password"
    return f"cannot be read ({_why(error)})"


def _why(error: ssl.SSLError) -> str:
    return (error.reason or "unknown").lower().replace("_", " ")
