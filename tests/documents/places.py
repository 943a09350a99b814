"""A machine as a newcomer has it: a fresh clone, an empty HOME, and of the environment only what
says how this machine is set up: where its tools are, and how packages come in.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES = frozenset({"PATH", "JAVA_HOME", "LANG", "LC_ALL", "TZ", "PYENV_ROOT", "RUSTUP_HOME"})
"""Nothing of Spark's, Python's or this project's own."""
PREFIXES = ("PIP_", "SSL_CERT_", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "OPENBLAS_")
SUFFIXES = ("_proxy", "_PROXY", "_CA_BUNDLE", "_MAVEN_REPOSITORY")
# Toolchains that live below a home, whosever it is, and are on the path all the same.
TOOLCHAINS = {"PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup"}
# From where packages are fetched here. All else that a home may hold stays away.
REGISTRIES = (".config/pip/pip.conf", ".pip/pip.conf", ".cargo/config.toml")


@dataclass(frozen=True)
class Place:
    """One directory for everything, so that all of it can be deleted at the end."""

    root: Path

    @property
    def clone(self) -> Path:
        return self.root / "zkgroup"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def installed(self) -> Path:
        """The environment that the README's installation fills."""
        return self.root / "venv"

    @property
    def story(self) -> Path:
        """Programs that are run, and what they import in addition to packages."""
        return self.root / "story"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    def scene(self, number: int) -> Path:
        return self.root / "scenes" / str(number)

    def facts(self, servers: str) -> Path:
        return self.story / f"{servers}.json"

    def box(self, servers: str) -> Path:
        return self.root / f"{servers}-box"


def kept(machine: Mapping[str, str], checkout: Path) -> dict[str, str]:
    """What of the environment is the machine's. The checkout's own tools are not on its path."""
    found = {
        name: value
        for name, value in machine.items()
        if name in NAMES or name.startswith(PREFIXES) or name.endswith(SUFFIXES)
    }
    entries = found.get("PATH", os.defpath).split(os.pathsep)
    of_checkout = (str(checkout), f"{checkout}{os.sep}")
    found["PATH"] = os.pathsep.join(
        entry for entry in entries if not f"{entry}{os.sep}".startswith(of_checkout[1])
    )
    home = Path(machine.get("HOME", "/"))
    for name, folder in TOOLCHAINS.items():
        if name not in found and (home / folder).is_dir():
            found[name] = str(home / folder)
    return found


def newcomer(machine: Mapping[str, str], checkout: Path, place: Place) -> dict[str, str]:
    return {
        **kept(machine, checkout),
        "HOME": str(place.home),
        "TMPDIR": str(place.tmp),
        "CLONE": str(place.clone),
    }


def with_installed(environment: Mapping[str, str], place: Place) -> dict[str, str]:
    """As after `source venv/bin/activate`."""
    path = f"{place.installed / 'bin'}{os.pathsep}{environment['PATH']}"
    return {**environment, "PATH": path, "VIRTUAL_ENV": str(place.installed)}


def furnish(place: Place, machine_home: Path, documents: Path) -> None:
    """Everything but the clone."""
    for folder in (place.home, place.tmp, place.story):
        folder.mkdir(parents=True, exist_ok=True)
    for name in REGISTRIES:
        if (machine_home / name).is_file():
            (place.home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(machine_home / name, place.home / name)
    shutil.copy(documents / "story.py", place.story)
    # A package, so that no package of this name in the environment takes precedence.
    (place.story / "tests" / "harness").mkdir(parents=True, exist_ok=True)
    (place.story / "tests" / "__init__.py").touch()
    (place.story / "tests" / "harness" / "__init__.py").touch()
    shutil.copy(documents.parent / "harness" / "waiting.py", place.story / "tests" / "harness")


def clone(checkout: Path, place: Place) -> str:
    """The commit that was cloned; a clone that was kept is brought up to date."""
    if place.clone.exists():
        _git("-C", str(place.clone), "fetch", "--quiet", "origin", "HEAD")
        _git("-C", str(place.clone), "reset", "--quiet", "--hard", "FETCH_HEAD")
    else:
        _git("clone", "--quiet", str(checkout), str(place.clone))
    return _git("-C", str(place.clone), "log", "-1", "--format=%h %s")


def uncommitted(checkout: Path) -> list[str]:
    return _git("-C", str(checkout), "status", "--porcelain").splitlines()


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"documents: git {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout.rstrip()


def free_address() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"
