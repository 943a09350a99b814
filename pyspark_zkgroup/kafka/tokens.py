"""Where a token for OAUTHBEARER comes from, each time a connection logs in."""

from __future__ import annotations

import base64
import importlib
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import kafka.errors
from kafka.net.sasl.oauth import AbstractTokenProvider

from pyspark_zkgroup import clock
from pyspark_zkgroup.security.sasl import (
    TokenEndpoint,
    TokenFile,
    TokenFunction,
    UnsignedToken,
)

_TIMEOUT_S = 10.0
_EARLY_S = 30.0
_ANSWER_BYTES_MAX = 1024 * 1024


class NoTokenError(kafka.errors.SaslAuthenticationFailedError):  # type: ignore[misc]
    """There is none to log in with, and asking again will not help."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Else the login, which the request carries, would be sent to whatever host is named."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class _Provider(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, login: Any) -> None:
        super().__init__()
        self._login = login
        self._token = ""
        self._good_until = 0.0

    def token(self) -> str:
        login = self._login
        if isinstance(login, UnsignedToken):
            return unsigned(login, time.time())
        if isinstance(login, TokenFile):
            return _from_file(login)
        if isinstance(login, TokenFunction):
            return _from_function(login)
        if clock.monotonic() >= self._good_until:
            self._token, seconds = _from_endpoint(login)
            self._good_until = clock.monotonic() + max(0.0, seconds - _EARLY_S)
        return self._token

    def extensions(self) -> dict[str, str]:
        return dict(getattr(self._login, "extensions", ()))


def provider(
    login: UnsignedToken | TokenFile | TokenFunction | TokenEndpoint,
) -> AbstractTokenProvider:
    return _Provider(login)


def unsigned(login: UnsignedToken, now: float) -> str:
    claims = {name: list(v) if isinstance(v, tuple) else v for name, v in login.claims}
    # Brokers count in whole milliseconds and round ours: a token that is there within the half of
    # one would have been made later than it came, and is refused.
    made = int(now * 1000) / 1000
    claims |= {"iat": made, "exp": made + login.lifetime_s}
    parts = [{"alg": "none"}, claims]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
    return ".".join(part.decode().rstrip("=") for part in encoded) + "."


def _from_file(login: TokenFile) -> str:
    try:
        token = Path(login.path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NoTokenError(f"no token can be read from {login.path}: {error.strerror}") from None
    if not token:
        raise NoTokenError(f"{login.path} holds no token")
    return token


def _from_function(login: TokenFunction) -> str:
    named = f"{login.module}:{login.function}"
    try:
        token = getattr(importlib.import_module(login.module), login.function)()
    except Exception as error:  # noqa: BLE001 - the user's own code; its text may hold a secret
        raise NoTokenError(f"{named} has raised {type(error).__name__}") from None
    if not isinstance(token, str) or not token:
        raise NoTokenError(f"{named} has returned no text")
    return token


def _from_endpoint(login: TokenEndpoint) -> tuple[str, float]:
    """The token, and for how many seconds it is good."""
    fields = {"grant_type": "client_credentials", **({"scope": login.scope} if login.scope else {})}
    pair = f"{login.client_id}:{login.client_secret.text}".encode()
    request = urllib.request.Request(
        login.url,
        data=urllib.parse.urlencode(fields).encode(),
        headers={
            "Authorization": f"Basic {base64.b64encode(pair).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        },
    )
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S) as response:
            answer = json.loads(response.read(_ANSWER_BYTES_MAX))
        return str(answer["access_token"]), float(answer.get("expires_in", 0))
    except urllib.error.HTTPError as error:
        error.close()
        if 300 <= error.code < 400:
            raise NoTokenError(
                f"{login.url} redirects (HTTP {error.code}), which is not followed: set "
                "kafka.sasl.oauthbearer.token.endpoint.url to where it leads"
            ) from None
        if error.code in (400, 401, 403):
            raise NoTokenError(f"{login.url} gives no token (HTTP {error.code})") from None
        raise kafka.errors.KafkaConnectionError(f"{login.url}: HTTP {error.code}") from None
    except OSError as error:
        raise kafka.errors.KafkaConnectionError(f"{login.url}: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise NoTokenError(f"{login.url} answers what holds no access_token") from None
