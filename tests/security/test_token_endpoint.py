"""The client secret for an OAuth server goes to that server alone, and encrypted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka import tokens
from pyspark_zkgroup.kafka.tokens import NoTokenError
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.security.sasl import TokenEndpoint
from pyspark_zkgroup.security.secret import Secret
from tests.harness.given_options import LEAST
from tests.harness.planted_secrets import PASSWORD, leaks_of

JAAS = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    f'clientId="app" clientSecret="{PASSWORD}";'
)


@contextmanager
def serving(status: int, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """Answers each request so; the list has what clients sent to log in."""
    seen: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token", seen
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(status: int) -> None:
    with (
        serving(200) as (elsewhere, taken),
        serving(status, elsewhere.replace("127.0.0.1", "localhost")) as (endpoint, asked),
    ):
        login = TokenEndpoint(endpoint, "app", Secret(PASSWORD), "", ())
        with pytest.raises(NoTokenError, match=r"redirects .* which is not followed") as refused:
            tokens.provider(login).token()
    assert len(asked) == 1
    assert taken == []
    assert leaks_of(f"{refused.value}") == []


def _options(url: str, **more: str) -> dict[str, str]:
    return {
        **LEAST,
        "kafka.bootstrap.servers": "b1:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.jaas.config": JAAS,
        "kafka.sasl.oauthbearer.token.endpoint.url": url,
        **more,
    }


def test_an_endpoint_without_tls_is_refused_unless_it_is_allowed() -> None:
    with pytest.raises(OptionError) as refused:
        parse(_options("http://login.example.com/token"))
    assert "travel unencrypted. Use an https: address, or set" in f"{refused.value}"
    assert leaks_of(f"{refused.value}") == []
    allowed = {"kafka.sasl.oauthbearer.token.endpoint.allow.http": "true"}
    parse(_options("http://login.example.com/token", **allowed))


@pytest.mark.parametrize(
    "url", ["https://login.example.com/token", "http://localhost:8080/token", "http://[::1]/token"]
)
def test_other_endpoints_are_taken(url: str) -> None:
    parse(_options(url))


@pytest.mark.parametrize("url", ["http://localhost.evil.com/", "http://127.0.0.1@evil.com/token"])
def test_a_name_that_looks_like_this_machine_is_another(url: str) -> None:
    with pytest.raises(OptionError, match="unencrypted"):
        parse(_options(url))
