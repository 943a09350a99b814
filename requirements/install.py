"""Makes .venv from the pinned packages of dev.txt, with this project and its sandbox, editable.

    python3 requirements/install.py            what `make setup` runs
    python3 requirements/install.py --java     looks for Java first, before anything is downloaded

Where everything is in place already it does and says nothing. It needs nothing but Python itself.
The native decoder is built where a Rust toolchain works; without one all else works, but reads
slowly.
"""

import sys

if sys.version_info < (3, 10):  # what stands below is read by an older one, not run
    sys.exit(
        f"setup: Python 3.10 or later is needed, but {sys.executable} is {sys.version.split()[0]}. "
        "Name another one: make PYTHON=python3.12"
    )

import argparse
import configparser
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANDBOX = ROOT / "sandbox"
LOCK = ROOT / "requirements" / "dev.txt"
BYTECODE = ROOT / "requirements" / "bytecode.py"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup.json"
PIP_LOG = VENV / "pip.log"
BUILD_LOCK = VENV / "build-lock.txt"
RECORDS = ROOT / "pyspark_zkgroup" / "records"
NATIVE_BUILD = VENV / "native"
LARGE_MB = 20.0
PIP_LINES_SHOWN = 12
EDITABLE = ("--no-deps", "--no-build-isolation", "--editable")


class SetupError(Exception):
    """One line for the person at the terminal."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--java", action="store_true", help="also look for Java")
    try:
        if parser.parse_args().java:
            check_java()
        if not is_done():
            install()
    except SetupError as error:
        sys.exit(f"setup: {error}")
    except KeyboardInterrupt:
        sys.exit("setup: interrupted; the next run continues from here")


def check_java() -> None:
    """Only that there is one. Its version is looked at by the sandbox, once there is a sandbox."""
    home = os.environ.get("JAVA_HOME", "")
    if not home and shutil.which("java") is None:
        raise SetupError(
            "no Java was found: JAVA_HOME is not set and PATH has no java. Install Java 17 or later"
        )


def wanted() -> dict[str, str]:
    """What .venv is made from. A change of any of it, or of the place, means a new installation."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    metadata = {
        name: dict(config[name])
        for name in config.sections()
        if name == "metadata" or name.split(".")[0] == "options"
    }
    made_from = [
        LOCK.read_bytes(),
        json.dumps(metadata, sort_keys=True).encode(),
        (SANDBOX / "setup.cfg").read_bytes(),
        (ROOT / "pyspark_zkgroup" / "_version.py").read_bytes(),
        Path(__file__).read_bytes(),
        BYTECODE.read_bytes(),
    ]
    return {
        "python": "{}.{}".format(*sys.version_info),
        "place": str(ROOT),
        "digest": hashlib.sha256(b"\0".join(made_from)).hexdigest(),
        "native": native_wanted(),
    }


def native_wanted() -> str:
    """What the native decoder is built from, and by which toolchain if any: one that comes later
    builds it then.
    """
    folder = RECORDS / "_native"
    sources = [*folder.glob("Cargo.*"), *folder.glob("src/**/*.rs")]
    texts = [path.read_bytes() for path in sorted(sources)]
    return hashlib.sha256(b"\0".join([*texts, toolchain().encode()])).hexdigest()


