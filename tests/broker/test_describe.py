"""Commands on a live group: what they say is what the nodes hold, while members come and go."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from tests.harness.group import Group, group_of, settle
from tests.harness.light import LightGroup
from tests.harness.told_group import share
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


def zkgroup(group: Group, *arguments: str) -> Result:
    environment = {"ZKGROUP_ZOOKEEPER": group.sandbox.kafka_zookeeper_connect, "COLUMNS": "160"}
    return CliRunner().invoke(main, arguments, env=environment)


def told(group: Group, *arguments: str) -> Any:
    result = zkgroup(group, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_describe_tells_who_owns_what_and_how_far_they_are(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(4)
        a, b = group.query(topic), group.query(topic)
        group.produce(topic, 10)
        settle(a, b)
        group.produce(topic, 5)
        seen = told(group, "describe", group.name)
        owners = {row["partition"]: row["owner"] for row in seen["partitions"]}
        assert owners == group.owners(topic)
        assert {row["state"] for row in seen["partitions"]} == {"owned"}
        assert {(row["committed"], row["end"], row["lag"]) for row in seen["partitions"]} == {
            (10, 15, 5)
        }
        assert {(m["consumer"], m["kind"], m["owns"]) for m in seen["members"]} == {
            (q.membership.member, "zkgroup", 2) for q in (a, b)
        }
        assert (seen["lag"], seen["partitions_without_lag"], seen["notes"]) == (20, 0, [])


def test_describe_tells_protocols_generation_coordinator_and_who_waits(sandbox: Sandbox) -> None:
    group = LightGroup(sandbox)
    try:
        office = group.office("one")
        group.in_office()
        topic = group.topic(4)
        light = group.query(topic)
        share([light], 4)
        ours = group.query(topic, protocol="coordinator", coordinator_candidate="false")
        ours.trigger()

        def waiting() -> Any:
            seen = told(group, "describe", group.name)
            return (
                seen
                if len(seen["members"]) == 2 and any(m["waiting"] for m in seen["members"])
                else None
            )

        seen = wait_until(waiting, 10.0, "the newcomer to wait")
        _, stat = group.client.get("/consumers/coordinator")
        assert (seen["protocol"], seen["coordinator"]) == (
            "coordinator",
            {
                "id": "one",
                "address": office.address,
                "epoch": stat.czxid,
                "since_ms": stat.ctime,
            },
        )
        assert seen["generation"].startswith(f"{stat.czxid}.")
        assert seen["notes"] == []
        by = {member["consumer"]: member for member in seen["members"]}
        old, new = by[light.membership.member], by[ours.membership.member]
        assert (old["protocol"], old["unanswered"], old["waiting"]) == ("light", None, [])
        assert new["protocol"] == "coordinator"
        owners = group.owners(topic)
        assert [(w["partition"], w["owner"]) for w in new["waiting"]] == [
            (row["partition"], owners[row["partition"]])
            for row in seen["partitions"]
            if row["state"] == "moving"
        ]
        assert len(new["waiting"]) == 2

        share([light, ours], 4)

        def followed() -> Any:
            seen = told(group, "describe", group.name)
            return seen if not any(m["unanswered"] for m in seen["members"]) else None

        seen = wait_until(followed, 10.0, "all commands to be followed")
        assert [m["waiting"] for m in seen["members"]] == [[], []]
        generations = {m["protocol"]: m["generation"] for m in seen["members"]}
        assert seen["generation"] == generations["light"]
        path = f"/consumers/groups/{group.name}/ids/{light.membership.member}"
        registered = json.loads(group.client.get(path)[0])
        assert registered["zkgroup"]["generation"] == generations["light"]
    finally:
        group.close()


def test_a_dead_member_is_described_until_its_session_ends(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        query = group.query(topic)
        group.produce(topic, 1)
        settle(query)
        query.crash()
        assert len(told(group, "describe", group.name)["members"]) == 1

        def gone() -> bool:
            seen = told(group, "describe", group.name)
            states = {row["state"] for row in seen["partitions"]}
            # Never stuck: the nodes of a session go together, however the reads fall.
            assert states <= {"owned", "unread"}, states
            return not seen["members"]

        wait_until(gone, 15.0, "the session to end")


def test_a_persistent_owner_node_is_stuck(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(1)
        group.client.create(
            f"/consumers/{group.name}/owners/{topic}/0", b"unknown-0", makepath=True
        )
        (row,) = told(group, "describe", group.name)["partitions"]
        assert (row["state"], row["owner"]) == ("stuck", "unknown-0")
        assert "stuck" in zkgroup(group, "describe", group.name).stdout
        (found,) = [row for row in told(group, "groups") if row["group"] == group.name]
        assert (found["owned"], found["stuck"], found["partitions"]) == (0, 1, 1)


def test_lag_by_topic_and_its_exit_status_for_monitors(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(2)
        query = group.query(topic)
        group.produce(topic, 3)
        settle(query)
        assert zkgroup(group, "lag", group.name, "--fail-above", "0").exit_code == 0
        group.produce(topic, 4)
        shown = zkgroup(group, "lag", group.name, "--fail-above", "7")
        assert (shown.exit_code, "lag 8" in shown.stdout) == (3, True)
        assert zkgroup(group, "lag", group.name, "--fail-above", "8").exit_code == 0
        assert told(group, "lag", group.name)["lag"] == 8


def test_a_watch_on_a_terminal_ends_by_sigterm_with_status_0(sandbox: Sandbox) -> None:
    """In the middle of whatever it does then: its session is closed, and nothing is complained."""
    with group_of(sandbox) as group:
        settle(group.query(group.topic(1)))
        ours, theirs = pty.openpty()
        command = [str(Path(sys.executable).parent / "zkgroup"), "lag", group.name, "--watch"]
        command += ["--interval", "0.1", "--zookeeper", group.sandbox.kafka_zookeeper_connect]
        shown = b""
        with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE) as watching:
            while shown.count(b"committed/s") < 3:
                ready, _, _ = select.select([ours], [], [], 30)
                if not ready:
                    watching.kill()
                    pytest.fail(f"nothing more is shown: {shown!r}")
                shown += os.read(ours, 4096)
            watching.terminate()
            assert watching.wait(10) == 0
            assert watching.stderr is not None
            assert watching.stderr.read() == b""
        os.close(ours)
        os.close(theirs)


def test_a_watch_into_a_pipe_writes_each_table_when_it_is_made(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        settle(group.query(group.topic(1)))
        command = [str(Path(sys.executable).parent / "zkgroup"), "lag", group.name, "--watch"]
        command += ["--interval", "0.1", "--zookeeper", group.sandbox.kafka_zookeeper_connect]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as watching:
            assert watching.stdout is not None
            times = 0
            while times < 3:
                ready, _, _ = select.select([watching.stdout], [], [], 30)
                if not ready:
                    watching.kill()
                    pytest.fail("nothing more is shown")
                times += os.read(watching.stdout.fileno(), 4096).count(b" UTC\n")
            watching.terminate()
            assert watching.wait(10) == 0


def test_groups_are_listed_and_a_missing_one_is_named(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        query = group.query(group.topic(1))
        settle(query)
        (found,) = [row for row in told(group, "groups") if row["group"] == group.name]
        assert (found["members"], found["owned"]) == (1, 1)
    missing = zkgroup(group, "describe", "no-such-group")
    assert missing.exit_code == 1
    assert "There is no group 'no-such-group'" in missing.stderr
    near = zkgroup(group, "describe", f"{group.name}z").stderr
    assert f"(similar names: {group.name}" in near
    assert "zkgroup groups" in missing.stderr


def test_servers_that_do_not_answer_are_named() -> None:
    result = CliRunner().invoke(
        main, ["describe", "g", "--zookeeper", "127.0.0.1:1"], catch_exceptions=False
    )
    assert result.exit_code == 1
    assert "ZooKeeper at 127.0.0.1:1 did not answer" in result.stderr


def test_a_rebalance_is_one_line_of_the_log_with_cause_moves_and_time(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    with group_of(sandbox) as group, caplog.at_level(logging.INFO, "pyspark_zkgroup.group"):
        topic = group.topic(4)
        a = group.query(topic)
        settle(a)
        caplog.clear()
        b = group.query(topic)
        settle(a, b)
        told = [line for line in caplog.messages if line.startswith("Rebalanced group")]
        assert [line.split("; ")[0].partition(": ")[2] for line in told] == [
            "claimed 0, released 2, lost 0, waiting for 0, holding 2 of 4",
            "claimed 2, released 0, lost 0, waiting for 0, holding 2 of 4",
        ]
        for line in told:
            assert re.search(r"; cause: \S.*; took [0-9]+ ms$", line)
        assert f"; cause: {b.membership.member} joined; took " in told[0]
