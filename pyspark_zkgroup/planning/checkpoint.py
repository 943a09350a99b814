"""Reads the offsets in a query's checkpoint as plans of this query."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan, decode

_OWN: Final = {"version", "protocol"}
"""What every plan of this source has, and no other source writes."""
_SHOWN_MAX: Final = 100


def checkpoint_plan(offset: Any, finished: Any, options: Options, protocol: str) -> Plan:
    """Return the newest plan in the checkpoint; `finished` is the end of the last finished batch.

    PlanError if a query of another source, group or protocol wrote it.
    """
    if is_of_kafka_source(offset):
        raise PlanError.of(
            "checkpoint_of_kafka_source",
            remedy=_import(finished, options)
            if is_of_kafka_source(finished)
            else "Start the query with a new checkpointLocation: the old one has no finished batch",
        )
    if not isinstance(offset, dict) or not _OWN & offset.keys():
        raise PlanError.of("checkpoint_of_other_source", offset=json.dumps(offset)[:_SHOWN_MAX])
    plan = decode(offset)
    if (plan.group, plan.protocol) != (options.group.id, protocol):
        raise PlanError.of(
            "other_group",
            group=plan.group,
            protocol=plan.protocol,
            own_group=options.group.id,
            own_protocol=protocol,
        )
    return plan


def is_of_kafka_source(offset: Any) -> bool:
    """Return whether the offset has the form {"topic": {"partition": offset}} and nothing else."""
    return (
        isinstance(offset, dict)
        and bool(offset)
        and all(_is_position(partitions) for partitions in offset.values())
    )


def _is_position(partitions: object) -> bool:
    return isinstance(partitions, dict) and all(
        number.isdecimal() and isinstance(at, int) for number, at in partitions.items()
    )


def _import(finished: Mapping[str, Any], options: Options) -> str:
    place = json.dumps(finished, separators=(",", ":"))
    # A light member's offsets are in its coordinator's ZooKeeper, whose address it does not know.
    unknown = "ZOOKEEPER_OF_THE_COORDINATOR" if options.protocol.name == "light" else ""
    servers = {
        "--zookeeper": options.zookeeper.hosts + options.zookeeper.chroot or unknown,
        "--bootstrap-servers": ",".join(options.fetch.bootstrap),
    }
    given = " ".join(f"{name} {shlex.quote(at)}" for name, at in servers.items() if at)
    return (
        "Import its offsets into the group, then start the query with a new checkpointLocation: "
        f"echo {shlex.quote(place)} | zkgroup offsets import {options.group.id} - {given} --execute"
    )
