"""Logins by token: from a file, a function and an OAuth server."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.kafka import tokens
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security.sasl import UnsignedToken
from tests.harness.planted_secrets import PASSWORD, WRONG_PASSWORD, leaks_of
from tests.harness.secured_brokers import BEARER, RECORDS, TOPIC, jaas, read, view_of
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


def good_token() -> str:
    return tokens.unsigned(UnsignedToken((("sub", "carol"),), 3600), time.time())


@pytest.fixture
def token_endpoint() -> Iterator[str]:
    """Gives a token only to the client `app` with the planted password."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            fields = urllib.parse.parse_qs(body)
            is_app = self.headers["Authorization"] == f"Basic {base64_of(f'app:{PASSWORD}')}"
            is_right = is_app and fields["grant_type"] == ["client_credentials"]
            self.send_response(200 if is_right else 401)
            self.end_headers()
            if is_right:
                answer = {"access_token": good_token(), "expires_in": 3600}
                self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()
        thread.join()


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_token_from_a_file(servers: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(good_token() + "\n")
    given = {
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauthbearer.token.endpoint.url": f"file://{file}",
    }
    assert read(view_of(servers, "sasl_ssl", given)).num_rows == RECORDS
    file.unlink()
    with pytest.raises(AccessError, match=f"no token can be read from {file}"):
        read(view_of(servers, "sasl_ssl", given))


def test_a_token_from_a_function(servers: Sandbox) -> None:
    given = {
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "oauth.token.function": f"{__name__}:good_token",
    }
    assert read(view_of(servers, "sasl_ssl", given)).num_rows == RECORDS


def brief_token() -> str:
    """Of 2 s; a login by it ends then."""
    _given.append("")
    return tokens.unsigned(UnsignedToken((("sub", "carol"),), 2), time.time())


_given: list[str] = []


@pytest.mark.parametrize("pause_s", [0.2, 3.0], ids=["busy", "idle"])
def test_reading_continues_when_a_token_expires(servers: Sandbox, pause_s: float) -> None:
    given = {
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "oauth.token.function": f"{__name__}:brief_token",
    }
    before = len(_given)
    with closing(view_of(servers, "sasl_ssl", given)) as view:

        def logins() -> int:
            assert view.latest([TopicPartition(TOPIC, 0)])
            return len(_given) - before

        first = logins()
        failures: list[Exception] = []

        def have_more() -> bool:
            try:
                return logins() >= first + 2
            except Exception as error:
                failures.append(error)
                raise

        wait_until(have_more, 30, "logins with further tokens", interval_s=pause_s)
    assert failures == []


@pytest.mark.parametrize("password", [PASSWORD, WRONG_PASSWORD])
def test_a_token_from_an_endpoint(servers: Sandbox, token_endpoint: str, password: str) -> None:
    given = {
        **jaas("OAUTHBEARER", f'{BEARER} clientId="app" clientSecret="{password}";'),
        "kafka.sasl.oauthbearer.token.endpoint.url": token_endpoint,
    }
    view = view_of(servers, "sasl_ssl", given)
    if password == PASSWORD:
        assert read(view).num_rows == RECORDS
        return
    with pytest.raises(AccessError, match=r"gives no token \(HTTP 401\)") as caught:
        read(view)
    assert leaks_of(f"{caught.value}") == []
