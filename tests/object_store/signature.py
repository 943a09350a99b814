"""Checks AWS Signature Version 4 of a request, as S3 does before anything else."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

_GIVEN = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)"
)


def is_signed(environ: Mapping[str, Any], secrets: Mapping[str, str]) -> bool:
    """Return whether the request is signed with one of these secrets, by their access keys."""
    found = _GIVEN.fullmatch(environ.get("HTTP_AUTHORIZATION", ""))
    if found is None or found[1] not in secrets:
        return False
    _, scope, names, signature = found.groups()
    path, _, query = environ["RAW_URI"].partition("?")
    parameters = sorted(one if "=" in one else f"{one}=" for one in query.split("&") if one)
    headers = "".join(f"{name}:{_header(environ, name)}\n" for name in names.split(";"))
    payload = environ["HTTP_X_AMZ_CONTENT_SHA256"]
    request = (environ["REQUEST_METHOD"], path, "&".join(parameters), headers, names, payload)
    text = "\n".join(
        (
            "AWS4-HMAC-SHA256",
            environ["HTTP_X_AMZ_DATE"],
            scope,
            hashlib.sha256("\n".join(request).encode()).hexdigest(),
        )
    )
    key = f"AWS4{secrets[found[1]]}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), signature)


def _header(environ: Mapping[str, Any], name: str) -> str:
    plain = name.upper().replace("-", "_")
    named = plain if plain in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{plain}"
    return " ".join(str(environ.get(named, "")).split())
