"""Calls the user's rebalance callback: before a release, after a claim, after a loss."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition

Event = Literal["release", "claim", "loss"]
_log = logging.getLogger("pyspark_zkgroup.group")


class RebalanceCallback:
    def __init__(self, name: str | None = None) -> None:
        """OptionError where there is no such function: better now than at the first rebalance."""
        self._function = None if name is None else _imported(name)

    def tell(self, event: Event, partitions: Iterable[TopicPartition]) -> None:
        named = [(p.topic, p.partition) for p in sorted(partitions)]
        if self._function is None or not named:
            return
        try:
            self._function(event, named)
        except Exception:  # noqa: BLE001  it is the user's function, and may raise anything
            _log.exception(catalogue.warning("ZKG-139", event=event, count=len(named)))


def _imported(name: str) -> Callable[[Event, list[tuple[str, int]]], Any]:
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function)
    except Exception as error:
        raise OptionError.of(
            "callback_not_importable", value=name, error=f"{type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise OptionError.of("callback_not_callable", value=name, found=found)
    return found  # type: ignore[no-any-return]
