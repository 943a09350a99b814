"""How long something has lasted and when that was, for people."""

from __future__ import annotations


def age(ms: float) -> str:
    """In the unit that tells enough: 8 s, 5 min, 3.2 h, 12 d."""
    seconds = max(0.0, ms / 1000)
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.0f} d"


def clock_time(ms: float) -> str:
    """Return the time in UTC, to compare it with logs of several machines. Calculated here, because
    nothing in this room may ask a clock.
    """
    days, second = divmod(int(ms // 1000), 86_400)
    # Years that begin in March have their odd day at the end; 1970-01-01 is day 719468 of year 0.
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    date = day - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    year += 400 * era + (month <= 2)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{year}-{month:02}-{date:02} {clock} UTC"
