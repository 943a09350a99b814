"""The demo's picture on a terminal, and its lines elsewhere."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from zkgroup_sandbox.demo.look import Look
from zkgroup_sandbox.demo.screen import Picture, Screen, render

LOOK = Look(
    members=frozenset({"g_one", "g_two"}),
    owners={0: "g_one", 1: "g_two", 3: "g_somebody"},
    committed={0: 90, 1: 0, 2: 5, 3: 5},
    ends={0: 100, 1: 54_321, 2: 5, 3: 5},
)
PICTURE = Picture(
    title="group g, topic t",
    look=LOOK,
    members={"one": ("g_one", "reads"), "two": ("g_two", "starts"), "three": ("g_three", "left")},
    produced=54_431,
    in_table=95,
)


def printed(picture: Picture, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(render(picture, width))
    return [line.strip("│ ").rstrip() for line in out.getvalue().splitlines()]


def test_the_picture_shows_owner_and_lag_of_each_partition() -> None:
    lines = printed(PICTURE, 60)
    assert "group g, topic t" in lines[0]
    assert [line.split() for line in lines[1:4]] == [
        ["partition", "0", "1", "2", "3"],
        ["owner", "1", "2", "-", "?"],
        ["lag", "10", "54k", "0", "0"],
    ]


def test_the_picture_shows_what_each_member_owns_and_does() -> None:
    members = [line.split() for line in printed(PICTURE, 60)[5:8]]
    assert members == [
        ["1", "one", "owns", "1", "lag", "10", "reads"],
        ["2", "two", "owns", "1", "lag", "54321", "starts"],
        ["3", "three", "owns", "-", "left"],
    ]


def test_twelve_partitions_fit_on_eighty_columns() -> None:
    ends = dict.fromkeys(range(12), 999_999)
    picture = replace(PICTURE, look=Look(ends=ends, owners=dict.fromkeys(ends, "g_two")))
    assert [line.split() for line in printed(picture, 80)[2:4]] == [
        ["owner", *["2"] * 12],
        ["lag", *["999k"] * 12],
    ]


def test_without_a_terminal_a_change_of_owners_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, width=60))
    screen.say("it begins")
    screen.show(PICTURE)
    screen.show(replace(PICTURE, in_table=96))
    screen.show(replace(PICTURE, look=replace(LOOK, owners=dict.fromkeys(range(4), "g_one"))))
    screen.close()
    lines = [line.partition(" s  ")[2] for line in out.getvalue().splitlines()]
    assert lines == [
        "it begins",
        "owners 12-?   produced 54431   committed 100   lag 54331   in Delta 95",
        "owners 1111   produced 54431   committed 100   lag 54331   in Delta 95",
    ]
