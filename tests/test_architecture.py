"""The rules of the architecture, as tests: imports, sizes, names, the cost of an import."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import pyspark_zkgroup
from pyspark_zkgroup.protocols.kafka.rules.member import Member
from tests.harness import rooms, states

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pyspark_zkgroup"
UNIT = ROOT / "tests" / "unit"
FOLDERS = (
    ".ci",
    "docs",
    "jobs",
    "notebooks",
    "pyspark_zkgroup",
    "requirements",
    "sandbox",
    "tests",
)

MODULES_LOADED_MAX = 150
BANNED_FILES = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
BANNED_CLASSES = re.compile(r"(Helper|Impl|Manager|Util)s?$")
BANNED_TEXT = {
    "a path of one machine": re.compile(
        r"(?<!\w)/(?:(?:work|farm|root)/|tmp/[a-z]|home/[a-z]|Users/[a-z])"
    ),
    "a file that is no part of the project": re.compile(
        r"\.\./shared|(?<![\w/])shared/(?:bar|design|facts|golden|hooks|interop|model|rules|style)"
    ),
    "unfinished work": re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b"),
}


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def texts() -> Iterator[tuple[Path, str]]:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    files += [path for path in ROOT.iterdir() if path.suffix in {".cfg", ".md", ".toml"}]
    for path in [*files, ROOT / "Makefile"]:
        if path.is_file() and not {"__pycache__", "target"}.intersection(path.parts):
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # captured bytes


@cache
def named_in(path: Path) -> tuple[list[str], list[str]]:
    """The classes of a module, and what it imports or takes from what it imports."""
    found = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    classes = [node.name for node in found if isinstance(node, ast.ClassDef)]
    return classes, [name for node in found for name in named(node)]


def lint_imports(where: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on that folder's package and setup.cfg; wide, so that no line breaks."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as lint; lint()",
            "--no-cache",
            "--no-logo",
        ],
        cwd=where,
        env={**os.environ, "COLUMNS": "400", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    return tmp_path


def test_the_import_contracts_hold() -> None:
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("group/claim.py", "import kazoo", "Decisions are pure"),
        ("group/claim.py", "import time", "Decisions are pure"),
        ("plan.py", "from random import random", "Decisions are pure"),
        ("inspect/report.py", "import time", "Decisions are pure"),
        ("protocols/light/rules/lease.py", "import time", "Decisions are pure"),
        ("planning/planner.py", "import kazoo.client", "Only zk speaks ZooKeeper"),
        ("planning/planner.py", "import kafka", "Only kafka and records speak Kafka"),
        ("protocols/port.py", "from pyspark.sql import Row", "Only spark, delta and jobs"),
        ("kafka/settings.py", "import pyspark_zkgroup.zk.session", "Imports point downward"),
        (
            "kafka/settings.py",
            "import pyspark_zkgroup.group.claim",
            "Kafka's side reaches neither",
        ),
        ("zk/store.py", "import pyspark_zkgroup.kafka.settings", "ZooKeeper's side does not reach"),
        (
            "model.py",
            "def f():\n    import pyspark_zkgroup.planning.planner",
            "Imports point downward",
        ),
        ("cli/main.py", "from pyspark_zkgroup import stop", "Imports point downward"),
        ("tasks/reading.py", "import pyspark_zkgroup.zk.session", "Imports point downward"),
        ("tasks/reading.py", "import pyspark_zkgroup.protocols.port", "Imports point downward"),
        ("a_new_room.py", "", "Imports point downward"),
        ("cli/main.py", "import zkgroup_sandbox", "The package does not need the sandbox"),
        (
            "delta/session.py",
            "def f():\n    from zkgroup_sandbox.kafka_jars import kafka_jars",
            "The package does not need the sandbox",
        ),
        (
            "protocols/owned/claims.py",
            "import pyspark_zkgroup.protocols.light.seat",
            "Protocols stand on each other",
        ),
        (
            "protocols/zookeeper/unread.py",
            "import pyspark_zkgroup.protocols.assign.membership",
            "Protocols stand on each other",
        ),
    ],
)
def test_an_import_that_points_the_wrong_way_is_found(
    copy: Path, module: str, line: str, contract: str
) -> None:
    with (copy / PACKAGE.name / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")

    result = lint_imports(copy)

    assert result.returncode == 1, result.stdout + result.stderr
    broken = [text for text in result.stdout.splitlines() if "BROKEN" in text]
    assert any(contract in text for text in broken), result.stdout


def test_the_contract_of_the_sandbox_holds_and_can_fail(tmp_path: Path) -> None:
    copied = tmp_path / "sandbox"
    shutil.copytree(ROOT / "sandbox", copied, ignore=shutil.ignore_patterns("__pycache__"))
    result = lint_imports(copied)
    assert result.returncode == 0, result.stdout + result.stderr

    with (copied / "zkgroup_sandbox" / "kafka_jars.py").open("a", encoding="utf-8") as file:
        file.write("\nimport zkgroup_sandbox.kafka_source_jars\n")
    result = lint_imports(copied)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "Imports point downward BROKEN" in result.stdout


def test_the_copy_alone_breaks_nothing(copy: Path) -> None:
    """Otherwise the violations above would prove nothing."""
    assert lint_imports(copy).returncode == 0


def test_names_say_what_a_thing_is() -> None:
    vague = []
    for path in sources("pyspark_zkgroup", "sandbox", "jobs", "requirements", "tests"):
        names = [path.stem, path.parent.name]
        vague += [str(path.relative_to(ROOT)) for name in names if name in BANNED_FILES]
        for name in named_in(path)[0]:
            if BANNED_CLASSES.search(name):
                vague.append(f"{path.relative_to(ROOT)}: {name}")

    assert vague == []


def named(node: ast.AST) -> list[str]:
    """What an import or an attribute of a module names, dotted."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [f"{node.value.id}.{node.attr}"]
    return []


