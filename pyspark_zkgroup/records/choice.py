"""Which decoder reads: the native one where it is there, the reference where it is not."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from zipimport import zipimporter

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.records.decoder import Decoder, Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import COLUMNS, Column

_log = logging.getLogger("pyspark_zkgroup.records")

_REMEDY = (
    "On the driver and all executors, install a wheel that was built for this platform, or install "
    "a Rust toolchain (https://rustup.rs) and a C compiler, then reinstall pyspark-zkgroup"
)
_REMEDY_IN_SOURCES = (
    "Python loaded the package from its sources in {sources}, which hide an installed package. Run "
    "the program in another directory, or build the decoder there with `make setup`, which needs a "
    "Rust toolchain and a C compiler"
)
_REMEDY_IN_A_ZIP = (
    "The package was loaded from a zip file (--py-files), from which Python cannot load native "
    "code. Send it with --archives, or install it on every node"
)


def decoder(limits: Limits, columns: tuple[Column, ...] = COLUMNS) -> Decoder:
    if slow_because() is not None:
        return ReferenceDecoder(limits, columns)
    from pyspark_zkgroup.records.native import NativeDecoder

    return NativeDecoder(limits, columns)


@cache
def slow_because() -> str | None:
    """Why the native decoder cannot be used, if so. The first question in a process also logs it.

    Asked for, not when this module is imported: a driver that only plans needs no decoder.
    """
    try:
        import pyspark_zkgroup.records.native  # noqa: F401
    except ImportError as error:
        reason = str(error)
        _log.warning(catalogue.warning("ZKG-141", reason=reason, remedy=remedy()))
        return reason
    return None


def remedy() -> str:
    """Return how to get the native decoder."""
    if _is_in_a_zip():
        return _REMEDY_IN_A_ZIP
    sources = Path(__file__).parents[2]
    if (sources / "setup.cfg").exists():
        return _REMEDY_IN_SOURCES.format(sources=sources)
    return _REMEDY


def _is_in_a_zip() -> bool:
    return __spec__ is not None and isinstance(__spec__.loader, zipimporter)
