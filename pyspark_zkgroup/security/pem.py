"""Certificates and keys as PEM texts: what a user gives, in the one form that OpenSSL takes. Pure.

As in Kafka, blanks and line breaks within a block do not matter, so that it may stand on one line,
and whatever stands around the blocks is left out.
"""

from __future__ import annotations

import re
import textwrap

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_CERTIFICATES = ("CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE")
_KEYS = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")
_JKS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_DER = b"\x30\x82"


def certificates(text: str) -> str:
    """All certificates in it, in their order. ValueError with a reason where there is none."""
    found = [_block(kind, body) for kind, body in _blocks(text) if kind in _CERTIFICATES]
    if not found:
        raise ValueError("holds no -----BEGIN CERTIFICATE-----")
    return "".join(found)


def private_key(text: str) -> str:
    """The one private key in it."""
    found = [_block(kind, body) for kind, body in _blocks(text) if kind in _KEYS]
    if not found:
        raise ValueError("holds no -----BEGIN PRIVATE KEY-----")
    if len(found) > 1:
        raise ValueError(f"holds {len(found)} private keys; one is wanted")
    return found[0]


def is_locked(key: str) -> bool:
    return "BEGIN ENCRYPTED PRIVATE KEY" in key


def kind_of_store(content: bytes) -> str:
    """PEM, JKS, PKCS12, or nothing known ('')."""
    if content.startswith(_JKS):
        return "JKS"
    if content.startswith(_DER):
        return "PKCS12"
    return "PEM" if b"-----BEGIN " in content else ""


def _blocks(text: str) -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in _BLOCK.finditer(text)]


def _block(kind: str, body: str) -> str:
    if "DEK-Info" in body:
        raise ValueError(
            "contains a key in an old encrypted format; convert it: openssl pkcs8 -topk8 -in OLD "
            "-out NEW"
        )
    joined = "".join(body.split())
    if not _BASE64.fullmatch(joined) or len(joined) % 4:
        raise ValueError(f"holds a damaged -----BEGIN {kind}-----: it is no base64")
    lines = "\n".join(textwrap.wrap(joined, 64))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"
