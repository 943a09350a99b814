from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.harness.planted_secrets import KEY_MARK, PASSWORD, TOKEN, leaks_in, leaks_of


@pytest.mark.parametrize("ahead", ["", "x", "xy", "xyz"])
def test_a_secret_is_found_as_it_is_and_inside_base64(ahead: str) -> None:
    text = f"{ahead}{PASSWORD}behind it"
    assert leaks_of(text) == [PASSWORD]
    assert leaks_of(base64.b64encode(text.encode())) == [PASSWORD]


def test_what_is_none_is_not_found() -> None:
    assert leaks_of("password=*****", b"-----BEGIN CERTIFICATE-----", "") == []


def test_every_file_below_a_folder_is_read(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "one.log").write_text(f"token {TOKEN}")
    (tmp_path / "two").write_bytes(f"\xff-----BEGIN {KEY_MARK}".encode())
    assert leaks_in(tmp_path) == [f"{deep / 'one.log'}: {TOKEN}", f"{tmp_path / 'two'}: {KEY_MARK}"]


def test_an_empty_folder_is_not_taken_for_a_clean_one(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nothing to look into"):
        leaks_in(tmp_path)
