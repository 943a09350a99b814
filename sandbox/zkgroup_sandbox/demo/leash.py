"""Runs a command that must not outlive its starter: python leash.py STATUS_FILE COMMAND...

The standard input is a pipe from the starter. A line `leave` passes SIGTERM on to the command. The
end of the pipe, which the system brings about however the starter ends, kills the whole process
group: the command, the JVM it started, and what that started. When the command ends by itself, its
status goes to the file, and the leash stays: while it lives, no other group gets this number.

Run by its path, not as a module: the package would import Spark's classes first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def main(status_file: Path, command: list[str]) -> None:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=note_status, args=(child, status_file), daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "leave" and child.poll() is None:
            child.terminate()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def note_status(child: subprocess.Popen[bytes], status_file: Path) -> None:
    status = child.wait()
    partial = status_file.with_suffix(".part")
    partial.write_text(str(status))
    partial.replace(status_file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
