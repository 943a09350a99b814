"""Rules for single values of options about TLS and SASL."""

from __future__ import annotations

import re

from pyspark_zkgroup.options.values import Rule
from pyspark_zkgroup.security import jaas, pem, placeholders
from pyspark_zkgroup.security.jaas import LoginModule
from pyspark_zkgroup.security.kafka_security import PROTOCOLS
from pyspark_zkgroup.security.sasl import MECHANISMS, TokenFunction
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.tls import VERSIONS

STORES = ("JKS", "PKCS12", "PEM")

_URL = re.compile(r"https?://[^\s/]+\S*|file:(//)?/\S+")
_FUNCTION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


def _word_of(*words: str) -> Rule[str]:
    """One of the words, in any case; the value is the word as it stands here."""

    def read(text: str) -> str:
        for word in words:
            if text.lower() == word.lower():
                return word
        raise ValueError("is not an allowed value")

    return Rule(" or ".join(words), read)


def _endpoint_check(text: str) -> bool:
    if text.lower() not in ("", "https"):
        raise ValueError("is not an allowed value")
    return bool(text)


def _versions(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found or not set(found) <= VERSIONS.keys():
        raise ValueError("is not an allowed value")
    return found


def _given(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise ValueError("is neither an http(s) nor a file address")
    return text


def _function(text: str) -> TokenFunction:
    found = _FUNCTION.fullmatch(text)
    if found is None:
        raise ValueError("does not name a module, a colon and a function")
    return TokenFunction(found[1], found[2])


def _password(text: str) -> Secret:
    if not text:
        raise ValueError("is empty")
    return Secret(placeholders.filled(text))


def _login_module(text: str) -> LoginModule:
    """Secrets are filled in when quotes have been read: they may hold some."""
    module = jaas.parse(text)
    options = {name: placeholders.filled(value) for name, value in module.options.items()}
    return LoginModule(module.name, options)


def _key(text: str) -> Secret:
    return Secret(pem.private_key(text))


PROTOCOL = _word_of(*PROTOCOLS)
MECHANISM = _word_of(*MECHANISMS)
STORE = _word_of(*STORES)
LOGIN_MODULE: Rule[LoginModule] = Rule(
    "one login module, such as org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="..." password="...";',
    _login_module,
)
CERTIFICATES = Rule("certificates as PEM (-----BEGIN CERTIFICATE----- and so on)", pem.certificates)
KEY: Rule[Secret] = Rule("one private key as PEM (-----BEGIN PRIVATE KEY----- and so on)", _key)
PASSWORD: Rule[Secret] = Rule("a password", _password)
PATH: Rule[str] = Rule("the path of a file that the driver can read", _given)
SERVICE: Rule[str] = Rule("the name of a service, such as kafka", _given)
ENDPOINT_CHECK: Rule[bool] = Rule("https, or nothing (an empty text)", _endpoint_check)
VERSIONS_OF_TLS: Rule[tuple[str, ...]] = Rule(
    " or ".join([*VERSIONS, "both with a comma between"]), _versions
)
URL: Rule[str] = Rule("an address such as https://idp.example/token or file:///run/token", _url)
FUNCTION: Rule[TokenFunction] = Rule("module:function, such as our_tokens:current", _function)
