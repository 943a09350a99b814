"""An S3 server of moto in a separate process, with a front that fails requests on demand.

    python -m tests.object_store.server

Prints its port, and ends when its standard input is closed. The front checks the signature of each
request, lets one request through at a time, and obeys the faults that `POST /_faults` sets.
`GET /_requests` returns the requests since then. delta-rs holds the interpreter's lock while it
waits for an answer, so a server in the process of the test would never answer.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import Client

from tests.object_store.signature import is_signed
from tests.object_store.store import ACCESS_KEY, BUCKET, FAULTS, REQUESTS, SECRET_KEY

Start = Callable[..., Any]


class Front:
    def __init__(self, app: Callable[[dict[str, Any], Start], Iterable[bytes]]) -> None:
        self.app = app
        # moto looks whether a key exists, and then puts it. S3 does both at once.
        self._one_at_a_time = threading.Lock()
        self._setting = threading.Lock()
        self._ended = threading.Event()
        self._faults: list[dict[str, Any]] = []
        self._requests: list[str] = []

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == FAULTS:
            return self._set(environ, start)
        if path == REQUESTS:
            return _told(start, self._requests)
        shown = f"{environ['REQUEST_METHOD']} {environ['RAW_URI']}"
        if "HTTP_IF_NONE_MATCH" in environ:
            shown += " if none"
        fault = self._fault(shown)
        if not is_signed(environ, {ACCESS_KEY: SECRET_KEY}):
            return _refused(start, 403, "SignatureDoesNotMatch")
        kind = fault.get("kind")
        if kind == "slow":
            self._ended.wait(fault["seconds"])
        if kind == "error":
            return _refused(start, fault["status"], fault["code"])
        with self._one_at_a_time:
            answer = list(self.app(environ, start))
        if kind == "lost":
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError
        return answer

    def end(self) -> None:
        """Let slow answers go at once."""
        self._ended.set()

    def _set(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        given = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        with self._setting:
            self._faults, self._requests = given, []
        return _told(start, given)

    def _fault(self, shown: str) -> dict[str, Any]:
        """Return the first fault for this request that has times left, and count it."""
        with self._setting:
            self._requests.append(shown)
            for one in self._faults:
                if one["times"] > 0 and re.search(one["request"], shown):
                    one["times"] -= 1
                    return one
        return {}


class _Silent(WSGIRequestHandler):
    def log(self, *_given: object, **_more: object) -> None:
        pass


def _told(start: Start, value: object) -> Iterable[bytes]:
    start("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(value).encode()]


def _refused(start: Start, status: int, code: str) -> Iterable[bytes]:
    start(f"{status} {code}", [("Content-Type", "application/xml")])
    return [f"<Error><Code>{code}</Code><Message>by the test</Message></Error>".encode()]


def main() -> None:
    front = Front(DomainDispatcherApplication(create_backend_app))
    Client(front.app).put(f"/{BUCKET}", base_url="http://127.0.0.1")
    server = make_server("127.0.0.1", 0, front, threaded=True, request_handler=_Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.read()
    front.end()


if __name__ == "__main__":
    main()
