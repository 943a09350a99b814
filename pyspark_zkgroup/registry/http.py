"""Requests to a registry: to each of its servers in turn, until one answers or time is up.

Redirects are not followed, since they would carry the login along.
"""

from __future__ import annotations

import base64
import json
import random
import ssl
import time
import urllib.error
import urllib.request
from functools import lru_cache
from http.client import HTTPException
from typing import Any

from pyspark_zkgroup import clock
from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.registry.access import RegistryAccess
from pyspark_zkgroup.security.tls import context

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 8 * 1024 * 1024
ANSWER_S_MAX = 30.0
"""An answer that takes longer counts as none."""
_CHUNK_BYTES = 64 * 1024

_NOT_FOUND = 404
_LOGIN_REFUSED = (401, 403)
_REDIRECTS = range(300, 400)


class NotFoundError(Exception):
    """The registry answers that it does not have what was asked for; its text says what."""


class _BadAnswerError(OSError):
    """Worth another try: a proxy answers for a server that is away with its own page."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def get(access: RegistryAccess, path: str, deadline_s: float | None = None) -> Any:
    """The answer's JSON. NotFoundError, AccessError, or after the deadline ServerError."""
    give_up_at = clock.monotonic() + (access.deadline_s if deadline_s is None else deadline_s)
    pauses = delays(random.Random(), first_s=0.1, most_s=5.0)
    while True:
        for url in access.urls:
            try:
                return _asked(access, url, path)
            except (OSError, HTTPException) as error:
                reason = f"{url}: {_why(error)}"
        pause_s = next(pauses)
        if clock.monotonic() + pause_s > give_up_at:
            raise ServerError.of("no_registry", reason=reason)
        time.sleep(pause_s)


def _asked(access: RegistryAccess, url: str, path: str) -> Any:
    request = urllib.request.Request(
        url + path, headers={"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
    )
    if access.user_info.text:
        coded = base64.b64encode(access.user_info.text.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {coded}")
    elif access.token.text:
        request.add_unredirected_header("Authorization", f"Bearer {access.token.text}")
    try:
        with _opener(access).open(request, timeout=TIMEOUT_S) as response:
            answer = _read(response)
    except urllib.error.HTTPError as error:
        with error:
            is_missing = error.code == _NOT_FOUND and _is_missing(_read(error))
        raise (
            NotFoundError("it has no such schema") if is_missing else _refusal(url, error.code)
        ) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise AccessError.of(
                "registry_certificate", url=url, reason=error.reason.verify_message
            ) from None
        raise
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        raise _BadAnswerError("it answers what is not JSON") from None


def _read(response: Any) -> bytes:
    """Bounded in size and time: a server may send a byte now and then, without an end."""
    give_up_at = clock.monotonic() + ANSWER_S_MAX
    found = bytearray()
    while part := response.read1(_CHUNK_BYTES):
        found += part
        if len(found) > ANSWER_BYTES_MAX:
            raise _BadAnswerError(f"it answers more than {ANSWER_BYTES_MAX} bytes")
        if clock.monotonic() > give_up_at:
            raise _BadAnswerError(f"its answer takes more than {ANSWER_S_MAX:.0f} s")
    return bytes(found)


def _is_missing(answer: bytes) -> bool:
    """Whether the registry says so: a proxy answers with its own page or JSON for a server that is
    away, and the registry has another code for a path that it does not know.
    """
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    code = found.get("error_code") if isinstance(found, dict) else None
    return type(code) is int and code != _NOT_FOUND


def _refusal(url: str, status: int) -> Exception:
    if status in _LOGIN_REFUSED:
        return AccessError.of("registry_login", url=url, status=status)
    if status in _REDIRECTS:
        return AccessError.of("registry_redirects", url=url, status=status)
    return _BadAnswerError(f"it answers with HTTP status {status}")


@lru_cache(maxsize=8)
def _opener(access: RegistryAccess) -> urllib.request.OpenerDirector:
    https = urllib.request.HTTPSHandler(context=context(access.tls))
    return urllib.request.build_opener(_NoRedirect, https)


def _why(error: OSError | HTTPException) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason) or type(reason).__name__
