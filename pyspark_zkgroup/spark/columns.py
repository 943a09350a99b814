"""Spark's StructType as columns of plain values, which tasks receive pickled."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """OptionError if a part of it is NOT NULL: records decide what is null, not the reader."""
    return tuple(_column(field, field.name) for field in schema.fields)


def _column(field: StructField, path: str) -> Column:
    _check_nullable(field.nullable, path)
    return Column(field.name, _type(field.dataType, path))


def _type(found: DataType, path: str) -> Type:
    """A type that has no place here keeps Spark's name of it, and is refused by that."""
    match found:
        case DecimalType():
            return Decimal(found.precision, found.scale)
        case ArrayType():
            _check_nullable(found.containsNull, f"{path}.element")
            return Array(_type(found.elementType, f"{path}.element"))
        case MapType():
            _check_nullable(found.valueContainsNull, f"{path}.value")
            return Map(_type(found.keyType, f"{path}.key"), _type(found.valueType, f"{path}.value"))
        case StructType():
            fields = (_column(field, f"{path}.{field.name}") for field in found.fields)
            return Struct(tuple(fields))
        case _:
            return found.simpleString()


def _check_nullable(is_nullable: bool, path: str) -> None:
    if not is_nullable:
        raise OptionError.of("not_null_column", path=path)
