"""What a user who installs the distribution, or sets up a checkout, relies on."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import cast

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from pyspark_zkgroup import __version__
from requirements.install import pins, with_hashes
from requirements.supply import bill, crates

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "dev.txt"
BUILT_FROM = ("setup.py", "build_backend.py", "setup.cfg", "pyproject.toml", "MANIFEST.in")
LOCKED_EXTRAS = ("spark", "delta", "dev", "notebooks")


def requirements(*extras: str) -> list[Requirement]:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    texts = [config["options"]["install_requires"]]
    texts += [config["options.extras_require"][extra] for extra in extras]
    return [Requirement(line) for text in texts for line in text.split("\n") if line.strip()]


def test_the_distribution_is_what_setup_cfg_says() -> None:
    installed = distribution("pyspark-zkgroup")

    assert installed.version == __version__ == "0.1.0"
    assert installed.metadata["Requires-Python"] == ">=3.10"
    extras = {"aws", "delta", "dev", "ingest", "light", "notebooks", "spark"}
    assert set(installed.metadata.get_all("Provides-Extra") or ()) == extras
    (command,) = installed.entry_points.select(group="console_scripts")
    assert (command.name, command.value) == ("zkgroup", "pyspark_zkgroup.cli.main:main")


def test_installing_it_on_a_cluster_does_not_replace_the_clusters_spark() -> None:
    required = [Requirement(text) for text in distribution("pyspark-zkgroup").requires or ()]

    assert "pyspark" in {r.name for r in required if r.marker}
    assert "pyspark" not in {r.name for r in required if not r.marker}


def test_the_package_carries_its_types() -> None:
    assert (ROOT / "pyspark_zkgroup" / "py.typed").is_file()


def test_spark_can_find_the_package_from_anywhere(tmp_path: Path) -> None:
    """Spark asks pkgutil for packages named pyspark_*, and pkgutil does not list import hooks."""
    script = "import pkgutil; print(*(m.name for m in pkgutil.iter_modules()))"
    shown = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "pyspark_zkgroup" in shown.stdout.split()


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_lock_pins_what_setup_cfg_asks_for_on_every_python(python: str) -> None:
    environment = {name: str(value) for name, value in default_environment().items()}
    environment |= {"python_version": python, "python_full_version": f"{python}.9", "extra": ""}
    pinned = {}
    for line in pins(LOCK.read_text(encoding="utf-8")):
        pin = Requirement(line)
        if pin.marker is None or pin.marker.evaluate(environment):
            pinned[pin.name.replace("_", "-").lower()] = str(pin.specifier).removeprefix("==")

    for requirement in requirements(*LOCKED_EXTRAS):
        assert requirement.specifier.contains(pinned[requirement.name]), requirement


def test_the_lock_names_no_place_to_fetch_from() -> None:
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    given = [line.rstrip(" \\") for line in lines if line.strip() and line.lstrip()[0] != "#"]
    allowed = re.compile(r"[A-Za-z0-9._-]+==[^\s/]+( ; .*)?|    --hash=sha256:[0-9a-f]{64}")

    assert [line for line in given if not allowed.fullmatch(line)] == []


def test_the_lock_has_a_hash_for_each_package() -> None:
    lock = LOCK.read_text(encoding="utf-8")

    assert [
        pin for pin in pins(lock) if "--hash" not in with_hashes(lock, pin.split("==")[0])
    ] == []


def test_a_machine_without_java_gets_an_error_before_anything_is_downloaded(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    told = subprocess.run(
        [sys.executable, str(ROOT / "requirements" / "install.py"), "--java"],
        env={**environment, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert told.returncode == 1
    assert told.stdout == ""
    assert told.stderr.startswith("setup: no Java was found")
    assert told.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rust is on the path and does not work, as rustup leaves it without a toolchain."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("cargo", "rustc"):
        (place / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (place / name).chmod(0o755)
    source = place / "source"
    source.mkdir()
    for name in (*BUILT_FROM, "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    built = shutil.ignore_patterns("__pycache__", "_decoder*.so")
    shutil.copytree(ROOT / "pyspark_zkgroup", source / "pyspark_zkgroup", ignore=built)
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", "dist"]
    subprocess.run(
        [sys.executable, *command, "."],
        cwd=source,
        env={**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"},
        timeout=240,
        check=True,
    )
    (made,) = (source / "dist").iterdir()
    return made


def test_a_wheel_without_the_native_decoder_is_one_for_every_machine(wheel: Path) -> None:
    assert wheel.name == f"pyspark_zkgroup-{__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert "pyspark_zkgroup/records/reference.py" in names
    assert [name for name in names if "_decoder" in name] == [
        "pyspark_zkgroup/records/_decoder.pyi"
    ]


def test_the_wheel_has_no_code_of_tests_sandbox_or_demo(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        texts = {n: content.read(n).decode() for n in names if n.endswith(".py")}

    metadata = f"pyspark_zkgroup-{__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"pyspark_zkgroup", metadata}
    folders = {part for name in names for part in name.split("/")[:-1]}
    assert folders & {"conftest", "demo", "notebooks", "sandbox", "test", "tests"} == set()
    imported = re.compile(
        r"^\s*(?:from|import) (?:zkgroup_sandbox|tests|pytest|hypothesis|cryptography)\b",
        re.MULTILINE,
    )
    assert [name for name, text in texts.items() if imported.search(text)] == []


def test_the_sandbox_adds_its_commands_where_it_is_installed(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    built = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    shutil.copytree(ROOT / "sandbox", source, ignore=built)
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([sys.executable, *command, str(target), str(source)], timeout=240, check=True)
    (metadata,) = target.glob("*.dist-info")
    assert metadata.name == f"zkgroup_sandbox-{__version__}.dist-info"
    script = (
        "import zkgroup_sandbox; print(zkgroup_sandbox.__file__, flush=True);"
        "from pyspark_zkgroup.cli.main import main; main()"
    )
    for name in ("sandbox", "demo"):
        shown = subprocess.run(
            [sys.executable, "-c", script, name, "--help"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{target}{os.pathsep}{ROOT}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert shown.stdout.startswith(str(target))
        assert f"Usage: -c {name} " in shown.stdout


def test_the_sandbox_is_of_this_version_and_what_it_needs_is_pinned() -> None:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "sandbox" / "setup.cfg")
    needed = [
        Requirement(line) for line in config["options"]["install_requires"].split("\n") if line
    ]
    ours = f"pyspark-zkgroup=={__version__}"
    assert (config["metadata"]["version"], str(needed[0])) == (__version__, ours)
    assert {r.name: r.specifier for r in needed[1:]}.items() <= {
        r.name: r.specifier for r in requirements("dev")
    }.items()


def test_the_check_of_a_clean_clone_can_be_run() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_each_linked_crate_is_in_the_notices_and_in_the_bill() -> None:
    notices = (ROOT / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    named = {" ".join(line.split()[:2]) for line in notices.splitlines() if "): " in line}
    made = bill()
    components = cast("list[dict[str, str]]", made["components"])
    listed = {f"{c['name']} {c['version']}" for c in components if "cargo" in c["purl"]}

    assert named == crates().keys() == listed
    assert {c["name"] for c in components} >= {"kazoo", "kafka-python", "google-re2"}
    # Only built for UEFI.
    without = re.findall(r"^(\S+) .*: its licence has no file$", notices, re.MULTILINE)
    assert set(without) <= {"r-efi"}
