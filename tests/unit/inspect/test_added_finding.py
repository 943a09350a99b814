"""A new finding is a function in the module of its kind, its name in the list, and its texts."""

from __future__ import annotations

import json
from pathlib import Path

from tests.harness.changed_package import change, copied, printed

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
    package = copied(tmp_path)
    findings = package / "inspect" / "findings"
    with (findings / "members.py").open("a", encoding="utf-8") as module:
        module.write(FINDING)
    change(
        findings / "__init__.py",
        [
            ("findings.members import divided,", "findings.members import crowded, divided,"),
            ("\n_KINDS = (\n", "\n_KINDS = (\n    crowded,\n"),
        ],
    )
    entries = json.loads((package / "catalogue.json").read_text(encoding="utf-8"))
    (package / "catalogue.json").write_text(json.dumps({**entries, "ZKG-299": ENTRY}))
    assert printed(READ, tmp_path) == [
        "[('[ZKG-299] 2 toys are too many', 'Give one away')]",
        "True",
    ]
