"""Where things lie inside a sandbox directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    root: Path

    def config(self, name: str) -> Path:
        return self.root / "conf" / f"{name}.properties"

    def log(self, name: str) -> Path:
        return self.root / "logs" / f"{name}.log"

    def data(self, name: str) -> Path:
        return self.root / "data" / name

    def pid_file(self, name: str) -> Path:
        return self.root / "run" / f"{name}.pid"

    def logins(self, name: str) -> Path:
        return self.root / "conf" / f"{name}.jaas"

    @property
    def logging_config(self) -> Path:
        return self.root / "conf" / "log4j2.properties"

    @property
    def certificates(self) -> Path:
        return self.root / "certificates"

    @property
    def temporary(self) -> Path:
        """Where the JVMs unpack native libraries: a killed one cannot delete them."""
        return self.root / "tmp"

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    def make(self) -> None:
        for name in ("conf", "logs", "data", "run", "tmp"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
