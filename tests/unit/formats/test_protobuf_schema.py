"""Descriptors and .proto texts become messages, and messages become types of Spark."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pyspark_zkgroup.formats.protobuf import descriptor
from pyspark_zkgroup.formats.protobuf.declared import SchemaError
from pyspark_zkgroup.formats.protobuf.program import steps
from pyspark_zkgroup.formats.protobuf.schema import Enum, Message, Messages, linked
from pyspark_zkgroup.formats.protobuf.sources import described, messages_of
from pyspark_zkgroup.formats.protobuf.types import spark_type
from pyspark_zkgroup.registry.access import RegisteredSchema
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type, ddl
from tests.harness import drawn_protobuf
from tests.harness.compiled_proto import compiled

PROTO3 = """
syntax = "proto3"; // a comment
package shop.v1;
import "google/protobuf/timestamp.proto";
import public "google/protobuf/duration.proto";
option java_package = "a.b";
/* another
   one; */
message Order {
  option deprecated = true;
  reserved 100, 200 to max;
  reserved "old", 'older';
  int64 id = 1 [json_name = "identity", deprecated = false];
  optional string note = 0x10;
  repeated Item items = 3;
  map<string, Item.Kind> kinds = 4;
  map < int32 , .shop.v1.Order.Item > by_number = 5;
  oneof choice {
    uint32 small = 010;
    Other other = 9;
  };
  google.protobuf.Timestamp made_at = 20;
  google.protobuf.Duration took = 21;
  message Item {
    enum Kind { option allow_alias = true; NONE = 0; NEGATIVE = -1 [deprecated = true]; ZERO = 0; }
    Kind kind = 1;
    Order parent = 2;
    message Other { bool inner = 1; }
    Other other = 3;
  }
  ;
}
message Other { bytes data = 1; fixed64 f = 2; };
enum Top { T = 0; reserved 5; }
service Orders {
  rpc Get (Order) returns (stream Other) { option deprecated = true; }
  rpc Put (Order) returns (Order);
}
"""
PROTO2 = r"""
package old;
message Old {
  required int32 id = 1 [default = -7];
  optional string s = 2 [default = 'it\'s ' "\303\251\n"];
  optional bytes b = 3 [default = "a\000\xff\"", deprecated = true];
  optional Odd e = 4 [default = THREE];
  optional double d = 5 [default = -inf];
  optional float f = 8 [default = 1.5e3];
  optional bool t = 9 [default = true];
  optional uint64 u = 10 [default = 0xffffffffffffffff];
  optional int32 octal = 13 [default = -010];
  optional double small = 14 [default = 1e-3];
  optional double large = 15 [default = -2.5E+10];
  optional string escapes = 16 [default = "\0ab\18\x1z\u20ac\U0001f600"];
  optional bytes zero = 17 [default = "\0a"];
  repeated group Part = 6 { optional int32 x = 1; }
  oneof one { group Lone = 7 { optional sint32 y = 1; } int32 z = 12; }
  enum Odd { THREE = 3; FOUR = 4; }
  extensions 100 to max;
  extend Old { optional int32 more = 100; }
}
extend Old { optional group Extra = 101 { optional int32 q = 1; } }
"""


def shown(messages: Messages) -> dict[str, Any]:
    """What can be compared. Defaults may be written in several ways."""
    return {name: (one.is_map_entry, _fields(one)) for name, one in messages.by_name.items()}


def _fields(message: Message) -> list[Any]:
    found: list[Any] = []
    for one in sorted(message.fields, key=lambda one: one.number):
        kind = one.type.name if isinstance(one.type, Message) else one.type
        names = [name for name in one.__dataclass_fields__ if name not in ("type", "default")]
        parts = [getattr(one, name) for name in names]
        found.append((kind, *parts))
    return found


@pytest.mark.parametrize("source", [PROTO3, PROTO2], ids=["proto3", "proto2"])
def test_a_text_gives_the_messages_that_protoc_makes_of_it(source: str) -> None:
    files = descriptor.files(compiled(source))
    of_text = messages_of(RegisteredSchema(source, kind="PROTOBUF"))
    theirs = shown(linked(files))
    ours = {name: one for name, one in shown(of_text).items() if name in theirs}
    if source is PROTO2:  # groups of extensions are messages of no field
        theirs.pop("old.Extra")
    assert ours == theirs
    if source is PROTO2:
        old = [found.named("old.Old") for found in (linked(files), of_text)]
        assert steps(old[0], spark_type(old[0]), "v") == steps(old[1], spark_type(old[1]), "v")
    last = linked(files).of_last_file
    assert [one.name for one in of_text.of_last_file] == [
        one.name for one in last if one.name != "old.Extra"
    ]


def test_maps_whose_names_differ_in_case_have_their_own_entries() -> None:
    source = """syntax = "proto3";
    message M { map<string, int32> fooBar = 1; map<string, bytes> foobar = 2; }"""
    found = messages_of(RegisteredSchema(source, kind="PROTOBUF")).named("M")
    assert str(spark_type(found)) == "struct<fooBar:map<string,int>,foobar:map<string,binary>>"


def test_common_types_of_google_need_not_be_in_the_registry() -> None:
    source = """\ufeffsyntax = "proto3";
    import "google/type/money.proto";
    import "google/type/month.proto";
    message Date { google.type.Money paid = 1; google.type.Month month = 2; }"""
    found = messages_of(RegisteredSchema(source, kind="PROTOBUF"))
    assert str(spark_type(found.named("Date"))) == (
        "struct<paid:struct<currency_code:string,units:bigint,nanos:int>,month:string>"
    )
    money = """syntax = "proto3"; package google.type; message Money { string mine = 1; }"""
    own = messages_of(RegisteredSchema(source, (money,), "PROTOBUF")).named("Date")
    assert str(spark_type(own)) == "struct<paid:struct<mine:string>,month:string>"


def test_messages_become_types() -> None:
    order = messages_of(described(compiled(PROTO3))).named("shop.v1.Order.Item.Other")
    assert str(spark_type(order)) == "struct<inner:boolean>"
    part = PROTO3.replace("Order parent = 2;", "")
    assert ddl(spark_type(messages_of(described(compiled(part))).named("Order"))) == (
        "struct<`id`:bigint,`note`:string,"
        "`items`:array<struct<`kind`:string,`other`:struct<`inner`:boolean>>>,"
        "`kinds`:map<string,string>,"
        "`by_number`:map<int,struct<`kind`:string,`other`:struct<`inner`:boolean>>>,"
        "`small`:int,`other`:struct<`data`:binary,`f`:bigint>,"
        "`made_at`:timestamp,`took`:interval day to second>"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Order", "value.items.parent is a shop.v1.Order within a shop.v1.Order"),
        ("Nothing", "it has no message 'Nothing'; it has google.protobuf.Timestamp"),
        ("Item", "it has no message 'Item'"),
    ],
)
def test_what_has_no_type_is_refused(name: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        spark_type(messages_of(described(compiled(PROTO3))).named(name))


def test_messages_without_fields_are_left_out() -> None:
    source = (
        'syntax = "proto3"; message A { B b = 1; int32 c = 2; map<int32, B> d = 3; } message B {}'
    )
    messages = messages_of(described(compiled(source)))
    assert str(spark_type(messages.named("A"))) == "struct<c:int>"
    with pytest.raises(SchemaError, match="value is a B, which has no fields"):
        spark_type(messages.named("B"))


def test_a_message_that_is_nested_too_deeply_is_refused() -> None:
    nested = [f"message M{at} {{ M{at + 1} x = 1; }}" for at in range(1000)]
    source = 'syntax = "proto3";' + "".join(nested) + "message M1000 { int32 x = 1; }"
    messages = messages_of(RegisteredSchema(source, kind="PROTOBUF"))
    with pytest.raises(SchemaError, match="value is nested too deeply"):
        spark_type(messages.named("M0"))


KINDS = """syntax = "proto3";
message A {
  uint32 u = 1; uint64 v = 2; E e = 3; T.Timestamp at = 4; repeated int32 list = 5;
  map<int32, int32> pairs = 6; string s = 7; A inner = 8;
}
enum E { ZERO = 0; }
message T { message Timestamp { int64 seconds = 1; int32 nanos = 2; } }
"""


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("u", "bigint"),
        ("v", Decimal(20, 0)),
        ("e", "int"),
        ("at", "timestamp"),
        ("at", Struct((Column("nanos", "int"),))),
        ("inner", Struct((Column("inner", Struct((Column("u", "int"),))),))),
    ],
)
def test_columns_may_have_other_types(field: str, kind: Type) -> None:
    message = messages_of(RegisteredSchema(KINDS, kind="PROTOBUF")).named("A")
    assert steps(message, Struct((Column(field, kind),)), "value")


@pytest.mark.parametrize(
    ("field", "kind", "reason"),
    [
        ("u", "string", "value.u is a uint32, which cannot be read as STRING"),
        ("v", "int", "value.v is a uint64, which cannot be read as INT"),
        ("list", "int", "value.list is repeated int32, which cannot be read as INT"),
        ("list", Array("bigint"), "value.list.element is repeated int32, which cannot be read as"),
        ("pairs", Array(Struct((Column("key", "int"),))), "value.pairs is a map, which"),
        ("pairs", Map("bigint", "int"), "value.pairs.key is an int32, which cannot be read as"),
        ("at", "string", "value.at is a T.Timestamp, which cannot be read as STRING"),
        ("more", "string", "value.more is not in A, which has u, v, e, at, list, pairs, s, inner"),
    ],
)
def test_columns_that_a_message_does_not_give_are_refused(
    field: str, kind: Type, reason: str
) -> None:
    message = messages_of(RegisteredSchema(KINDS, kind="PROTOBUF")).named("A")
    with pytest.raises(SchemaError) as caught:
        steps(message, Struct((Column(field, kind),)), "value")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "without files"),
        (b"\x0a\xff", "is no FileDescriptorSet"),
        (b"\x0a\x04\x62\x02\xff\xff", "is no FileDescriptorSet"),
        (b"\x0a\x08" + b"\x62\x06proto4", "its syntax is proto4"),
        (b"\x0a\x0a" + b"\x62\x08editions", "its syntax is editions"),
        (b"\x08\x01", "is no FileDescriptorSet|without files"),
        (bytes(100), "."),
    ],
)
def test_bytes_that_are_no_descriptor_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        linked(descriptor.files(data))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("message", "it ends too early"),
        ("message A {", "it ends too early"),
        ("message A { int32 a = ; }", "';' is not a number"),
        ("message A { int32 a 1; }", "it has '1' where '=' must be"),
        ("mesage A {}", "it has an unexpected 'mesage'"),
        ("message A { optional int32 a = 1 [default", "it ends too early"),
        ("/* message A {}", "it has an unexpected '/'"),
        ('syntax = "proto4";', "its syntax is proto4"),
        ('edition = "2023";', "its syntax is edition 2023"),
        ("message A { optional B b = 1; }", "A.b has the type B, which is not defined in it"),
        ("message A { optional int32 b = 1; optional int32 c = 1; }", "a number or name twice"),
        ("message A { optional int32 b = 0; }", "a number or name twice"),
        ("message A { optional int32 b = 08; }", "'08' is not a number"),
        (f"message A {{ optional int32 b = {'9' * 5000}; }}", "'9{60}' is not a number"),
        (r'message A { optional string b = 1 [default = "\q"]; }', r"'\\\\q' is no escape"),
        (r'message A { optional string b = 1 [default = "\ud83d"]; }', "is no escape"),
        ("enum E {}", "its enum 'E' has no values"),
        ("message A {" * 500 + "}" * 500, "nested too deeply"),
    ],
)
def test_texts_that_are_no_proto_file_are_refused(source: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        messages_of(RegisteredSchema(source, kind="PROTOBUF"))


def test_damaged_descriptors_are_read_or_refused() -> None:
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(drawn_protobuf.descriptor(chance))
        for _ in range(chance.choice([1, 3])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            for one in linked(descriptor.files(bytes(data))).top:
                steps(one, spark_type(one), "value")
        except SchemaError:
            pass


def test_messages_are_found_by_their_place() -> None:
    source = """syntax = "proto3"; message C {}
        message A { map<int32, B> m = 1; message B {} enum E { Z = 0; } }"""
    messages = messages_of(RegisteredSchema(source, kind="PROTOBUF"))
    assert [messages.at(path).name for path in ([0], [1], [1, 0])] == ["C", "A", "A.B"]
    for path in ([2], [1, 1], [-1], []):
        with pytest.raises(SchemaError, match="no message"):
            messages.at(path)
    with pytest.raises(SchemaError, match="its schema is AVRO, not PROTOBUF"):
        messages_of(RegisteredSchema('"int"'))


def test_an_enum_is_closed_where_proto2_says_so() -> None:
    old = messages_of(RegisteredSchema(PROTO2, kind="PROTOBUF")).named("Old")
    (field,) = (one for one in old.fields if one.name == "e")
    assert isinstance(field.type, Enum)
    assert field.is_closed
