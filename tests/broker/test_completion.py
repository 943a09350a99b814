"""The script that `zkgroup completion` prints, in the shells that this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.inspect.group_reader import opened
from zkgroup_sandbox import Sandbox

BIN = Path(sys.executable).parent


def completed(line: str, **environment: str) -> list[str]:
    """What bash offers for the last word of `line`."""
    words = line.split(" ")
    script = (
        "source <(zkgroup completion bash); "
        f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; "
        '_zkgroup_completion zkgroup; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    bash = shutil.which("bash")
    assert bash is not None
    ran = subprocess.run(
        [bash, "-c", script],
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_bash_completes_commands_options_groups_and_members(sandbox: Sandbox) -> None:
    connect = sandbox.kafka_zookeeper_connect
    with opened(connect) as store:
        store.ensure(
            [
                "/consumers/completed-one/ids/completed-one_member-7",
                "/consumers/completed-two/offsets",
            ]
        )
    assert completed("zkgroup mem") == ["members"]
    assert completed("zkgroup members dr") == ["drain"]
    assert completed("zkgroup lag --fail") == ["--fail-above"]
    assert completed("zkgroup lag completed-", ZKGROUP_ZOOKEEPER=connect) == [
        "completed-one",
        "completed-two",
    ]
    assert completed(f"zkgroup describe --zookeeper {connect} completed-o") == ["completed-one"]
    assert completed("zkgroup stop completed-one completed", ZKGROUP_ZOOKEEPER=connect) == [
        "completed-one_member-7"
    ]
    assert completed("zkgroup lag x") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_that_its_shell_can_read(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_ZKGROUP_COMPLETE" in result.stdout
    program = shutil.which(shell)
    if program is not None:
        checked = subprocess.run(
            [program, "-n"], input=result.stdout, text=True, capture_output=True, timeout=60
        )
        assert (checked.returncode, checked.stderr) == (0, "")
