"""Errors of commands when no ZooKeeper answers: they name options of the command line."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.cli.reach import checked_group
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.inspect import group_reader
from zkgroup_sandbox.ports import LOOPBACK, free_ports

REMEDY = "Check --zookeeper or ZKGROUP_ZOOKEEPER, and that a server runs there"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_reader, "_CONNECT_MS", 300)


def groups(connect: str) -> str:
    result = CliRunner().invoke(main, ["groups", "--zookeeper", connect])
    assert result.exit_code == 1
    return " ".join(result.stderr.split())


def test_the_remedy_names_what_commands_have() -> None:
    (port,) = free_ports(1)
    said = groups(f"{LOOPBACK}:{port}/kafka")
    assert f"ZooKeeper at {LOOPBACK}:{port} did not answer" in said
    assert said.endswith(REMEDY)
    assert "DNS" not in said


def test_host_names_that_cannot_be_resolved_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def known(host: Any, *more: Any, **named: Any) -> Any:
        if host == "zk9.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", known)
    (port,) = free_ports(1)
    said = groups(f"zk9.invalid:2181,{LOOPBACK}:{port}")
    assert "zk9.invalid:2181 has a host name that cannot be resolved (DNS)" in said


@pytest.mark.parametrize("group", [".", "..", "a\x7f", "a\nb", "\udcff", "a/b"])
def test_a_group_that_no_node_can_be_named_after_is_refused(group: str) -> None:
    with pytest.raises(OptionError, match="is not the name of a group"):
        checked_group(group)


def test_bytes_that_are_no_text_are_no_group_of_the_brokers() -> None:
    arguments = ["offsets", "show", "\udcff", "--bootstrap-servers", f"{LOOPBACK}:1"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "'\\udcff' is not the name of a group" in result.stderr


def test_the_former_option_for_the_group_still_works_with_a_note() -> None:
    (port,) = free_ports(1)
    place = ["--zookeeper", f"{LOOPBACK}:{port}", "--json"]
    now = CliRunner().invoke(main, ["assignment", "billing", *place])
    before = CliRunner().invoke(main, ["assignment", "--group", "billing", *place])
    assert (before.exit_code, before.stdout) == (now.exit_code, now.stdout)
    note = "Note: --group still works, but give the group as an argument\n"
    assert before.stderr == note + now.stderr


@pytest.mark.parametrize("command", ["assignment", "doctor"])
def test_help_does_not_show_the_former_option_for_the_group(command: str) -> None:
    assert "--group" not in CliRunner().invoke(main, [command, "--help"]).stdout
    given = CliRunner().invoke(main, [command, "--group", "billing"])
    assert "Note: --group" in given.stderr
    assert given.exit_code == 2
