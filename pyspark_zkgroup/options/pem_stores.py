"""PEM files that options name, read on the driver; stores of other kinds are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.security import pem
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.tls import BadAuthoritiesError, BadKeyError, Tls, context

_BYTES_MAX = 16 * 1024 * 1024
_MAKE_TRUST = "keytool -list -rfc -keystore {store} > trust.pem"
_MAKE_PKCS12 = (
    "keytool -importkeystore -srckeystore {store} -destkeystore key.p12 -deststoretype PKCS12"
)
_MAKE_KEY = "openssl pkcs12 -in {store} -nodes -out key.pem"


@dataclass(frozen=True, slots=True)
class PemStore:
    """The options that name a file, and say what kind it is: no kind is that of the file."""

    location: Option[str | None]
    kind: Option[Any]
    is_trust: bool

    def text(self, given: Given) -> str:
        path = given.value(self.location) or ""
        declared = given.value(self.kind)
        try:
            with Path(path).open("rb") as file:
                content = file.read(_BYTES_MAX)
        except OSError as error:
            raise OptionError(
                f"Option {given.shown(self.location)}, which the driver cannot read: "
                f"{error.strerror}",
                "Give the path of a file on the driver's machine",
            ) from None
        found = pem.kind_of_store(content) or declared or "PEM"
        if found == "PEM" and declared in ("PEM", None):
            return content.decode("utf-8", "replace")
        if found == "PEM":
            raise OptionError(
                f"Option {given.shown(self.location)}, which is a PEM file, but "
                f"{given.shown(self.kind)}",
                f"Set {self.kind.name!r} to PEM",
            )
        raise OptionError(
            f"Option {given.shown(self.location)}, which is a store of the kind {found}: only PEM "
            "can be read",
            f"Make a PEM file of it ({self._conversion(path, found)}), and set "
            f"{self.kind.name!r} to PEM",
        )

    def certificates(self, given: Given) -> str:
        return self._part(given, pem.certificates, self.text(given))

    def key_and_certificates(self, given: Given) -> tuple[str, Secret]:
        text = self.text(given)
        chain = self._part(given, pem.certificates, text)
        return chain, Secret(self._part(given, pem.private_key, text))

    def _part(self, given: Given, read: Callable[[str], str], text: str) -> str:
        try:
            return read(text)
        except ValueError as error:
            raise OptionError(
                f"Option {given.shown(self.location)}, which {error}",
                "Look at it with openssl x509 -text or openssl pkey",
            ) from None

    def _conversion(self, path: str, kind: str) -> str:
        if self.is_trust:
            return _MAKE_TRUST.format(store=path)
        if kind == "PKCS12":
            return _MAKE_KEY.format(store=path)
        return f"{_MAKE_PKCS12.format(store=path)}, then {_MAKE_KEY.format(store='key.p12')}"


def checked(
    given: Given, tls: Tls, *, trust: Option[Any], key: Option[Any], password: Option[Any]
) -> Tls:
    """As it is, if connections can be made with it. The options are those it came from."""
    is_locked = pem.is_locked(tls.key.text)
    if is_locked and password not in given:
        raise OptionError(
            f"The private key is locked, but {password.name!r} is not given", "Give it"
        )
    if password in given and not is_locked:
        raise OptionError(
            f"Option {given.shown(password)}, but there is no locked private key",
            "Leave it out, or give a key with -----BEGIN ENCRYPTED PRIVATE KEY-----",
        )
    try:
        context(tls)
    except BadAuthoritiesError as error:
        raise OptionError(
            f"Option {given.shown(trust)}, which {error}",
            "Look at it with openssl x509 -text",
        ) from None
    except BadKeyError as error:
        raise OptionError(
            f"Option {given.shown(key)}, whose private key {error}",
            "Look at it with openssl pkey, and at the certificate with openssl x509 -text",
        ) from None
    return tls
