"""A Python that has nothing but what is put into it, as on a machine that never saw the project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from requirements.install import pins

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "dev.txt"
PATIENCE_S = 500.0
NOTHING: Mapping[str, str] = MappingProxyType({})
# What would let another installation shine through.
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SPARK_HOME", "CARGO_TARGET_DIR")


def bare_environment(changes: Mapping[str, str] = NOTHING) -> dict[str, str]:
    return {
        name: value
        for name, value in {**os.environ, **changes}.items()
        if name in changes or not (name in _FOREIGN or name.startswith("PYSPARK"))
    }


@dataclass(frozen=True)
class CleanPython:
    home: Path

    @classmethod
    def made(cls, home: Path) -> CleanPython:
        ran([sys.executable, "-m", "venv", str(home)])
        return cls(home)

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def packages(self) -> Path:
        (found,) = (self.home / "lib").glob("python*/site-packages")
        return found

    def install(self, *what: str, **environment: str) -> str:
        """What pip said. Versions are those that the project is tested with."""
        constraints = self.home / "constraints.txt"
        constraints.write_text("\n".join(pins(LOCK.read_text())))
        command = [str(self.python), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
        command += ["--disable-pip-version-check", "--constraint", str(constraints)]
        return ran([*command, *what], environment)

    def run(self, *arguments: str, **environment: str) -> str:
        return ran([str(self.python), *arguments], environment, cwd=self.home)

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.home / "bin" / name), *arguments],
            cwd=self.home,
            env=bare_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


def ran(
    command: list[str], environment: Mapping[str, str] = NOTHING, *, cwd: Path | None = None
) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=bare_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-8000:]}"
    return done.stdout


def without_rust(shims: Path) -> Mapping[str, str]:
    """Rust is on the path and does not work, as rustup leaves it without a toolchain."""
    shims.mkdir(exist_ok=True)
    for name in ("cargo", "rustc"):
        (shims / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (shims / name).chmod(0o755)
    return {"PATH": f"{shims}{os.pathsep}{os.environ['PATH']}", "ZKGROUP_NO_INSTALL_RUST": "1"}
