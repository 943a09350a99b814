from __future__ import annotations

from pathlib import Path

from pyspark_zkgroup.options.docs import PAGE, main, page
from pyspark_zkgroup.options.parse import TABLE

PROJECT = Path(__file__).parent.parent.parent.parent


def test_the_page_is_the_one_the_table_makes() -> None:
    found = (PROJECT / PAGE).read_text(encoding="utf-8")
    assert found == page(), "run `python -m pyspark_zkgroup.options.docs`"


def test_every_option_has_an_anchor_and_its_facts() -> None:
    text = page()
    for option in TABLE.options:
        entry = text.partition(f"\n### {option.name}\n")[2].partition("\n#")[0]
        assert entry.count("\n- Default: ") == entry.count("\n- Allowed: ") == 1, option.name


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
    main(tmp_path)
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == page()
