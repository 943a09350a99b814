"""A listener to attach: logs how queries stand in their groups, and exports it for Prometheus.

spark.streams.addListener(ProgressListener(port=9095))
"""

from __future__ import annotations

import json
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.spark import prometheus
from pyspark_zkgroup.spark.progress import MemberProgress, read_progress
from pyspark_zkgroup.spark.prometheus import Totals

_SAID_EVERY_S = 60.0
_log = logging.getLogger("pyspark_zkgroup.progress")


class ProgressListener(StreamingQueryListener):
    """Logs a line when a batch had rows, or partitions or waits changed; else once a minute.

    `file`: path of a file with metrics for Prometheus, replaced after each trigger. `port`: serves
    the same at /metrics; 0 chooses a free port (see the attribute `port`). `host`: the address to
    listen on, by default only this machine.

        spark.streams.addListener(ProgressListener(port=9464))
    """

    def __init__(
        self, *, file: str | Path | None = None, port: int | None = None, host: str = "127.0.0.1"
    ) -> None:
        self._file = None if file is None else Path(file)
        self._seen: dict[tuple[str, str], tuple[MemberProgress, Totals]] = {}
        self._said: dict[tuple[str, str], tuple[tuple[object, ...], float]] = {}
        self._lock = threading.Lock()
        self._server = None if port is None else _serve(self, host, port)

    @property
    def port(self) -> int | None:
        return None if self._server is None else int(self._server.server_address[1])

    def metrics(self) -> str:
        with self._lock:
            seen = list(self._seen.values())
        return prometheus.text(seen)

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    # -- Spark's calls; an exception in here would be logged by Spark and lose the progress

    def onQueryStarted(self, event: Any) -> None:
        return

    def onQueryProgress(self, event: Any) -> None:
        for member in read_progress(json.loads(event.progress.json)):
            self._note(member)
        self._write()

    def onQueryIdle(self, event: Any) -> None:
        return

    def onQueryTerminated(self, event: Any) -> None:
        with self._lock:
            for key in [key for key in self._seen if key[0] == str(event.id)]:
                del self._seen[key]
                self._said.pop(key, None)
        self._write()

    def _note(self, member: MemberProgress) -> None:
        key = (member.query, member.group)
        with self._lock:
            _, before = self._seen.get(key, (member, Totals()))
            totals = Totals(before.rows + member.rows, before.batches + (member.rows > 0))
            self._seen[key] = (member, totals)
        state = (member.rows > 0, member.held, member.waiting_count, member.notes)
        said, at = self._said.get(key, ((), float("-inf")))
        if member.rows or state != said or time.monotonic() - at >= _SAID_EVERY_S:
            self._said[key] = (state, time.monotonic())
            _log.info(
                "Group %s, batch %d: %d rows in %.1f s, lag %s; holding %d partitions, "
                "waiting for %d; %s members%s",
                member.group,
                member.batch,
                member.rows,
                member.trigger_ms / 1000,
                _told(member.lag),
                member.held,
                member.waiting_count,
                _told(member.members),
                "".join(f"; {note}" for note in member.notes),
            )

    def _write(self) -> None:
        """Whole or not at all: a collector may read at any time."""
        if self._file is None:
            return
        partial = self._file.with_name(self._file.name + ".part")
        try:
            partial.write_text(self.metrics())
            partial.replace(self._file)
        except OSError as error:
            _log.warning(catalogue.warning("ZKG-143", file=self._file, error=error))


def _told(count: int | None) -> str:
    """Spark 4.0 and 4.1 do not pass on what the source says of itself."""
    return "unknown" if count is None else str(count)


def _serve(listener: ProgressListener, host: str, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.split("?")[0] != "/metrics":
                self.send_error(404, "GET /metrics")
                return
            body = listener.metrics().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its base's name
            return

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise OptionError.of("metrics_port", address=f"{host}:{port}", error=error) from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="zkgroup-metrics", daemon=True).start()
    return server
