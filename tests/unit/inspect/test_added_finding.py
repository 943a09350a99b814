"""A new finding is a function in the module of its kind, its name in the list, and its texts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark_zkgroup

ROOT = Path(__file__).resolve().parents[3]
FINDING = """

def crowded(case: Case) -> Iterator[GroupFinding]:
    count = len(case.last.seen.members)
    if count > 1:
        yield GroupFinding("members", *catalogue.finding("ZKG-299", "crowded", count=count))
"""
ENTRY = {
    "title": "Too many toys",
    "cause": "A toy is heavy.",
    "remedy": "Give one away.",
    "messages": {"crowded": {"text": "{count} toys are too many", "remedy": "Give one away"}},
}
READ = """
from tests.harness.error_page import page
from tests.unit.inspect.faulty_group import Group, found
print([(said.text, said.remedy) for said in found(Group())])
print("ZKG-299" in page())
"""


def test_a_finding_touches_its_module_the_list_and_the_catalogue(tmp_path: Path) -> None:
    package = tmp_path / "pyspark_zkgroup"
    ignored = shutil.ignore_patterns("__pycache__", "_native")
    shutil.copytree(Path(pyspark_zkgroup.__file__).parent, package, ignore=ignored)
    findings = package / "inspect" / "findings"
    with (findings / "members.py").open("a", encoding="utf-8") as module:
        module.write(FINDING)
    listed = (findings / "__init__.py").read_text(encoding="utf-8")
    for before, after in (
        ("findings.members import divided,", "findings.members import crowded, divided,"),
        ("\n_KINDS = (\n", "\n_KINDS = (\n    crowded,\n"),
    ):
        assert listed.count(before) == 1
        listed = listed.replace(before, after)
    (findings / "__init__.py").write_text(listed, encoding="utf-8")
    entries = json.loads((package / "catalogue.json").read_text(encoding="utf-8"))
    (package / "catalogue.json").write_text(json.dumps({**entries, "ZKG-299": ENTRY}))
    shown = subprocess.run(
        [sys.executable, "-c", READ],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert shown.stdout.splitlines() == [
        "[('[ZKG-299] 2 toys are too many', 'Give one away')]",
        "True",
    ]
