"""What is given to others: a source distribution and the wheel that is built from it, and so the
sandbox.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.packages.clean_python import ROOT, ran

# As in the Makefile: what the crates of others come to is compiled once for all builds.
NATIVE_BUILD = str(ROOT / ".venv" / "native")


@dataclass(frozen=True)
class Distribution:
    source: Path
    wheel: Path
    sandbox: Path
    """The wheel of zkgroup-sandbox."""


def built(place: Path) -> Distribution:
    """Build it like `make wheel`, in a separate checkout."""
    checkout(place)
    command = [sys.executable, "-m", "build", "--no-isolation"]
    ran(command, {"CARGO_TARGET_DIR": NATIVE_BUILD}, cwd=place)
    (source,) = (place / "dist").glob("*.tar.gz")
    (wheel,) = (place / "dist").glob("*.whl")
    if "-linux_" in wheel.name:
        tools = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        repair = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", "dist", str(wheel)]
        ran(repair, tools, cwd=place)
        wheel.unlink()
        (wheel,) = (place / "dist").glob("*.whl")
    ran([*command, "--outdir", "dist-sandbox", "sandbox"], cwd=place)
    (sandbox,) = (place / "dist-sandbox").glob("*.whl")
    return Distribution(source, wheel, sandbox)


def checkout(place: Path) -> None:
    """This checkout as a clean clone would be, with what is not committed yet."""
    told = ran(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, told.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)


def toolchain() -> bool:
    return all(shutil.which(name) is not None for name in ("cargo", "rustc"))
