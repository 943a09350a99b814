from __future__ import annotations

from pathlib import Path

from pyspark_zkgroup.options.docs import MARKS, PAGE, README, main, page, with_section
from pyspark_zkgroup.options.parse import TABLE

PROJECT = Path(__file__).parent.parent.parent.parent


def test_the_page_is_the_one_the_table_makes() -> None:
    found = (PROJECT / PAGE).read_text(encoding="utf-8")
    assert found == page(), "run `python -m pyspark_zkgroup.options.docs`"


def test_the_readme_has_the_options_that_the_table_has() -> None:
    readme = PROJECT / README
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        assert text == with_section(text), "run `python -m pyspark_zkgroup.options.docs`"


def test_only_what_stands_between_the_marks_is_made_anew() -> None:
    begin, end = MARKS
    assert with_section("a\n") == "a\n"
    assert with_section(f"a {begin} b") == f"a {begin} b"
    made = with_section(f"a\n{begin}\nold\n{end}\nb\n")
    assert made.startswith(f"a\n{begin}\n| option |")
    assert made.endswith(f" |\n{end}\nb\n")
    assert all(f"`{option.name}`" in made for option in TABLE.options)
    assert with_section(made) == made


def test_every_row_of_a_table_has_the_cells_of_its_head() -> None:
    cells = 0
    for line in page().splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        found = line.replace("\\|", "").count("|")
        cells = cells or found
        assert found == cells, line


def test_the_page_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    (tmp_path / README).write_text(f"{MARKS[0]}{MARKS[1]}", encoding="utf-8")
    main(tmp_path)
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == page()
    assert "zookeeper.connect" in (tmp_path / README).read_text(encoding="utf-8")
