"""What the paper prints: read as it stands, complete, and that of its LaTeX source."""

from __future__ import annotations

import re

import pytest

from amcc.experiments import paper_values
from amcc.experiments.paper_values import REMOVED, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6, Printed, read_cells
from amcc.experiments.reproduce.plan import PAPER_ROWS
from amcc.experiments.reproduce.sets import MULAN, REAL

SCORES = {"table4": TABLE_4, "table5": TABLE_5, "table6": TABLE_6}


def test_printed_values_are_those_of_the_paper():
    assert TABLE_2["SONYC-UST"] == (118, 442, 23, 1330, 3, 2.98)
    assert TABLE_3["Yeast"] == (2417, 14, 4.237, 14, 6770)
    assert TABLE_4["Yeast"]["NAM"] == (Printed(0.865, 0.008, "•"), Printed(0.726, 0.0, "•"), Printed(0.771, 0.01, "◦"))
    assert TABLE_5["AppleNakamura"]["MV"][1] == Printed(0.856, 0.0, "")  # the paper forgot the mark
    assert TABLE_6["SONYC-UST"]["AMCC"][3] == Printed(0.795, 0.012)
    for table, n_sets, n_columns in ((TABLE_4, 3, 3), (TABLE_5, 7, 3), (TABLE_6, 7, 4)):
        assert len(table) == n_sets
        assert {len(row) for rows in table.values() for row in rows.values()} == {n_columns}
        assert {len(rows) for rows in table.values()} == {7}


def test_printed_values_against_the_source(shared_data):
    source = shared_data.parent / "paper" / "amcc.tex"
    if not source.exists():
        pytest.skip("the paper's LaTeX is not beside the data")
    tex = source.read_text()
    cell = re.compile(r"\$\s*([\d.]+)\s*\\pm\s*([\d.]+)\s*(\\bullet|\\circ)?\s*\$")
    signs = {r"\bullet": "•", r"\circ": "◦", "": ""}
    for name, table in (("table4", TABLE_4), ("table5", TABLE_5), ("table6", TABLE_6)):
        end = tex.index(rf"\label{{{paper_values.LABELS[name]}}}")
        part = tex[tex.rindex(r"\begin{table", 0, end) : end]
        found = [Printed(float(mean), float(sd), signs[sign]) for mean, sd, sign in cell.findall(part)]
        ours = []
        for rows in table.values():
            by_row = list(rows.values())
            ours += [c for row in (by_row if name == "table4" else zip(*by_row, strict=True)) for c in row]
        assert ours == found


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", ()),
        ("0.5±0.01", (Printed(0.5, 0.01),)),
        ("0.5±0.01• 0.6±0◦ 0.7±0.1", (Printed(0.5, 0.01, "•"), Printed(0.6, 0.0, "◦"), Printed(0.7, 0.1))),
        ("0.9280±0.013", (Printed(0.928, 0.013),)),  # the paper's own slip: a digit too many
    ],
)
def test_cells_are_read_as_printed(text, cells):
    assert read_cells(text) == cells


@pytest.mark.parametrize("table", SCORES.values(), ids=SCORES)
def test_scores_lie_between_zero_and_one(table):
    cells = [cell for rows in table.values() for row in rows.values() for cell in row]
    assert all(0 < cell.mean <= 1 and 0 <= cell.sd < 0.1 for cell in cells)


@pytest.mark.parametrize("table", SCORES.values(), ids=SCORES)
def test_amcc_is_not_marked_against_itself(table):
    assert {cell.mark for rows in table.values() for cell in rows["AMCC"]} == {""}


def test_majority_has_no_chance():
    """Its deviation is 0 everywhere: the paper runs it on the same votes ten times."""
    assert {cell.sd for table in SCORES.values() for rows in table.values() for cell in rows["MV"]} == {0.0}


def test_sets_and_methods_are_those_that_are_reproduced():
    assert set(TABLE_4) == set(TABLE_3) == set(MULAN)
    assert set(TABLE_5) == set(TABLE_6) == set(TABLE_2) == set(REAL)
    ours = {row.name for row in PAPER_ROWS}
    assert all(set(rows) <= ours for table in SCORES.values() for rows in table.values())


def test_accuracy_falls_with_what_is_removed():
    """Accuracy falls with every share that is removed, for all methods and sets but for a tie."""
    assert list(REMOVED) == sorted(REMOVED)
    for rows in TABLE_6.values():
        for row in rows.values():
            means = [cell.mean for cell in row]
            assert means == sorted(means, reverse=True)


def test_a_table_that_is_not_there_is_empty():
    assert paper_values._read_scores("table7") == {}