def waits_or_mocks(names: Iterable[str]) -> list[str]:
    banned = re.compile(r"(unittest\.|^)mock\b|\b(Magic|Async)?Mock$|^(time|asyncio)\.sleep$")
    return [name for name in names if banned.search(name)]


def test_unit_tests_mirror_the_package() -> None:
    """Some also test the sandbox, the harness of the tests, and the docs."""
    tests = [path.relative_to(UNIT) for path in UNIT.rglob("test_*.py")]
    rooms = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_dir()}
    others = {Path("sandbox"), Path("sandbox/demo"), Path("docs"), Path("harness")}
    assert {path.parent for path in tests} <= rooms | others | {Path()}
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {"catalogue"}
    assert {path.stem.removeprefix("test_") for path in tests if path.parent == Path()} <= modules


def test_tests_neither_sleep_nor_mock() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sources("tests")
        if (names := waits_or_mocks(named_in(path)[1]))
    }

    # The one loop that all tests wait by: it ends with its condition, or fails at its deadline.
    assert found == {"tests/harness/waiting.py": ["time.sleep"]}


@pytest.mark.parametrize(
    "line",
    [
        "from unittest import mock",
        "from unittest.mock import patch",
        "import unittest.mock",
        "mock.MagicMock()",
        "import time\ntime.sleep(1)",
        "from time import sleep",
    ],
)
def test_a_sleep_or_a_mock_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(line)
    assert waits_or_mocks(named_in(tmp_path / "one.py")[1])


def test_the_project_stands_alone_and_is_finished() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {what}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        for what, pattern in BANNED_TEXT.items()
        if pattern.search(line)
    ]

    assert found == []


def test_the_public_names_are_sorted_and_exact() -> None:
    assert pyspark_zkgroup.__all__ == [
        "DefaultSource",
        "ProgressListener",
        "__version__",
        "progress",
        "progress_frame",
        "read_progress",
        "register",
        "run_until_stopped",
        "stop",
        "stop_on_sigterm",
    ]
    assert pyspark_zkgroup.__all__ == sorted(pyspark_zkgroup.__all__)
    for name in pyspark_zkgroup.__all__:
        assert getattr(pyspark_zkgroup, name)
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = pyspark_zkgroup.nothing_of_ours


def test_stop_is_the_function_whatever_was_imported_before() -> None:
    import pyspark_zkgroup.spark.stopping

    assert pyspark_zkgroup.stop is pyspark_zkgroup.spark.stopping.stop


IMPORT_COST = """
import json, sys, threading
import pyspark.sql.datasource
before, threads, opened = set(sys.modules), threading.active_count(), []
watched = ("socket.", "subprocess.", "os.fork", "os.posix_spawn")
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith(watched) else None)
import pyspark_zkgroup
name = pyspark_zkgroup.DefaultSource.name()
modules = sorted(set(sys.modules) - before)
threads = threading.active_count() - threads
print(json.dumps({"name": name, "modules": modules, "threads": threads, "opened": opened}))
"""


def test_importing_the_package_opens_nothing_and_costs_little(tmp_path: Path) -> None:
    """Every Spark query of a machine imports it: Spark looks for data sources."""
    shown = subprocess.run(
        [sys.executable, "-c", IMPORT_COST],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    cost = json.loads(shown.stdout)

    assert cost["name"] == "zkgroup"
    roots = {module.partition(".")[0] for module in cost["modules"]}
    assert roots & {"click", "grpc", "kafka", "kazoo", "pandas", "pyarrow", "rich"} == set()
    assert len(cost["modules"]) < MODULES_LOADED_MAX
    assert cost["threads"] == 0
    assert cost["opened"] == []


def test_the_rooms_in_the_design_are_those_of_the_contracts() -> None:
    """`python -m tests.harness.rooms` writes them."""
    text = rooms.DESIGN.read_text(encoding="utf-8")
    assert text.partition(rooms.BEGIN)[2].partition(rooms.END)[0].strip() == rooms.drawn()


def test_the_states_in_the_design_are_those_of_the_transitions() -> None:
    """`python -m tests.harness.states` writes them."""
    text = states.DESIGN.read_text(encoding="utf-8")
    assert text.partition(states.BEGIN)[2].partition(states.END)[0].strip() == states.drawn()


def test_a_changed_transition_changes_the_diagram(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_lost(member: Member, _why: str) -> Member:
        return member

    before = states.drawn()
    monkeypatch.setattr(f"{Member.__module__}.membership_given_up", never_lost)
    assert states.drawn() != before


def test_each_room_says_what_belongs_there() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for package in (PACKAGE, ROOT / "sandbox")
        for path in sorted(package.rglob("__init__.py"))
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
