"""The schema registry: where it is, and how it is logged in to."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.brokers import POLL_TIMEOUT
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Section
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.options.tls import NO_EFFECT, PASSWORD, PATH, PemFile
from pyspark_zkgroup.registry.access import RegistryAccess
from pyspark_zkgroup.security import pem
from pyspark_zkgroup.security.secret import NO_SECRET, Secret
from pyspark_zkgroup.security.tls import Tls


def _urls(text: str) -> tuple[str, ...]:
    found = tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    for one in found:
        try:
            split = urlsplit(one)
            is_url = split.scheme in ("http", "https") and bool(split.hostname)
            is_url = is_url and split.port != 0 and not split.query and not split.fragment
        except ValueError:
            is_url = False
        if not is_url:
            raise ValueError("is no http(s) address")
    if not found:
        raise ValueError("is empty")
    return found


def _user_info(text: str) -> Secret:
    secret: Secret = PASSWORD.read(text)
    if ":" not in secret.text:
        raise ValueError("has no colon between user and password")
    return secret


def _token(text: str) -> Secret:
    """In a header, where Python refuses others with a message that shows the token."""
    secret: Secret = PASSWORD.read(text)
    if not _HEADER_TEXT.fullmatch(secret.text):
        raise ValueError("has a blank, the end of a line or another character that no token has")
    return secret


_HEADER_TEXT = re.compile(r"[!-~]+")
_URLS: Rule[tuple[str, ...]] = Rule(
    "http(s) addresses of one registry's servers, separated by commas", _urls
)
_USER_INFO: Rule[Secret] = Rule("user:password", _user_info)

SECTION: Final = Section(__name__, "Schema registry")

URL = SECTION.optional("schema.registry.url", _URLS, secret=True)
"""Addresses of the servers of a schema registry with Confluent's API, separated by commas. Each
record then begins with a zero byte and the id of its schema, which tasks get from the registry.
Shown as a secret in messages, since an address may contain a login by mistake.
"""
USER_INFO = SECTION.optional("schema.registry.basic.auth.user.info", _USER_INFO, secret=True)
"""user:password for the registry. Never shown in messages; `${env:NAME}` or
`${directory:/path:file}` keeps it out of Spark's plans.
"""
TOKEN = SECTION.optional(
    "schema.registry.bearer.auth.token", Rule("a bearer token", _token), secret=True
)
"""A bearer token for the registry, instead of user and password. Never shown in messages;
`${env:NAME}` or `${directory:/path:file}` keeps it out of Spark's plans.
"""
TRUST_LOCATION = SECTION.optional(
    "schema.registry.ssl.truststore.location",
    PATH,
    default_text="the system's trusted certificates",
)
"""PEM file with the certificates to trust for https addresses, read on the driver."""
KEY_LOCATION = SECTION.optional("schema.registry.ssl.keystore.location", PATH)
"""PEM file with this client's unencrypted private key and its certificates, its own first, for
https addresses, read on the driver.
"""
KEY_SUBJECT = SECTION.optional(
    "key.subject", Rule("a subject's name", rules.not_empty), default_text="TOPIC-key"
)
"""The subject whose newest schema gives the column `key` its type, if there is no `.schema(...)`.
Required for several topics.
"""
VALUE_SUBJECT = SECTION.optional(
    "value.subject", Rule("a subject's name", rules.not_empty), default_text="TOPIC-value"
)
"""The subject whose newest schema gives the column `value` its type, if there is no
`.schema(...)`. Required for several topics.
"""


def subject_of(column: str, given: str | None, topics: Collection[str]) -> str:
    """OptionError if neither an option nor a topic names it."""
    if given is not None:
        return given
    if len(topics) != 1:
        raise OptionError.of("subject_missing", column=column)
    return f"{next(iter(topics))}-{column}"


def open_registry(address: str) -> RegistryAccess:
    """One without a login. OptionError if it is no address."""
    try:
        urls = _urls(address)
    except ValueError as error:
        raise OptionError.of("bad_registry_url", error=error) from None
    if any("@" in urlsplit(url).netloc for url in urls):
        raise OptionError.of("login_in_url", option="--registry", remedy=USER_INFO.name)
    return RegistryAccess(urls)


def registry_access(given: Given) -> RegistryAccess | None:
    urls = given.value(URL)
    if urls is None:
        given.refuse(
            [option for option in SECTION if option is not URL],
            f"{URL.name!r} is not given, {NO_EFFECT}",
            f"Give {URL.name!r}, or leave it out",
        )
        return None
    if any("@" in urlsplit(url).netloc for url in urls):
        raise OptionError.of("login_in_url", option=URL.name, remedy=USER_INFO.name)
    if USER_INFO in given and TOKEN in given:
        raise given.clash(USER_INFO, TOKEN, "Give one of them")
    return RegistryAccess(
        urls,
        given.value(USER_INFO) or NO_SECRET,
        given.value(TOKEN) or NO_SECRET,
        _tls(given, urls),
        given.value(POLL_TIMEOUT) / 1000,
    )


def _tls(given: Given, urls: tuple[str, ...]) -> Tls:
    if not any(url.startswith("https:") for url in urls):
        given.refuse(
            (TRUST_LOCATION, KEY_LOCATION),
            f"no address in {URL.name!r} begins with https, {NO_EFFECT}",
            "Change the addresses, or leave it out",
        )
        return Tls()
    authorities, chain, key = "", "", NO_SECRET
    if TRUST_LOCATION in given:
        authorities = PemFile(TRUST_LOCATION, None, is_trust=True).certificates(given)
    if KEY_LOCATION in given:
        chain, key = PemFile(KEY_LOCATION, None, is_trust=False).certificates_and_key(given)
        if pem.is_locked(key.text):
            remedy = "Give one that is not: openssl pkey -in LOCKED -out KEY opens it"
            raise given.error(KEY_LOCATION, ", whose key is locked", remedy)
    return Tls(authorities, chain, key)
