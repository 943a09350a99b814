"""The command line all servers share: a small JVM that starts fast and logs to its own file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from zkgroup_sandbox.layout import Layout

# Everything goes to the standard output, which is the log file: what the JVM itself says when it
# dies (no memory, no such class) then follows what the server logged before. Without the line
# on the shutdown hook the log ends at the SIGTERM, and what the server does after it is not seen.
LOGGING_CONFIG = """status = warn
shutdownHook = disable
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1} - %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


def server_token(token: str, name: str) -> str:
    """Return what is in the command line of that server of that start, and in no other."""
    return f"-Dzkgroup.sandbox={token}/{name}"


def java_command(
    layout: Layout,
    java: Path,
    *,
    name: str,
    token: str,
    heap_mb: int,
    jars: Sequence[Path],
    flags: Sequence[str],
    main: Sequence[str],
) -> list[str]:
    return [
        str(java),
        server_token(token, name),
        f"-Xmx{heap_mb}m",
        f"-Xms{min(heap_mb, 64)}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.io.tmpdir={layout.temporary}",
        f"-Dlog4j2.configurationFile={layout.logging_config}",
        *flags,
        "-cp",
        os.pathsep.join(map(str, jars)),
        *main,
    ]
