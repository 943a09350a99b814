"""One Spark driver as a separate process, which a demo can ask to leave, or kill."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")
LOG_BYTES_READ = 16 * 1024


class Driver:
    """Runs from its making on. Ends with this process, however that ends (see leash.py)."""

    def __init__(
        self, name: str, command: Sequence[str], directory: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        self._status_file = directory / f"{name}.status"
        self._status_file.unlink(missing_ok=True)
        with self.log.open("ab") as out:
            self._leash = subprocess.Popen(
                [sys.executable, str(LEASH), str(self._status_file), *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def status(self) -> int | None:
        """The exit status of a driver that has ended by itself."""
        try:
            return int(self._status_file.read_text())
        except FileNotFoundError:
            return None

    def leave(self) -> None:
        """SIGTERM to the driver alone: it drains its query and ends."""
        assert self._leash.stdin is not None
        self._leash.stdin.write(b"leave\n")
        self._leash.stdin.flush()

    def kill(self) -> None:
        """SIGKILL to the driver, its JVM and their children, as when a machine is lost."""
        if self._leash.stdin is not None and not self._leash.stdin.closed:
            self._leash.stdin.close()
        self._leash.wait()

    def lines(self, prefix: str = "") -> list[str]:
        """The end of what it has printed, by lines that begin like this."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - LOG_BYTES_READ))
            text = log.read().decode("utf-8", "replace")
        return [line for line in text.splitlines() if line.strip() and line.startswith(prefix)]
