"""The command line's frame: which commands there are, and how errors end them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click
import pytest
from click.testing import CliRunner

from pyspark_zkgroup import cli
from pyspark_zkgroup.cli.main import COMMANDS, CommandLine, main
from pyspark_zkgroup.errors import OptionError


class OneCommand(CommandLine):
    """The real frame around a command of the test."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return click.command("fail")(fail)


def fail() -> None:
    raise OptionError("Option 'x' is 'y',\n  which is no number", "Give a number")


def test_an_error_is_one_line_on_stderr_and_status_1() -> None:
    result = CliRunner().invoke(OneCommand("zkgroup"), ["fail"])

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "Error: [ZKG-001] Option 'x' is 'y', which is no number. Give a number\n"
    )


@pytest.mark.parametrize("arguments", [["no-such-command"], ["--no-such-option"]])
def test_wrong_usage_is_status_2_and_names_what_was_given(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert arguments[0] in result.stderr


def test_a_misspelt_command_is_shown_the_similar_one() -> None:
    assert "'descrbe' (similar names: describe)." in CliRunner().invoke(main, ["descrbe"]).stderr


def test_the_version_is_the_packages() -> None:
    result = CliRunner().invoke(main, ["--version"])

    assert (result.exit_code, result.stdout) == (0, "zkgroup, version 0.1.0\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads_and_explains_itself(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])

    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: main {name} ")


def test_the_help_lists_every_command() -> None:
    result = CliRunner().invoke(main, ["--help"])

    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"  {name} " in result.stdout


def test_no_command_is_forgotten() -> None:
    found = set()
    for module in iter_modules(cli.__path__):
        command = getattr(import_module(f"{cli.__name__}.{module.name}"), module.name, None)
        if isinstance(command, click.Command):
            found.add(module.name)

    assert found - {"main"} == set(COMMANDS)


@pytest.mark.parametrize("name", ["demo", "sandbox"])
def test_a_command_of_a_package_that_is_not_installed_says_which_one(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    result = CliRunner().invoke(main, [name, "--dir", "box"])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"Error: 'zkgroup {name}' needs the package zkgroup-sandbox, which is not installed. "
        "Run: python -m pip install zkgroup-sandbox\n"
    )
    assert f"  {name} " not in CliRunner().invoke(main, ["--help"]).stdout
    shell = {"_MAIN_COMPLETE": "bash_complete", "COMP_WORDS": f"main {name} ", "COMP_CWORD": "2"}
    completed = CliRunner().invoke(main, [], env=shell)
    assert (completed.exit_code, name in completed.output) == (0, False)


def test_another_distribution_adds_a_command_by_an_entry_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "told.py").write_text(
        "import click\ntold = click.command()(lambda: print('hello'))"
    )
    metadata = tmp_path / "told-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: told\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[zkgroup.commands]\ntold = told:told\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert CliRunner().invoke(main, ["told"]).stdout == "hello\n"
    assert "  told" in CliRunner().invoke(main, ["--help"]).stdout


def test_starting_it_loads_no_command_and_no_client(tmp_path: Path) -> None:
    heavy = {"kafka", "kazoo", "pandas", "pyarrow", *(f"{cli.__name__}.{c}" for c in COMMANDS)}
    script = "import sys, pyspark_zkgroup.cli.main; print(*sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert heavy & set(shown.stdout.split()) == set()


def every_command() -> list[tuple[str, click.Command]]:
    """With the subcommands; of this distribution."""
    context = click.Context(main)
    found: list[tuple[str, click.Command]] = []
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        inner = command.commands if isinstance(command, click.Group) else {}
        found += [(f"{name} {sub}", one) for sub, one in inner.items()] or [(name, command)]
    return found


@pytest.mark.parametrize(("name", "command"), every_command())
def test_each_command_has_an_example_that_it_takes(name: str, command: click.Command) -> None:
    assert command.help is not None
    example = command.help.rpartition("Example: ")[2].strip()
    if name == "completion":
        assert example == "source <(zkgroup completion bash)"
        return
    assert example.startswith(f"zkgroup {name} ")
    words = shlex.split(example)[1 + len(name.split()) :]
    words = [__file__ if word == "billing.json" else word for word in words]
    command.make_context(name, words, resilient_parsing=False).close()


def test_summaries_fit_into_80_columns() -> None:
    runner = CliRunner(env={"COLUMNS": "80"})
    names = set(COMMANDS)
    for group in ("", "members", "offsets"):
        lines = runner.invoke(main, [*filter(None, [group]), "--help"], terminal_width=80).output
        listed = lines.partition("Commands:")[2].splitlines()
        ours = [line for line in listed if group or line.split()[:1] and line.split()[0] in names]
        assert ours
        assert [line for line in ours if line.endswith("...")] == []
