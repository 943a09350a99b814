"""Registers a light member, or makes it its predecessor's successor. Under the gate of its name."""

from __future__ import annotations

import logging
from dataclasses import replace

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group.ops import Create, Delete, Done, Transaction
from pyspark_zkgroup.jvm.registration import encode_registration, parse_registration
from pyspark_zkgroup.jvm.topics import legal_name
from pyspark_zkgroup.protocols.light.nodes import LightNode, consumer_of_owner, light_of, read_light
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.messages import Failed, Register, Reply
from pyspark_zkgroup.protocols.light.seat import Seat

_REGISTRATION_BYTES_MAX = 512 * 1024
_log = logging.getLogger("pyspark_zkgroup.coordinator")


def register(seat: Seat, asked: Register) -> Reply:
    client, store = seat.client, seat.office.store
    path = client.paths.id(client.hello.consumer)
    if len(asked.registration) > _REGISTRATION_BYTES_MAX:
        return Failed(asked.number, "forbidden", "its registration is too large")
    # A member that waits for the end of a predecessor asks again and again.
    seat.asked_at = seat.desk.clock.monotonic()
    registration = parse_registration(path, asked.registration)
    light = registration.light
    if (
        light is None
        or light.timeout_ms != client.hello.timeout_ms
        or not identity.is_same(light.incarnation, client.shown)
    ):
        return Failed(asked.number, "forbidden", "its registration is not that of its hello")
    light = replace(light, generation=f"{seat.office.epoch}.0", subject=client.caller.named)
    data = encode_registration(replace(registration, light=light))
    store.ensure([client.paths.ids], world_open=True)
    (node,) = store.nodes([path])
    request: Transaction = (Create(path, data, world_open=True),)
    client.is_static = asked.static and registration.static_id
    if node is not None:
        # The node is not read again: it may be gone by then.
        found = light_of(path, node)
        if found is not None and client.holds(found.seat):
            return seat.registered(asked, found.life)
        if found is None or not _succeeds(seat, asked, found):
            who = "a live session" if found is None else "another process"
            return Failed(asked.number, "taken", f"{path} is held by {who}")
        for other in seat.office.members.others_of(seat):
            other.fence(f"{path} is in the hands of another process")
        seat.office.members.supersede(replace(client.named, number=found.life))
        request = (Delete(path, found.node.node.version), *request)
        _log.warning(catalogue.warning("ZKG-173", path=path))
    elif seat.office.members.has_rival(client) and not _is_predecessor(seat, asked):
        return Failed(asked.number, "taken", f"{path} was that of another process just now")
    (outcome,) = store.commit([request])
    if not isinstance(outcome, Done):
        # Another process was faster, or the answer is lost: the next attempt finds the node.
        return Failed(asked.number, "offline", f"{path} was not made: {outcome}")
    made = read_light(store, client.paths, client.hello.consumer)
    if made is None or not client.holds(made.seat):
        return Failed(asked.number, "offline", f"{path} is gone already")
    return seat.registered(asked, made.life)


def _succeeds(seat: Seat, asked: Register, found: LightNode) -> bool:
    """Return whether a static member is the restart of the registered one.

    It must show the certificate of its predecessor, and the plan that the predecessor has logged.
    """
    return (
        seat.client.is_static
        and found.is_static
        and identity.is_same(found.seat.subject, seat.client.caller.named)
        and _is_predecessor(seat, asked)
    )


def _is_predecessor(seat: Seat, asked: Register) -> bool:
    """Return whether an owner node of its name was made under a fence of its plan.

    Only the process that has logged that plan can have made it, and Spark runs one query on a
    checkpoint.
    """
    client, store = seat.client, seat.office.store
    partitions = sorted(p for p in asked.evidence if legal_name(p.topic))
    owners = store.nodes([client.paths.owner(p) for p in partitions])
    offsets = store.nodes([client.paths.offset(p) for p in partitions])
    return any(
        owner is not None
        and offset is not None
        and consumer_of_owner(owner) == client.hello.consumer
        and offset.node == asked.evidence[partition]
        for partition, owner, offset in zip(partitions, owners, offsets, strict=True)
    )
