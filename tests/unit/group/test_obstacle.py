from __future__ import annotations

import pytest

from pyspark_zkgroup.group import obstacle
from pyspark_zkgroup.group.ownership import OwnerRead

PATH = "/consumers/g/owners/t/0"


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        pytest.param(OwnerRead("g_host-1-2", 5, 1), "owned by g_host-1-2", id="a member"),
        pytest.param(
            OwnerRead("g_other-2", 0x10A, 0),
            "owned by g_other-2, which is not registered: it goes with session 0x10a, end the "
            "process that has it",
            id="not registered",
        ),
        pytest.param(
            OwnerRead("g_host-1", 5, 1),
            "owned by g_host-1, which is not registered: it goes with session 0x5, end the process "
            "that has it",
            id="a consumer id is no thread id",
        ),
        pytest.param(
            OwnerRead("g_host-1-2", 0, 0),
            "owned by g_host-1-2 in a node that outlives every session: no member made it, delete "
            "/consumers/g/owners/t/0",
            id="persistent",
        ),
        pytest.param(
            OwnerRead("", 0, 0),
            "owned by an empty name in a node that outlives every session: no member made it, "
            "delete /consumers/g/owners/t/0",
            id="an empty directory",
        ),
    ],
)
def test_the_owner_and_the_remedy(owner: OwnerRead, text: str) -> None:
    assert obstacle.owned(PATH, owner, ["g_host-1"]) == text


def test_a_huge_owner_is_cut() -> None:
    assert len(obstacle.owned(PATH, OwnerRead("x" * 900_000, 0, 0), [])) < 400


def test_a_bad_offset_is_shown_in_part() -> None:
    text = obstacle.bad_offset("/o", b"z" * 1000)
    assert text.startswith("/o holds b'zzz")
    assert len(text) < 200
