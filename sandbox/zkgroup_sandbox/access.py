"""Who may log in to a secured broker with a password, and what they may do there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.errors import KafkaError

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.broker import Broker

REQUEST_TIMEOUT_MS = 30_000


def add_user(broker: Broker, name: str, password: str) -> None:
    """For SCRAM. The brokers hear of it a moment after this returns."""
    wanted = [
        UserScramCredentialUpsertion(name, mechanism, password)
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    with _admin(broker, f"Cannot create the user {name!r}") as admin:
        # One at a time: an older broker takes a user only once in a request.
        for one in wanted:
            failed = {u: why for u, why in admin.alter_user_scram_credentials([one]).items() if why}
            if failed:
                raise SandboxError.of("user_not_created", user=name, reason=failed)


def allow(
    broker: Broker,
    principal: str,
    name: str,
    operations: Collection[str],
    *,
    kind: Literal["TOPIC", "GROUP"] = "TOPIC",
) -> None:
    """`operations` are of READ, DESCRIBE and so on; `principal` is such as User:alice; `name` is
    that of the topic or group.
    """
    acls = _acls(principal, name, operations, kind)
    with _admin(broker, f"Cannot allow {principal} access") as admin:
        failed = admin.create_acls(acls)["failed"]
    if failed:
        raise SandboxError.of("acl_not_created", principal=principal, reason=failed)


def forbid(
    broker: Broker,
    principal: str,
    name: str,
    operations: Collection[str],
    *,
    kind: Literal["TOPIC", "GROUP"] = "TOPIC",
) -> None:
    """What was allowed."""
    with _admin(broker, f"Cannot withdraw the access of {principal}") as admin:
        found = admin.delete_acls(_acls(principal, name, operations, kind))
    if not all(deleted for _filter, deleted, _error in found):
        raise SandboxError.of("acl_not_deleted", principal=principal, reason=found)


def _acls(
    principal: str, name: str, operations: Collection[str], kind: Literal["TOPIC", "GROUP"]
) -> list[ACL]:
    pattern = ResourcePattern(ResourceType[kind], name)
    return [
        ACL(principal, "*", ACLOperation[operation], ACLPermissionType.ALLOW, pattern)
        for operation in operations
    ]


@contextmanager
def _admin(broker: Broker, what: str) -> Iterator[Any]:
    try:
        client = KafkaAdminClient(
            bootstrap_servers=[broker.address], request_timeout_ms=REQUEST_TIMEOUT_MS
        )
        try:
            yield client
        finally:
            client.close()
    except KafkaError as error:
        raise SandboxError.of(
            "admin_failed", what=what, address=broker.address, error=error
        ) from error
