"""The lost-connection procedure of a light member: whom it asks next for the coordinator, and when.

Any address may answer who the coordinator is; that one is asked at once. After a round in vain the
pauses grow. A coordinator that turns the member away for now is asked again like one that was not
there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_PAUSE_S = 0.1
_PAUSE_MAX_S = 2.0
_REDIRECTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Search:
    """`hint`: whom the last answer named. `tried` addresses in vain since somebody was found;
    `redirects` followed since one was asked from the list.

    `trusts_others`: the stream itself proves that an address is one of the cluster's coordinators.
    Else only those of the list are asked: the node that an answer is taken from may be written by
    anybody, and the token goes to whoever is asked.
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
        """Before `address` is asked. None before a hint, and none in the first round."""
        rounds = self.tried // len(self.addresses)
        if self.hint or rounds == 0:
            return 0.0
        return min(_PAUSE_S * 2.0 ** min(rounds - 1, 10), _PAUSE_MAX_S)


def leads_on(search: Search, address: str) -> bool:
    """Whether an address that was named may be asked, and is another one."""
    known = search.trusts_others or address in search.addresses
    return known and address not in ("", search.address)


def redirected(search: Search, address: str) -> Search:
    """`address` was named as the coordinator's; empty: there is none now, or it has no address.

    Two that name each other, each with an old node in view, must not be asked in circles.
    """
    if not leads_on(search, address) or search.redirects >= _REDIRECTS_MAX:
        return failed(search)
    return replace(search, hint=address, redirects=search.redirects + 1)


def failed(search: Search) -> Search:
    """It could not be reached, did not answer, or has turned us away for now. A hint that led
    nowhere is forgotten, and the list goes on behind who gave it.
    """
    return replace(search, hint="", turn=search.turn + 1, tried=search.tried + 1, redirects=0)


def found(search: Search) -> Search:
    """The coordinator has taken us in: the next search begins with it."""
    return Search(search.addresses, search.trusts_others, hint=search.address, turn=search.turn)
