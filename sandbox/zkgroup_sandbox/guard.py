"""Ends a sandbox's servers when the process that started them is gone: python -m ... DIRECTORY

Its standard input is a pipe from that process. The system closes the pipe however the process
ends, kill -9 included, and the read below returns. A clean stop closes it too; then nothing is
left to end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark_zkgroup.jars.lock import lock
from zkgroup_sandbox import process
from zkgroup_sandbox.layout import Layout
from zkgroup_sandbox.state import StateFile


def main(directory: Path) -> None:
    sys.stdin.buffer.read()
    if not (directory / "sandbox.json").exists():
        return  # stopped and deleted
    with lock(Layout(directory).start_lock):
        state = StateFile(directory).read()
        for record in state.servers if state is not None else ():
            if record.process is not None:
                process.kill(record.process)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
