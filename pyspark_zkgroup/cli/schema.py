"""`zkgroup schema`: the columns that a subject of the schema registry becomes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from pyspark_zkgroup.cli.cells import say
from pyspark_zkgroup.cli.reach import access_given, config_option, json_option, registry_option
from pyspark_zkgroup.errors import OptionError

if TYPE_CHECKING:
    from pyspark_zkgroup.registry.access import RegisteredSchema, RegistryAccess, Version
    from pyspark_zkgroup.schema import Type

_DEADLINE_S = 10.0


@click.command("schema")
@click.argument("subject")
@registry_option
@config_option
@json_option
def schema(subject: str, registry: str, as_json: bool) -> None:
    """Show the type that the newest schema of SUBJECT has in Spark.

    In the form that .schema(...) accepts. For Protobuf, the type of the schema's first message. A
    login goes into --config.

    Example: zkgroup schema orders-value --registry http://registry1:8081
    """
    from pyspark_zkgroup.schema import ddl

    found = newest_of(registry_given(registry), subject)
    try:
        kind = ddl(_type(found.schema))
    except ValueError as error:
        raise OptionError.of("subject_without_type", subject=subject, reason=error) from None
    if as_json:
        value = {"subject": subject, "version": found.number, "type": kind}
        click.echo(json.dumps({**value, "schema": found.schema.text}, indent=1))
        return
    say(kind)


def _type(schema: RegisteredSchema) -> Type:
    """ValueError if it has none."""
    from pyspark_zkgroup.formats.avro import types as avro
    from pyspark_zkgroup.formats.avro.writers import parsed
    from pyspark_zkgroup.formats.protobuf import types as protobuf
    from pyspark_zkgroup.formats.protobuf.sources import KIND, messages_of

    if schema.kind == KIND:
        return protobuf.spark_type(messages_of(schema).at([0]))
    return avro.spark_type(parsed(schema))


def newest_of(access: RegistryAccess, subject: str) -> Version:
    from pyspark_zkgroup.registry.http import NotFoundError
    from pyspark_zkgroup.registry.schemas import newest

    try:
        return newest(access, subject, _DEADLINE_S)
    except NotFoundError:
        raise OptionError.of("unknown_subject", subject=subject) from None


def registry_given(address: str) -> RegistryAccess:
    """That of the file, with its login, else the one of the address."""
    from pyspark_zkgroup.options.registry import open_registry

    known = access_given().registry
    if known is not None:
        return known
    if not address:
        raise click.UsageError("give --registry, or schema.registry.url in --config")
    return open_registry(address)
