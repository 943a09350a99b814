"""What the options about TLS and logins have in common: their rules, and the PEM files that they
name, which are read on the driver; stores of other kinds are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.security import jaas, pem, placeholders
from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.tls import VERSIONS, BadAuthoritiesError, BadKeyError, Tls, context

NO_EFFECT = "where it would have no effect"

_BYTES_MAX = 16 * 1024 * 1024
_MAKE_TRUST = "keytool -list -rfc -keystore {store} > trust.pem"
_MAKE_PKCS12 = (
    "keytool -importkeystore -srckeystore {store} -destkeystore key.p12 -deststoretype PKCS12"
)
_MAKE_KEY = "openssl pkcs12 -in {store} -nodes -out key.pem"


def _versions(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found or not set(found) <= VERSIONS.keys():
        raise ValueError("is not an allowed value")
    return found


def _login_module(text: str) -> LoginModule:
    """Secrets are filled in when quotes have been read: they may hold some."""
    module = jaas.parse(text)
    options = {name: placeholders.filled(value) for name, value in module.options.items()}
    return LoginModule(module.name, options)


STORE = rules.one_of("JKS", "PKCS12", "PEM")
LOGIN_MODULE: Rule[LoginModule] = Rule(
    "one login module, such as org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="..." password="...";',
    _login_module,
)
PASSWORD: Rule[Secret] = Rule(
    "a password", lambda text: Secret(placeholders.filled(rules.not_empty(text)))
)
PATH: Rule[str] = Rule("the path of a file that the driver can read", rules.not_empty)
SERVICE: Rule[str] = Rule("the name of a service, such as kafka", rules.not_empty)
ENDPOINT_CHECK = rules.meaning_of({"": False, "https": True}, "https, or nothing (an empty text)")
VERSIONS_OF_TLS: Rule[tuple[str, ...]] = Rule(
    " or ".join([*VERSIONS, "both with a comma between"]), _versions
)


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The options of one connection. A kind that is not given is that of the file."""

    trust_location: Option[str | None]
    trust_kind: Option[Any]
    key_location: Option[str | None]
    key_kind: Option[Any]
    key_password: Option[Secret | None]
    host_check: Option[bool]
    versions: Option[tuple[str, ...]]

    def tls(
        self,
        given: Given,
        inline: Tls | None = None,
        trust: Option[Any] | None = None,
        key: Option[Any] | None = None,
    ) -> Tls:
        """`inline` are certificates and key that the options `trust` and `key` hold themselves;
        what is read from files takes their place.
        """
        made = replace(
            inline or Tls(),
            key_password=given.value(self.key_password) or NO_SECRET,
            check_host=given.value(self.host_check),
            versions=given.value(self.versions),
        )
        if trust is None or self.trust_location in given:
            trust = self.trust_location
        if key is None or self.key_location in given:
            key = self.key_location
        if self.trust_location in given:
            text = self._store(given, self.trust_location, self.trust_kind)
            made = replace(made, authorities=_part(given, trust, pem.certificates, text))
        if self.key_location in given:
            text = self._store(given, self.key_location, self.key_kind)
            chain = _part(given, key, pem.certificates, text)
            own_key = Secret(_part(given, key, pem.private_key, text))
            made = replace(made, certificates=chain, key=own_key)
        self._check(given, made, trust, key)
        return made

    def _store(self, given: Given, location: Option[str | None], kind: Option[Any]) -> str:
        content = read_file(given, location)
        declared = given.value(kind)
        found = pem.kind_of_store(content) or declared or "PEM"
        if found == "PEM" and declared in ("PEM", None):
            return content.decode("utf-8", "replace")
        if found == "PEM":
            raise OptionError(
                f"Option {given.shown(location)}, which is a PEM file, but {given.shown(kind)}",
                f"Set {kind.name!r} to PEM",
            )
        path = given.value(location) or ""
        make = f"{_MAKE_PKCS12.format(store=path)}, then {_MAKE_KEY.format(store='key.p12')}"
        if location is self.trust_location:
            make = _MAKE_TRUST.format(store=path)
        elif found == "PKCS12":
            make = _MAKE_KEY.format(store=path)
        raise OptionError(
            f"Option {given.shown(location)}, which is a store of the kind {found}: only PEM can "
            "be read",
            f"Make a PEM file of it ({make}), and set {kind.name!r} to PEM",
        )

    def _check(self, given: Given, tls: Tls, trust: Option[Any], key: Option[Any]) -> None:
        """Whether connections can be made with it. The options are those it came from."""
        is_locked = pem.is_locked(tls.key.text)
        if is_locked and self.key_password not in given:
            raise OptionError(
                f"The private key is locked, but {self.key_password.name!r} is not given", "Give it"
            )
        if not is_locked:
            given.refuse(
                [self.key_password],
                "there is no locked private key",
                "Leave it out, or give a key with -----BEGIN ENCRYPTED PRIVATE KEY-----",
            )
        try:
            context(tls)
        except BadAuthoritiesError as error:
            raise OptionError(
                f"Option {given.shown(trust)}, which {error}", "Look at it with openssl x509 -text"
            ) from None
        except BadKeyError as error:
            raise OptionError(
                f"Option {given.shown(key)}, whose private key {error}",
                "Look at it with openssl pkey, and at the certificate with openssl x509 -text",
            ) from None


def read_file(given: Given, location: Option[str | None]) -> bytes:
    try:
        with Path(given.value(location) or "").open("rb") as file:
            return file.read(_BYTES_MAX)
    except OSError as error:
        raise OptionError(
            f"Option {given.shown(location)}, which the driver cannot read: {error.strerror}",
            "Give the path of a file on the driver's machine",
        ) from None


def _part(given: Given, location: Option[Any], read: Callable[[str], str], text: str) -> str:
    try:
        return read(text)
    except ValueError as error:
        raise OptionError(
            f"Option {given.shown(location)}, which {error}",
            "Look at it with openssl x509 -text or openssl pkey",
        ) from None
