"""Records as property tests draw them: offsets with gaps, nulls and empty values."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.harness.record_batches import Record

TEXTS = st.none() | st.binary(max_size=40)
TIMES = st.integers(-(2**40), 2**45)
Headers = list[tuple[str | bytes, bytes | None]]


@st.composite
def records(draw: st.DrawFn, headers: st.SearchStrategy[Headers]) -> list[Record]:
    offset = draw(st.integers(0, 2**40))
    made = []
    for gap in draw(st.lists(st.integers(1, 5), min_size=1, max_size=12)):
        offset += gap
        made.append(Record(offset, draw(TEXTS), draw(TEXTS), draw(TIMES), draw(headers)))
    return made
