"""How many light members a coordinator serves at a time, and how long each may take to register."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`of_group`: of the `members` that are served, those of one group. A member registers in its
    first boundary, after a request to the brokers.
    """

    members: int = 1000
    of_group: int = 500
    register_within_s: float = 30.0
