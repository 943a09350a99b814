"""How a light member searches for its coordinator: the next address to ask, and when.

Any address may answer with the coordinator's address, which is asked at once. After a round without
success the pauses grow. A coordinator that refuses the member for now is treated like one that does
not answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_PAUSE_S = 0.1
_PAUSE_MAX_S = 2.0
_REDIRECTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Search:
    """`hint` is the address that the last answer named. `tried` counts addresses without success
    since a coordinator was found; `redirects` counts those followed since one of the list was
    asked.

    `trusts_others`: the stream itself proves that an address is one of the cluster's coordinators.
    Otherwise only the addresses of the list are asked: any client may be able to write the node
    that an answer comes from, and the token is sent to every address that is asked.
    """

    addresses: tuple[str, ...]
    trusts_others: bool = False
    hint: str = ""
    turn: int = 0
    tried: int = 0
    redirects: int = 0

    def __post_init__(self) -> None:
        if not self.addresses:
            raise ValueError("a search needs an address to begin with")

    @property
    def address(self) -> str:
        return self.hint or self.addresses[self.turn % len(self.addresses)]

    @property
    def pause_s(self) -> float:
        """Return the pause before `address` is asked: 0 before a hint, and in the first round."""
        rounds = self.tried // len(self.addresses)
        if self.hint or rounds == 0:
            return 0.0
        return min(_PAUSE_S * 2.0 ** min(rounds - 1, 10), _PAUSE_MAX_S)


def leads_on(search: Search, address: str) -> bool:
    """Return whether an address that was named may be asked, and is another one."""
    known = search.trusts_others or address in search.addresses
    return known and address not in ("", search.address)


def redirected(search: Search, address: str) -> Search:
    """Follow an answer that named `address`; empty: there is no coordinator, or it has no address.

    Two that name each other, each with an old node in view, must not be asked in circles.
    """
    if not leads_on(search, address) or search.redirects >= _REDIRECTS_MAX:
        return failed(search)
    return replace(search, hint=address, redirects=search.redirects + 1)


def failed(search: Search) -> Search:
    """Continue after an address that could not be reached, did not answer, or refused us for now.

    A hint that failed is forgotten, and the list continues after the address that gave it.
    """
    return replace(search, hint="", turn=search.turn + 1, tried=search.tried + 1, redirects=0)


def found(search: Search) -> Search:
    """The coordinator has accepted us: the next search begins with it."""
    return Search(search.addresses, search.trusts_others, hint=search.address, turn=search.turn)
