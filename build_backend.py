"""setuptools' build, with a Rust toolchain for the native decoder where the machine has none.

pip asks what a wheel needs before it builds one. Without Rust that is puccinialin, which puts a
toolchain into the user's cache, about 100 MB to download. ZKGROUP_NO_INSTALL_RUST=1 turns that off,
for indexes that lack it and for machines without internet. The wheel is then built without the
decoder, and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# As in the decoder's Cargo.toml.
RUST_MIN = (1, 87)
OFF = "ZKGROUP_NO_INSTALL_RUST"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    return [*needed, "puccinialin>=0.1"] if lacks_rust() else list(needed)


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    if lacks_rust():
        try:
            from puccinialin import setup_rust

            os.environ.update(setup_rust())
        except Exception as error:  # noqa: BLE001 - the decoder is optional, whatever stops it
            print(f"No Rust toolchain was fetched: {error!r}", file=sys.stderr)
    made: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    return made


def lacks_rust() -> bool:
    """Return whether a toolchain would help: a decoder also needs a C compiler."""
    if os.environ.get(OFF) or shutil.which("cc") is None:
        return False
    return any(version(program) < RUST_MIN for program in ("cargo", "rustc"))


def version(program: str) -> tuple[int, ...]:
    """Ask for it: rustup leaves a cargo on the path where no toolchain is behind it."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.search(r" (\d+)\.(\d+)", told.stdout)
    return (int(found[1]), int(found[2])) if found else ()
