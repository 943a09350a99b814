"""A new option is added in one file of options/: rows, rules and value of a concept stand there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.docs import page
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Section, Table
from pyspark_zkgroup.options.parse import TABLE
from tests.harness.changed_package import change, copied, printed

SECTION = Section(__name__, "Toys")

WHEELS = SECTION.option("toy.wheels", rules.whole_number(0, 8), 4)
"""How many wheels a toy has. A toy
of wood has some.
"""
COLOUR = SECTION.optional("toy.colour", rules.one_of("red", "blue"), default_text="that of wood")
"""What it is painted with."""


@dataclass(frozen=True, slots=True)
class Toy:
    wheels: int
    colour: str | None


def toy(given: Given) -> Toy:
    if given.value(WHEELS) == 0:
        given.refuse([COLOUR], f"{given.shown(WHEELS)}", "Leave the colour out")
    return Toy(given.value(WHEELS), given.value(COLOUR))


def toys(**options: str) -> Toy:
    return toy(Given({f"toy.{name}": text for name, text in options.items()}, Table([SECTION])))


def test_a_concept_is_read_by_its_rows() -> None:
    assert toys() == Toy(4, None)
    assert toys(wheels=" 6 ", colour="RED") == Toy(6, "red")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"wheels": "9"},
            "Option 'toy.wheels' is '9', which is out of range. "
            "Allowed: a whole number from 0 to 8",
        ),
        (
            {"wheels": "0", "colour": "red"},
            "Option 'toy.colour' is 'red', but 'toy.wheels' is '0'. Leave the colour out",
        ),
        (
            {"wheel": "1"},
            "Option 'toy.wheel' (given '1') is unknown. Did you mean 'toy.wheels'? "
            "Allowed there: a whole number from 0 to 8",
        ),
    ],
)
def test_a_concept_is_checked_by_its_rules(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        toys(**options)
    assert f"{caught.value}".removeprefix("[ZKG-001] ") == message


def test_a_concept_is_documented_by_the_docstrings_of_its_rows() -> None:
    made = page(Table([SECTION]))
    assert made.index("## Toys\n") < made.index("### toy.wheels\n") < made.index("### toy.colour\n")
    assert "How many wheels a toy has. A toy of wood has some." in made
    assert "- Default: `4`\n- Allowed: a whole number from 0 to 8\n" in made


def test_an_option_that_is_not_documented_has_no_page() -> None:
    section = Section(__name__, "Toys")
    section.option("toy.name", rules.NAME, "bear")
    with pytest.raises(KeyError):
        page(Table([section]))


def test_each_row_is_part_of_the_table() -> None:
    """Or an option of a new section would be unknown."""
    listed = {option.section for option in TABLE.options}
    for module in {section.module for section in listed}:
        sections = [one for one in vars(sys.modules[module]).values() if isinstance(one, Section)]
        assert set(sections) <= listed, module


ROW = '''
MAX_TOYS = SECTION.optional("maxToysPerTrigger", rules.whole_number(1, 9), in_batch="ignored")
"""The most toys of one batch."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
'''
READ = """
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.docs import page
least = {"zookeeper.connect": "zk1", "group.id": "billing", "subscribe": "orders"}
print(parse({**least, "maxtoyspertrigger": "7"}).batches.toys_max, parse(least).batches.toys_max)
print(parse({**least, "maxToysPerTrigger": "7"}, "batch").batch_read.ignored)
print("### maxToysPerTrigger\\n\\nThe most toys of one batch.\\n" in page())
"""


def test_an_option_of_a_concept_touches_its_file_alone(tmp_path: Path) -> None:
    change(
        copied(tmp_path) / "options" / "batch_size.py",
        [
            ("\n\n@dataclass(frozen=True, slots=True)\nclass BatchLimits:\n", ROW),
            (
                "    ends_by_itself: bool",
                "    toys_max: int | None = None\n    ends_by_itself: bool",
            ),
            (
                "        offsets_max=most,\n",
                "        offsets_max=most, toys_max=given.value(MAX_TOYS),\n",
            ),
        ],
    )
    assert printed(READ, tmp_path) == ["7 None", "(\"'maxToysPerTrigger' is '7'\",)", "True"]
