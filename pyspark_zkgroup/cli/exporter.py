"""`zkgroup exporter`: groups as metrics for Prometheus, of any members."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import click

from pyspark_zkgroup.cli.cells import say
from pyspark_zkgroup.cli.completion import complete_group
from pyspark_zkgroup.cli.found import LiveOrBrokered, found_group
from pyspark_zkgroup.cli.reach import NO_ENDS, place_options
from pyspark_zkgroup.cli.seconds import Seconds
from pyspark_zkgroup.errors import OptionError, ZkgroupError
from pyspark_zkgroup.exposition import exposition
from pyspark_zkgroup.inspect.findings import Case, Look, group_findings
from pyspark_zkgroup.inspect.group_metrics import Track, Watched, metrics, tracked
from pyspark_zkgroup.inspect.report import GroupFacts
from pyspark_zkgroup.inspect.rows import GroupReport

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@click.command("exporter")
@click.argument(
    "groups", metavar="GROUP...", nargs=-1, required=True, shell_complete=complete_group
)
@place_options
@click.option("--port", type=click.IntRange(0, 65535), default=9308, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--interval",
    type=Seconds(0.2),
    default=10.0,
    show_default=True,
    help="Seconds between two looks at the groups.",
)
@click.option("--once", is_flag=True, help="Print the metrics once, and exit.")
def exporter(
    groups: tuple[str, ...],
    connect: str,
    bootstrap: str,
    port: int,
    host: str,
    interval: float,
    once: bool,
) -> None:
    """Serve lag, members and findings of groups to Prometheus.

    At http://HOST:PORT/metrics, until SIGTERM or Ctrl-C. It exits with status 1 when the session
    with ZooKeeper is lost: run it under a supervisor.

    Example: zkgroup exporter billing --bootstrap-servers kafka1:9092
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            # One that is named twice would have each sample twice, which Prometheus refuses.
            names = dict.fromkeys(groups)
            lives = [stack.enter_context(found_group(connect, bootstrap, name)) for name in names]
            watches = [_Watch(live) for live in lives]
            if once:
                click.echo(_text(watches), nl=False)
                return
            _serve(watches, host, port, interval)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


class _Watch:
    """One group, looked at again and again."""

    def __init__(self, live: LiveOrBrokered) -> None:
        self._live = live
        self._look = look = _looked(live)
        track = tracked(Track(), look.seen, look.at_ms / 1000)
        self.now = Watched(look.seen, track, trouble=_trouble(look.seen))

    def again(self) -> None:
        """A look that fails is a metric; what was seen before stays. Of a group that is gone
        nothing stays: it has no members and no offsets. It may come back.
        """
        before, last = self.now, self._look
        try:
            look = self._look = _looked(self._live)
        except OptionError as error:
            gone = GroupReport(self._live.group, (), (), ())
            self._look = replace(last, seen=gone)
            self.now = Watched(gone, Track(), trouble=error.what)
            return
        except ZkgroupError as error:
            self.now = Watched(before.seen, before.track, before.findings, error.what)
            return
        track = tracked(before.track, look.seen, look.at_ms / 1000)
        found = group_findings(Case(last, look))
        self.now = Watched(look.seen, track, found, _trouble(look.seen))


def _trouble(seen: GroupReport) -> str:
    """A group whose lag cannot be known has not been seen, though its members have."""
    return next((note for note in seen.notes if note.startswith(NO_ENDS)), "")


def _looked(live: LiveOrBrokered) -> Look:
    """Log starts are not asked for: offsets below them are a finding of doctor alone."""
    facts, seen = live.both()
    if not isinstance(facts, GroupFacts):
        facts = GroupFacts(live.group, topics=facts.topics)
    return Look(facts, seen, {}, time.time() * 1000)


def _text(watches: list[_Watch]) -> str:
    return exposition(metrics([watch.now for watch in watches], time.time()))


def _serve(watches: list[_Watch], host: str, port: int, interval: float) -> None:
    """One thread looks at the groups, others answer with what it has seen."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that has hung up does not need the rest of its answer."""
            if not isinstance(sys.exc_info()[1], OSError):
                super().handle_error(request, client_address)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = _text(watches).encode()
            self.send_response(200)
            self.send_header("Content-Type", _TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """A scrape is no event."""

    try:
        server = Server((host, port), Handler)
    except OSError as error:
        raise OptionError.of(
            "cannot_serve", address=f"{host}:{port}", error=error.strerror
        ) from error
    with server:
        threading.Thread(target=server.serve_forever, name="exporter", daemon=True).start()
        say(f"Serving http://{host}:{server.server_address[1]}/metrics")
        try:
            while True:
                time.sleep(interval)
                for watch in watches:
                    watch.again()
        finally:
            server.shutdown()
