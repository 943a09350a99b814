"""The name of a wheel promises on which Linux it runs; what the library asks for decides it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pyspark_zkgroup import records
from requirements.linux_tag import Needs, NoPromiseError, needs_of, platform_tag
from tests.packages.elf_file import AARCH64, ARM, elf_file

LIBC = ("libc.so.6", "libgcc_s.so.1")


def test_the_newest_glibc_that_is_asked_for_names_the_wheel() -> None:
    library = elf_file(
        [*LIBC, "ld-linux-x86-64.so.2"],
        {
            "libgcc_s.so.1": ["GCC_3.0", "GCC_4.2.0"],
            # 2.4 is older than 2.28, and 2.3.4 older than 2.14.
            "libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.28", "GLIBC_2.4", "GLIBC_2.3.4"],
            "ld-linux-x86-64.so.2": ["GLIBC_2.3"],
        },
    )

    assert platform_tag(library) == "manylinux_2_28_x86_64"
    needs = needs_of(library)
    assert needs.libraries == {"libc.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
    assert {"GCC_4.2.0", "GLIBC_2.3", "GLIBC_2.3.4"} < needs.versions


def test_a_version_counts_in_whichever_library_it_stands() -> None:
    library = elf_file(LIBC, {"libc.so.6": ["GLIBC_2.14"], "libm.so.6": ["GLIBC_2.29"]})

    assert platform_tag(library) == "manylinux_2_29_x86_64"


def test_nothing_older_is_promised_than_rust_itself_runs_on() -> None:
    library = elf_file(LIBC, {"libc.so.6": ["GLIBC_2.2.5"]}, machine=AARCH64)

    assert platform_tag(library) == "manylinux_2_17_aarch64"
    assert platform_tag(elf_file(LIBC, {})) == "manylinux_2_17_x86_64"


@pytest.mark.parametrize(
    ("library", "why"),
    [
        (elf_file([*LIBC, "libzstd.so.1"], {}), "it needs libzstd.so.1, which not every Linux"),
        (elf_file(["libc.musl-x86_64.so.1"], {}), "it needs libc.musl-x86_64.so.1"),
        (elf_file(LIBC, {"libc.so.6": ["GLIBC_PRIVATE"]}), "the version GLIBC_PRIVATE"),
        (elf_file(LIBC, {"libgcc_s.so.1": ["GCC_7.0.0"]}), "the version GCC_7.0.0"),
        (elf_file(LIBC, {}, machine=ARM), "for a machine of ELF's number 40"),
        (elf_file(LIBC, {}, segments=1), "not a shared library"),
        (b"\xcf\xfa\xed\xfe" + bytes(60), "not an ELF file"),
        (b"", "not an ELF file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_no_such_promise_is_named(library: bytes, why: str) -> None:
    with pytest.raises(NoPromiseError, match=why):
        platform_tag(library)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of a library of Linux")
def test_the_decoder_of_this_machine_asks_for_no_newer_glibc_than_it_has() -> None:
    built = list(Path(records.__file__).parent.glob("_decoder*.so"))
    if not built:
        pytest.skip("no native decoder was built here")
    library = built[0].read_bytes()
    here = os.confstr("CS_GNU_LIBC_VERSION")
    assert here is not None
    major, minor = here.removeprefix("glibc ").split(".")[:2]

    tag = platform_tag(library)

    assert isinstance(needs_of(library), Needs)
    assert tag.startswith("manylinux_2_")
    assert (2, int(tag.split("_")[2])) <= (int(major), int(minor))
