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
    if not found or not set(found) <= set(VERSIONS):
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
class PemFile:
    """A file that an option names. Without an option for its kind, or where that is not given, the
    content tells the kind.
    """

    location: Option[str | None]
    kind: Option[Any] | None
    is_trust: bool

    def certificates(self, given: Given) -> str:
        return self._part(given, pem.certificates, self._text(given))

    def certificates_and_key(self, given: Given) -> tuple[str, Secret]:
        text = self._text(given)
        chain = self._part(given, pem.certificates, text)
        return chain, Secret(self._part(given, pem.private_key, text))

    def _part(self, given: Given, read: Callable[[str], str], text: str) -> str:
        try:
            return read(text)
        except ValueError as error:
            remedy = "Look at it with openssl x509 -text or openssl pkey"
            raise given.error(self.location, f", which {error}", remedy) from None

    def _text(self, given: Given) -> str:
        try:
            with Path(given.value(self.location) or "").open("rb") as file:
                content = file.read(_BYTES_MAX)
        except OSError as error:
            raise given.error(
                self.location,
                f", which the driver cannot read: {error.strerror}",
                "Give the path of a file on the driver's machine",
            ) from None
        self._check_kind(given, pem.kind_of_store(content))
        return content.decode("utf-8", "replace")

    def _check_kind(self, given: Given, kind: str | None) -> None:
        declared = given.value(self.kind) if self.kind else None
        found = kind or declared or "PEM"
        if found == "PEM" and declared in ("PEM", None):
            return
        if found == "PEM" and self.kind:
            remedy = f"Set {self.kind.name!r} to PEM"
            but = f", which is a PEM file, but {given.shown(self.kind)}"
            raise given.error(self.location, but, remedy)
        path = given.value(self.location) or ""
        make = f"{_MAKE_PKCS12.format(store=path)}, then {_MAKE_KEY.format(store='key.p12')}"
        if self.is_trust:
            make = _MAKE_TRUST.format(store=path)
        elif found == "PKCS12":
            make = _MAKE_KEY.format(store=path)
        declare = f", and set {self.kind.name!r} to PEM" if self.kind else ""
        raise given.error(
            self.location,
            f", which is a store of the kind {found}: only PEM can be read",
            f"Make a PEM file of it ({make}){declare}",
        )


@dataclass(frozen=True, slots=True)
class TlsOptions:
    trust: PemFile
    key: PemFile
    key_password: Option[Secret | None]
    host_check: Option[bool]
    versions: Option[tuple[str, ...]]

    def tls(
        self,
        given: Given,
        inline: Tls | None = None,
        trust_text: Option[Any] | None = None,
        key_text: Option[Any] | None = None,
    ) -> Tls:
        """`inline` are certificates and key that options hold themselves, instead of a file."""
        made = replace(
            inline or Tls(),
            key_password=given.value(self.key_password) or NO_SECRET,
            check_host=given.value(self.host_check),
            versions=given.value(self.versions),
        )
        if self.trust.location in given:
            made = replace(made, authorities=self.trust.certificates(given))
            trust_text = None
        if self.key.location in given:
            chain, key = self.key.certificates_and_key(given)
            made = replace(made, certificates=chain, key=key)
            key_text = None
        self._check(given, made, trust_text or self.trust.location, key_text or self.key.location)
        return made

    def _check(self, given: Given, tls: Tls, trust: Option[Any], key: Option[Any]) -> None:
        """Whether connections can be made with it. The options are those it came from."""
        is_locked = pem.is_locked(tls.key.text)
        if is_locked and self.key_password not in given:
            raise OptionError.of("key_password_missing", option=self.key_password.name)
        if not is_locked:
            given.refuse(
                [self.key_password],
                "there is no locked private key",
                "Leave it out, or give a key with -----BEGIN ENCRYPTED PRIVATE KEY-----",
            )
        try:
            context(tls)
        except BadAuthoritiesError as error:
            remedy = "Look at it with openssl x509 -text"
            raise given.error(trust, f", which {error}", remedy) from None
        except BadKeyError as error:
            raise given.error(
                key,
                f", whose private key {error}",
                "Look at it with openssl pkey, and at the certificate with openssl x509 -text",
            ) from None
