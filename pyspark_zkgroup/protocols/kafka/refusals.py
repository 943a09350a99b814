"""Why a member of a brokers' group cannot go on, as the error that ends its query."""

from __future__ import annotations

from pyspark_zkgroup.errors import AccessError, FencedError, ServerError, ZkgroupError
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.protocols.kafka.rules.member import FENCED, Member

_OF_ACLS = (codes.GROUP_AUTHORIZATION_FAILED, codes.TOPIC_AUTHORIZATION_FAILED)


def refused(member: Member, group: str) -> ZkgroupError:
    if member.fatal == FENCED:
        return FencedError(
            f"Another process has joined group {group!r} as the static member "
            f"{member.instance!r}: the broker has given it this query's partitions",
            "Let one query at a time have this member.id",
        )
    what = f"The brokers refuse this member of group {group!r}: {member.fatal}"
    if member.refusal in _OF_ACLS:
        return AccessError(
            what,
            f"Add the ACLs: Read on group {group}, Read and Describe on the topics. What was "
            "read and not committed is settled when the query is started again",
        )
    return ServerError(
        what, "Make the query's options agree with the group's other members and the brokers"
    )
