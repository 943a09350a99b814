"""A number of seconds as an argument."""

from __future__ import annotations

from typing import Any

import click

_MOST = 1e9


class Seconds(click.FloatRange):
    """A time that a command can wait: `nan` is in each range, and Python cannot sleep 1e10 s."""

    def __init__(self, least: float) -> None:
        super().__init__(min=least)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not seconds <= _MOST:
            self.fail(f"{value} is not a number of seconds up to {_MOST:,.0f}.", param, ctx)
        return seconds
