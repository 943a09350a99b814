"""Every block of the pages is known to the runner, and what it would run can be read as code.

The blocks themselves are run by `make try-documents`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pyspark_zkgroup.cli.main import main
from tests.documents.blocks import RUN, Block, blocks, blocks_of, pages, unfenced
from tests.documents.commands import acts, bare, commands, script
from tests.documents.log import Log
from tests.documents.places import Place, furnish, kept, newcomer
from tests.documents.reference import EXAMPLE
from tests.documents.run import SCENES, played, prepared, selected
from tests.documents.running import Line
from tests.documents.scenes.first_and_last import INSTALL, TRY_IT
from tests.documents.stage import TOO_BUSY, Stage, parts_of
from tests.documents.stand_ins import TABLE, standing_in
from tests.documents.steps import NotRun, Printed, Python, Scene, Shell, block_of, program

PROJECT = Path(__file__).resolve().parents[2]
BLOCKS = blocks(PROJECT)
STEPS = [step for scene in SCENES for step in scene.steps]
PLACE = {
    "zookeeper": "127.0.0.1:1/kafka",
    "zookeeper_tls": "127.0.0.1:2/kafka",
    "brokers": "127.0.0.1:3",
    "registry": "http://127.0.0.1:4",
    "data": "/somewhere",
    "certificates": "/somewhere/else",
}


def unknown(found: list[Block]) -> list[str]:
    """Blocks that the runner would pass over."""
    steps = [step for step in STEPS if isinstance(step, Printed | NotRun)]
    played = {(step.page, step.opening) for step in steps}
    return [b.name for b in found if b.language in RUN and (b.page, b.opening) not in played]


def leaves(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            yield from leaves(below, f"{name} {word}")
    else:
        yield name


def named(step: Printed | NotRun | Python) -> str:
    return "ours" if isinstance(step, Python) else block_of(step, BLOCKS).name


def lines_run() -> str:
    """All shell there is in scenes, of the pages and ours."""
    shell = [block_of(s, BLOCKS).text for s in STEPS if isinstance(s, Printed)]
    return "\n".join([*shell, *(s.line for s in STEPS if isinstance(s, Shell))])


def test_every_block_is_in_a_scene() -> None:
    assert unknown(BLOCKS) == []


def test_every_scene_has_its_blocks() -> None:
    steps = [step for step in STEPS if isinstance(step, Printed | NotRun)]
    named = [block_of(step, BLOCKS).name for step in steps]
    assert sorted(named) == sorted(set(named))


def test_every_block_has_a_language_that_is_known() -> None:
    assert {b.name: b.language for b in BLOCKS if b.language not in (*RUN, "text", EXAMPLE)} == {}


@pytest.mark.parametrize("page", pages(PROJECT), ids=lambda page: page.name)
def test_no_command_stands_outside_of_a_block(page: Path) -> None:
    assert unfenced(page.name, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("step", [s for s in STEPS if not isinstance(s, Shell)], ids=named)
def test_what_is_run_as_python_is_python(step: Printed | NotRun | Python) -> None:
    if isinstance(step, Python):
        compile(program(step, ""), "ours", "exec")
        return
    block = block_of(step, BLOCKS)
    if block.language == "python":
        compile(block.text, block.name, "exec")
        if isinstance(step, Printed):
            compile(program(step, block.text), block.name, "exec")


@pytest.mark.parametrize(
    "text",
    [b.text for b in BLOCKS if b.language == "sh"]
    + [s.line for s in STEPS if isinstance(s, Shell)],
)
def test_what_is_run_by_the_shell_is_shell(text: str) -> None:
    found = commands(text)
    assert found
    for command in [*found, script(found)]:
        subprocess.run(["sh", "-n"], input=command, text=True, timeout=60, check=True)


@pytest.mark.parametrize("step", [s for s in STEPS if isinstance(s, Printed)], ids=named)
def test_what_a_scene_changes_of_a_block_is_in_it(step: Printed) -> None:
    printed = {bare(command) for command in commands(block_of(step, BLOCKS).text)}
    assert {*step.instead, *step.left_out} - printed == set()


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language in RUN], ids=lambda b: b.name)
def test_no_host_or_directory_of_a_page_is_left(block: Block) -> None:
    code = "\n".join(line.partition("  #")[0] for line in block.text.splitlines())
    text = standing_in(code, PLACE)
    places = ("zk1", "zk2", "broker1", "registry1", "/data", "/etc/")
    if not any(isinstance(s, NotRun) and block_of(s, BLOCKS) == block for s in STEPS):
        assert [place for place in places if place in text] == []


def test_every_command_is_tried() -> None:
    lines = lines_run()
    # `make demo` is what runs the demo.
    missing = [name for name in leaves(main, "zkgroup") if name not in lines]
    assert missing == ["zkgroup demo"]


@pytest.mark.parametrize("pattern", ["jobs/*.py", "notebooks/*.ipynb"])
def test_every_job_and_notebook_is_tried(pattern: str) -> None:
    found = [path.relative_to(PROJECT).as_posix() for path in PROJECT.glob(pattern)]
    lines = lines_run().replace('"$CLONE"/', "")
    assert found
    assert [name for name in found if lines.count(name) < 1] == []


def test_a_page_with_a_new_block_is_found() -> None:
    text = "1. So:\n\n   ```sh\n   zkgroup new \\\n     --one\n   ```\n\n```text\nsaid\n```\n"
    new, said = blocks_of("docs/new.md", text)
    assert (new.name, new.language, new.text) == (
        "docs/new.md:3",
        "sh",
        "zkgroup new \\\n  --one\n",
    )
    assert unknown([new, said]) == ["docs/new.md:3"]
    assert unfenced("p.md", "so:\n\n    make test\n\n```sh\n    make demo\n```\n") == [
        "p.md:3: make test"
    ]
    with pytest.raises(ValueError, match=r"p\.md:1: this block has no end"):
        list(blocks_of("p.md", "```sh\nmake\n"))
    with pytest.raises(ValueError, match="0 blocks that begin with 'gone'"):
        block_of(NotRun("README.md", "gone", "it is"), BLOCKS)


def test_commands_are_separated() -> None:
    text = "# so:\ncd a  # there\n\nzkgroup lag \\\n    --json\nmake long MINUTES=9   # hours\n"
    found = commands(text)
    assert found == ["cd a  # there", "zkgroup lag \\\n    --json", "make long MINUTES=9   # hours"]
    chosen = acts(found, {"cd a": "cd b"}, {"make long MINUTES=9": "hours"})
    assert [(act.run, act.note) for act in chosen] == [
        ("cd b", "run: cd b"),
        ("zkgroup lag \\\n    --json", ""),
    ]


def test_output_belongs_to_the_command_that_made_it() -> None:
    text = script(["echo one", "export A=two", 'echo "$A"; (exit 3)', "echo never"])
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    parts = parts_of([Line(0.0, line) for line in done.stdout[:-1].split("\n")], 0.0)
    assert [(part.number, part.said) for part in parts] == [(0, ["one"]), (1, []), (2, ["two"])]
    (broken,) = parts_of([Line(0.0, "syntax error")], 0.0)
    assert broken.said == ["syntax error"]


ENDS_WELL = (
    "import pathlib, signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); "
    "pathlib.Path('ready').touch(); signal.pause()"
)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """In the environment of a newcomer, whose clone is empty."""
    place = Place(tmp_path)
    place.clone.mkdir()
    furnish(place, tmp_path / "absent", Path(__file__).parent)
    page = 'Page.\n\n```sh\necho "$HOME"; ls -A "$HOME"\nmake long MINUTES=9   # hours\n```\n'
    with (tmp_path / "log").open("w") as file:
        environment = newcomer(os.environ, PROJECT, place)
        yield Stage(place, environment, list(blocks_of("page.md", page)), Log(file))


def test_a_scene_is_played_with_all_it_says_in_the_log(stage: Stage, tmp_path: Path) -> None:
    printed = Printed(
        "page.md",
        'echo "$HOME"; ls -A "$HOME"',
        instead={"make long MINUTES=9": "echo in Delta 9"},
        first_rows="in Delta [1-9]",
    )
    steps = (
        Shell(f'python3 -c "{ENDS_WELL}"', beside=True),
        Shell("until [ -e ready ]; do :; done"),
        printed,
        NotRun("page.md", 'echo "$HOME"; ls -A "$HOME"', "it was already"),
    )
    assert stage.play(Scene("one", steps, servers="none", by_make=True))
    assert (stage.log.passed, stage.log.failed) == (4, [])
    assert stage.log.not_run == ["page.md:3: it was already"]
    assert stage.first_rows is not None
    log = (tmp_path / "log").read_text()
    assert f'$ echo "$HOME"; ls -A "$HOME"\n    {tmp_path / "home"}\n    [ok' in log
    assert "$ make long MINUTES=9   # hours\n    (run: echo in Delta 9)\n    in Delta 9\n" in log


def test_a_scene_ends_at_what_fails(stage: Stage, tmp_path: Path) -> None:
    printed = Printed("page.md", 'echo "$HOME"; ls -A "$HOME"', left_out={"make long": "hours"})
    steps = (Shell("true"), printed, Shell("touch reached"))
    assert not stage.play(Scene("one", steps, servers="none", by_make=True))
    assert stage.log.failed == ["page.md:3: make long MINUTES=9"]
    assert stage.log.passed == 2
    assert list(tmp_path.glob("scenes/1/here/reached")) == []
    assert not stage.play(Scene("two", (Shell("if"),), servers="none", by_make=True))
    assert stage.log.failed[1:] == ["two: if"]


def test_a_scene_for_which_the_machine_was_too_busy_is_played_again(stage: Stage) -> None:
    busy = f"[ -e $HOME/tried ] || {{ touch $HOME/tried; echo '{TOO_BUSY}.'; exit 1; }}"
    scene = Scene("one", (Shell(busy),), servers="none", by_make=True)
    assert played(stage, scene)
    assert (stage.log.passed, stage.log.failed) == (1, [])
    always = Scene("two", (Shell(f"echo {TOO_BUSY}; false"),), servers="none", by_make=True)
    assert not played(stage, always)
    assert len(stage.log.failed) == 1
    other = Scene("three", (Shell("touch $HOME/more; false"),), servers="none", by_make=True)
    assert not played(stage, other)
    assert len(stage.log.failed) == 2


def test_longer_names_of_places_go_first() -> None:
    text = "zk1:2181,zk2:2181/kafka zk1:2181/kafka --to /data/place.json"
    assert standing_in(text, PLACE) == (
        "127.0.0.1:1/kafka 127.0.0.1:1/kafka --to /somewhere/place.json"
    )
    with pytest.raises(KeyError):
        standing_in("zk1:2281/kafka", {"zookeeper": "there"})
    assert all(standing_in(printed, PLACE) != printed for printed in TABLE)


def test_a_newcomer_has_nothing_of_the_developers() -> None:
    place = Place(Path("/place"))
    machine = {
        "HOME": "/absent",
        "PATH": os.pathsep.join(["/checkout/.venv/bin", "/usr/bin"]),
        "PYSPARK_PYTHON": "/checkout/.venv/bin/python",
        "CARGO_TARGET_DIR": "/checkout/.venv/native",
        "VIRTUAL_ENV": "/checkout/.venv",
        "JAVA_HOME": "/java",
        "https_proxy": "proxy:1",
    }
    assert kept(machine, Path("/checkout")) == {
        "PATH": "/usr/bin",
        "JAVA_HOME": "/java",
        "https_proxy": "proxy:1",
    }
    assert newcomer(machine, Path("/checkout"), place)["HOME"] == "/place/home"


def test_scenes_bring_what_they_stand_on() -> None:
    (alone,) = selected(["docs/cluster.md"])
    assert prepared([alone], is_installed=False) == [INSTALL, alone]
    assert prepared([alone], is_installed=True) == [alone]
    assert prepared([TRY_IT], is_installed=False) == [TRY_IT]
    assert len(selected([])) == len(SCENES)
    with pytest.raises(SystemExit):
        selected(["docs/none.md"])
