"""Why a member of a brokers' group cannot continue, as the error that ends its query."""

from __future__ import annotations

from pyspark_zkgroup.errors import AccessError, FencedError, ServerError, ZkgroupError
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.protocols.kafka.rules.member import FENCED, Member

_OF_ACLS = (codes.GROUP_AUTHORIZATION_FAILED, codes.TOPIC_AUTHORIZATION_FAILED)


def refused(member: Member, group: str) -> ZkgroupError:
    if member.fatal == FENCED:
        return FencedError.of("static_member", group=group, member=member.instance)
    what = f"The brokers refuse this member of group {group!r}: {member.fatal}"
    if member.refusal in _OF_ACLS:
        return AccessError.of("group_acl", reason=what, group=group)
    return ServerError.of("group_conflict", reason=what)
