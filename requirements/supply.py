"""What the wheel contains that others wrote: notices of licences, and a bill of materials.

    python requirements/supply.py notices      writes THIRD-PARTY.txt; needs cargo
    python requirements/supply.py sbom DIR     writes DIR/pyspark-zkgroup.cdx.json (CycloneDX)

The crates of the native decoder are linked into it. Python packages are only named: pip installs
them, and requirements/dev.txt has the versions and hashes that are tested.
"""

import configparser
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "pyspark_zkgroup" / "records" / "_native"
NOTICES = ROOT / "THIRD-PARTY.txt"
LOCK = ROOT / "requirements" / "dev.txt"
OWN = "zkgroup-decoder"
LICENCES = ("LICENSE*", "LICENCE*", "COPYING*", "*/LICENSE", "*/COPYING")


def crates() -> dict[str, tuple[str, str]]:
    """Return version and SHA-256 of each crate in Cargo.lock, without our own."""
    entry = re.compile(
        r'\[\[package\]\]\nname = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
    )
    found = entry.findall((NATIVE / "Cargo.lock").read_text(encoding="utf-8"))
    return {f"{name} {version}": (version, digest) for name, version, digest in found}


def notices() -> str:
    """Return the licence of each crate, and the texts that it comes with."""
    answer = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"],
        cwd=NATIVE,
        capture_output=True,
        text=True,
        check=True,
    )
    heads = ["The native decoder of pyspark-zkgroup contains or is built with these crates.\n"]
    texts: dict[str, int] = {}
    for package in sorted(json.loads(answer.stdout)["packages"], key=lambda p: str(p["name"])):
        if package["name"] == OWN:
            continue
        folder = Path(package["manifest_path"]).parent
        files = sorted({path for pattern in LICENCES for path in folder.glob(pattern)})
        read = [path.read_text("utf-8", "replace").strip() for path in files]
        numbers = [texts.setdefault(text, len(texts) + 1) for text in read]
        shown = ", ".join(map(str, numbers)) or "its licence has no file"
        heads.append(f"{package['name']} {package['version']} ({package['license']}): {shown}")
    bodies = [f"\n{'=' * 30} {number} {'=' * 30}\n\n{text}" for text, number in texts.items()]
    return "\n".join([*heads, *bodies]) + "\n"


def bill() -> dict[str, object]:
    """Return the bill of materials: linked crates, and the Python packages of each install."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    version = re.search(r'= "(.+)"', (ROOT / "pyspark_zkgroup" / "_version.py").read_text())
    pinned = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", LOCK.read_text(), re.MULTILINE))
    names = re.findall(r"^([A-Za-z0-9_.-]+)", config["options"]["install_requires"], re.MULTILINE)
    components: list[dict[str, object]] = [
        {
            "type": "library",
            "name": key.split()[0],
            "version": crate,
            "purl": f"pkg:cargo/{key.split()[0]}@{crate}",
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
        for key, (crate, digest) in crates().items()
    ]
    components += [
        {
            "type": "library",
            "name": name,
            "version": pinned[name],
            "purl": f"pkg:pypi/{name.lower()}@{pinned[name]}",
        }
        for name in names
    ]
    own = {
        "type": "library",
        "name": "pyspark-zkgroup",
        "version": version[1] if version else "",
        "licenses": [{"license": {"id": config["metadata"]["license"]}}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }


def main() -> None:
    if sys.argv[1:] == ["notices"]:
        NOTICES.write_text(notices(), encoding="utf-8")
    elif len(sys.argv) == 3 and sys.argv[1] == "sbom":
        path = Path(sys.argv[2]) / "pyspark-zkgroup.cdx.json"
        path.write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
