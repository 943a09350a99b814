"""`zkgroup doctor` reports nodes that any client may change. A real ZooKeeper."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from pyspark_zkgroup.cli.main import main
from tests.harness.group import Group, group_of
from zkgroup_sandbox import Sandbox


def acls(group: Group, *arguments: str) -> dict[str, Any]:
    given = ["doctor", "--zookeeper", group._connect(), "--json", *arguments]
    result = CliRunner().invoke(main, given)
    found = [f for f in json.loads(result.output) if f["thing"] == "ACLs"]
    return found[0] if found else {}


def make(group: Group, acl: list[ACL]) -> None:
    for name in ("owners", "offsets"):
        path = f"/consumers/{group.name}/{name}"
        group.client.ensure_path(path)
        group.client.set_acls(path, acl)


def test_open_groups_are_named_and_protected_ones_are_not(sandbox: Sandbox) -> None:
    with group_of(sandbox) as opened, group_of(sandbox) as closed:
        opened.topic(1)
        closed.client.add_auth("digest", "a:b")
        make(opened, list(OPEN_ACL_UNSAFE))
        make(closed, [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE])
        named = acls(opened, opened.name)
        assert named["state"] == "note"
        assert "[ZKG-215] Any client that reaches ZooKeeper can change" in named["text"]
        assert f"the offsets and owners of group {opened.name}" in named["text"]
        assert "/brokers/ids" in named["text"]
        assert "zookeeper.set.acl" in named["remedy"]
        assert f"group {closed.name}" not in acls(opened, closed.name)["text"]
        assert acls(opened) == {}
