"""Rows of an Arrow array that can be compared, whatever they hold: texts that are no UTF-8, dates
that Python does not know, NaN.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def plain(found: pa.Array) -> list[Any]:
    """Texts as bytes, dates and times as numbers, floats as text; maps in the order of keys."""
    kind = found.type
    return [_comparable(one, kind) for one in found.cast(simple(kind)).to_pylist()]


def simple(kind: pa.DataType) -> pa.DataType:
    """Texts as bytes, dates and times as numbers: it holds whatever bytes the texts have."""
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_string(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return pa.struct([pa.field(one.name, simple(one.type)) for one in fields])
    if pa.types.is_map(kind):
        return pa.map_(simple(kind.key_type), simple(kind.item_type))
    return pa.list_(simple(kind.value_type)) if pa.types.is_list(kind) else kind


def _comparable(value: Any, kind: pa.DataType) -> Any:
    match value:
        case float():
            return repr(value)
        case list() if pa.types.is_map(kind):
            pairs = [[key, _comparable(one, kind.item_type)] for key, one in value]
            return sorted(pairs, key=lambda pair: repr(pair[0]))
        case list():
            return [_comparable(one, kind.value_type) for one in value]
        case dict():
            return {name: _comparable(one, kind.field(name).type) for name, one in value.items()}
        case _:
            return value