@functools.cache
def toolchain() -> str:
    """What cargo and rustc say they are, or nothing. They are asked, not looked for: rustup leaves
    a cargo on the path also where there is no toolchain behind it.
    """
    told = []
    for program in ("cargo", "rustc"):
        try:
            answer = subprocess.run(
                [program, "--version"], capture_output=True, text=True, timeout=60, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return ""
        told.append(answer.stdout.strip())
    return ", ".join(told)


def made() -> dict[str, str]:
    """What .venv was made from, if it was finished."""
    try:
        stamp: dict[str, str] = json.loads(STAMP.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return stamp


def is_done() -> bool:
    return made() == wanted() and PYTHON.exists()


def are_packages_done() -> bool:
    return {**made(), "native": ""} == {**wanted(), "native": ""} and PYTHON.exists()


def install() -> None:
    began = time.monotonic()
    if are_packages_done():
        say(".venv exists; the native decoder must be built again")
    else:
        version = ".".join(str(part) for part in sys.version_info[:3])
        say(f"[1/4] Python {version} at {sys.executable}")
        make_venv()
        pins = pinned()
        say(f"[3/4] {len(pins)} pinned packages (about 600 MB to download where none is cached)")
        install_packages(len(pins))
        subprocess.run([str(PYTHON), str(BYTECODE)], check=True)
    say(f"[4/4] pyspark-zkgroup itself, editable, native decoder: {toolchain() or 'not built'}")
    pip("install", *EDITABLE, str(SANDBOX))
    install_itself()
    STAMP.write_text(json.dumps(wanted()) + "\n")
    say(f"ready in {time.monotonic() - began:.0f} s")


def install_itself() -> None:
    """Whatever hinders the native decoder does not hinder the rest."""
    for built in RECORDS.glob("_decoder*.so"):
        built.unlink()  # of older sources, if this fails
    os.environ.setdefault("CARGO_TARGET_DIR", str(NATIVE_BUILD))
    for line in pip_lines("install", "--verbose", *EDITABLE, str(ROOT)):
        if crate := re.match(r"\s+Compiling (\S+)", line):
            progress(f"      compiling {crate[1]}", passing=True)
    if any(RECORDS.glob("_decoder*.so")):
        return
    if toolchain():
        why = f"building it failed, see {PIP_LOG.relative_to(ROOT)}"
        remedy = f"Correct that, then: rm {STAMP.relative_to(ROOT)}; make setup"
    else:
        why = "`cargo --version` and `rustc --version` do not both answer"
        remedy = "Install Rust from https://rustup.rs and a C compiler, then: make setup"
    say(f"      reading Kafka will be slow: there is no native decoder, as {why}. {remedy}")


def make_venv() -> None:
    """Keeps a .venv of this version of Python; its packages are brought up to date in place.

    Not one that was moved here with its checkout: its scripts start the Python of the old place.
    """
    moved = made().get("place", str(ROOT)) != str(ROOT)
    if venv_version() == sys.version_info[:2] and not moved:
        say("[2/4] .venv is there already")
        STAMP.unlink(missing_ok=True)
        return
    say("[2/4] making .venv")
    if VENV.exists():
        shutil.rmtree(VENV)
    created = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if created.returncode != 0:
        print(created.stdout + created.stderr, end="")
        raise SetupError(
            f"{sys.executable} -m venv failed, see above. "
            "On Debian and Ubuntu: apt install python3-venv"
        )


def venv_version() -> tuple[int, int] | None:
    if not PYTHON.exists():
        return None
    shown = subprocess.run(
        [str(PYTHON), "-c", "import sys; print(*sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode != 0:
        return None
    major, minor = shown.stdout.split()
    return int(major), int(minor)


def pinned() -> list[str]:
    """The packages of the lock, roughly: markers of other systems and versions count as well."""
    return sorted({pin.split("==")[0] for pin in pins(LOCK.read_text())})


def pins(lock: str) -> list[str]:
    """Return each `name==version` of a lock, with its marker and without its hashes."""
    return [line.rstrip(" \\") for line in lock.splitlines() if re.match(r"[A-Za-z0-9]", line)]


def with_hashes(lock: str, name: str) -> str:
    """Return the entry of one package, with the hashes that pip compares what it fetches with."""
    entry = re.search(rf"^{re.escape(name)}==.*(?:\n +--hash=.*)*$", lock, re.MULTILINE)
    if entry is None:
        raise SetupError(f"{LOCK.relative_to(ROOT)} has no {name}. Run make lock")
    return entry[0] + "\n"


def install_packages(count: int) -> None:
    # First what builds the packages that come as source: pip would fetch another version for it.
    BUILD_LOCK.write_text(with_hashes(LOCK.read_text(), "setuptools"))
    pip("install", "--require-hashes", "--requirement", str(BUILD_LOCK))
    seen = 0
    wanted_packages = ("--require-hashes", "--requirement", str(LOCK))
    for line in pip_lines("install", "--no-build-isolation", "--use-pep517", *wanted_packages):
        package = re.match(r"(?:Collecting|Requirement already satisfied:) ([^=;<> ]+)", line)
        download = re.match(r"\s+Downloading (\S+) \(([\d.]+) MB\)", line)
        build = re.match(r"Building wheels for collected packages: (.*)", line)
        if package:
            seen += 1
            progress(f"      {min(seen, count)}/{count} {package[1]}", passing=seen % 20 != 0)
        elif download and float(download[2]) >= LARGE_MB:
            progress(f"      downloading {download[1].rpartition('/')[2]}, {download[2]} MB")
        elif build:
            progress(f"      building {build[1]}")
        elif line.startswith("Installing collected packages"):
            progress("      installing")


def pip(*arguments: str) -> None:
    for _ in pip_lines(*arguments):
        pass


def pip_lines(*arguments: str) -> Iterator[str]:
    """What pip says, line by line. A file keeps all of it; if pip fails, the end of it is shown."""
    command = [str(PYTHON), "-m", "pip", *arguments, "--no-input", "--progress-bar", "off"]
    child = subprocess.Popen(
        [*command, "--disable-pip-version-check"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    lines: list[str] = []
    with PIP_LOG.open("a") as log, child:
        for line in child.stdout or ():
            log.write(line)
            lines.append(line.rstrip())
            yield lines[-1]
    if child.returncode != 0:
        progress("\n".join(lines[-PIP_LINES_SHOWN:]))
        raise SetupError(
            f"pip {arguments[0]} failed, see above; all it said is in {PIP_LOG.relative_to(ROOT)}"
        )


def say(text: str) -> None:
    print(f"\r\033[K{text}" if sys.stdout.isatty() else text, flush=True)


def progress(text: str, *, passing: bool = False) -> None:
    """A passing line gives way to the next one on a terminal, and is left out elsewhere."""
    if not passing:
        say(text)
    elif sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{text[:width]}", end="", flush=True)


if __name__ == "__main__":
    main()
