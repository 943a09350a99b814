"""Commits that lose a race are tried again, with pauses, until one wins or all are used up."""

from __future__ import annotations

import time

import pytest

from pyspark_zkgroup.delta import conflicts
from pyspark_zkgroup.delta.conflicts import ATTEMPTS_MAX
from pyspark_zkgroup.errors import DeltaError


class LostRaceError(Exception):
    pass


class Played:
    """An attempt that loses so many races first, and what was done after each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, losses: int) -> None:
        self.attempts = 0
        self.pauses: list[float] = []
        self.lost: list[Exception] = []
        self._losses = losses
        monkeypatch.setattr(time, "sleep", self.pauses.append)

    def attempt(self) -> str:
        self.attempts += 1
        if self.attempts <= self._losses:
            raise LostRaceError(f"race {self.attempts}")
        return "won"

    def until_won(self) -> str:
        return conflicts.until_won(
            self.attempt,
            (LostRaceError,),
            self.lost.append,
            lambda error: DeltaError(f"after {error}"),
        )


def test_a_lost_race_is_tried_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, losses=2)
    assert played.until_won() == "won"
    assert [str(error) for error in played.lost] == ["race 1", "race 2"]
    assert len(played.pauses) == 2


def test_it_gives_up_after_the_last_attempt_and_does_not_pause_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = Played(monkeypatch, losses=ATTEMPTS_MAX)
    with pytest.raises(DeltaError, match=f"after race {ATTEMPTS_MAX}") as raised:
        played.until_won()
    assert isinstance(raised.value.__cause__, LostRaceError)
    assert (played.attempts, len(played.lost)) == (ATTEMPTS_MAX, ATTEMPTS_MAX)
    assert len(played.pauses) == ATTEMPTS_MAX - 1


def test_another_error_ends_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, losses=0)
    monkeypatch.setattr(played, "attempt", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        played.until_won()
    assert played.lost == []
