"""Requests to a registry: logins, refusals, and servers that answer what they should not."""

from __future__ import annotations

import base64
import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.registry import http
from pyspark_zkgroup.registry.access import RegistryAccess
from pyspark_zkgroup.registry.http import ANSWER_BYTES_MAX, NotFoundError, get
from pyspark_zkgroup.registry.schemas import newest, schema_of_id
from pyspark_zkgroup.security.secret import Secret
from tests.harness.planted_secrets import PASSWORD, TOKEN, leaks_of

NO_SCHEMA = b'{"error_code": 40403, "message": "Schema not found"}'
AWAY = "http://127.0.0.1:1"


class Server:
    """Answers requests with a test's answers in turn, and repeats the last one."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = [(200, b"{}")]
        self.seen: list[tuple[str, str | None]] = []
        self.location = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append((self.path, self.headers.get("Authorization")))
                last = len(outer.answers) == 1
                status, body = outer.answers[0] if last else outer.answers.pop(0)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if outer.location:
                    self.send_header("Location", outer.location)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Not to stderr."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def access(*urls: str, **more: Any) -> RegistryAccess:
    return RegistryAccess(urls, **{"deadline_s": 0.5, **more})


def test_a_login_is_sent_and_never_shown(server: Server) -> None:
    basic = access(server.url, user_info=Secret(f"ann:{PASSWORD}"))
    bearer = access(server.url, token=Secret(TOKEN))
    for one in (basic, bearer, access(server.url)):
        assert get(one, "/subjects") == {}
    coded = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()
    assert server.seen == [
        ("/subjects", f"Basic {coded}"),
        ("/subjects", f"Bearer {TOKEN}"),
        ("/subjects", None),
    ]
    assert leaks_of(repr(basic), repr(bearer)) == []
    server.answers = [(401, b"")]
    for one in (basic, bearer):
        with pytest.raises(AccessError, match=r"rejects the login \(HTTP status 401\)") as caught:
            get(one, "/subjects")
        assert leaks_of(str(caught.value), pickle.dumps(caught.value)) == []


def test_a_redirect_is_refused(server: Server) -> None:
    server.answers, server.location = [(302, b"")], f"{server.url}/elsewhere"
    with pytest.raises(AccessError, match="redirects"):
        get(access(server.url, token=Secret(TOKEN)), "/subjects")
    assert len(server.seen) == 1


def test_the_next_server_is_asked(server: Server) -> None:
    assert get(access(AWAY, server.url), "/subjects") == {}


@pytest.mark.parametrize(
    "answer",
    [
        (500, b""),
        (429, b""),
        (200, b"<html>"),
        (200, b'{"schema": "'),
        (200, b"[" * 100_000),
        (404, b"<html>"),
        (404, b""),
        (404, b'{"error_code": 404, "message": "HTTP 404 Not Found"}'),
        (404, b'{"message": "no Route matched with those values"}'),
        (404, b'{"status": 404, "error": "Not Found", "path": "/schemas/ids/1"}'),
    ],
)
def test_a_bad_answer_is_asked_again(server: Server, answer: tuple[int, bytes]) -> None:
    server.answers = [answer, answer, (200, json.dumps({"schema": "x"}).encode())]
    assert get(access(server.url, deadline_s=10.0), "/schemas/ids/1") == {"schema": "x"}
    assert len(server.seen) == 3


def test_what_is_not_there_is_asked_once(server: Server) -> None:
    server.answers = [(404, NO_SCHEMA)]
    for _ in range(2):
        with pytest.raises(NotFoundError, match="the registry has no schema with the id 1"):
            schema_of_id(access(server.url, deadline_s=10.0), 1)
    assert len(server.seen) == 2


def test_no_registry_is_asked_for_what_is_no_id(server: Server) -> None:
    with pytest.raises(NotFoundError, match="no schema with the id 4294967295"):
        schema_of_id(access(server.url), 2**32 - 1)
    assert server.seen == []


def test_a_missing_reference_is_named(server: Server) -> None:
    found = {"schema": "x", "references": [{"name": "a", "subject": "a/b", "version": 3}]}
    server.answers = [(200, json.dumps(found).encode()), (404, NO_SCHEMA)]
    with pytest.raises(NotFoundError, match="refers to version 3 of the subject 'a/b'"):
        schema_of_id(access(server.url), 1)
    assert server.seen[-1][0] == "/subjects/a%2Fb/versions/3?deleted=true"


def test_an_answer_without_an_end_is_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ANSWER_S_MAX", 0.0)
    server.answers = [(200, b" ")]
    with pytest.raises(ServerError, match="its answer takes more than 0 s"):
        get(access(server.url), "/subjects")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b" " * (ANSWER_BYTES_MAX + 2), f"it answers more than {ANSWER_BYTES_MAX} bytes"),
        (b"nothing", "it answers what is not JSON"),
    ],
)
def test_after_the_deadline_the_last_reason_is_named(
    server: Server, body: bytes, reason: str
) -> None:
    server.answers = [(200, body)]
    with pytest.raises(ServerError, match=reason):
        get(access(server.url), "/subjects")
    with pytest.raises(ServerError, match="Connection refused"):
        get(access(AWAY), "/subjects")


@pytest.mark.parametrize(
    "answer",
    [
        *("[]", "1", "{}", '{"schema": 1}', '{"schema": "x"}', '{"references": [1]}'),
        '{"schema": "x", "references": [{"subject": "a", "version": 1e999}]}',
    ],
)
def test_an_answer_without_a_schema_is_refused(server: Server, answer: str) -> None:
    server.answers = [(200, answer.encode())]
    with pytest.raises(ServerError, match="answers without a schema"):
        newest(access(server.url), "orders-value")


def test_of_two_versions_under_one_name_the_first_counts(server: Server) -> None:
    def answer(text: str, *references: tuple[str, int]) -> tuple[int, bytes]:
        named = [{"name": name, "subject": name, "version": at} for name, at in references]
        return 200, json.dumps({"schema": text, "references": named}).encode()

    server.answers = [
        answer("order", ("customer", 1), ("address", 2)),
        answer("customer", ("address", 1)),
        answer("address 1"),
        answer("address 2"),
    ]
    assert schema_of_id(access(server.url), 1).references == ("address 1", "customer")


def test_a_schema_that_refers_to_itself_ends(server: Server) -> None:
    itself = {"schema": "x", "references": [{"subject": "a", "version": 1}]}
    server.answers = [(200, json.dumps(itself).encode())]
    assert schema_of_id(access(server.url), 1).references == ("x",)
    assert len(server.seen) == 2
