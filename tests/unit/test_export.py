"""The board for scripts, and numbers for people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from amcc.experiments.board import SCORES, Result
from amcc.experiments.export import board_json, result_table
from amcc.experiments.families import MEANS
from amcc.experiments.summary import JUDGED, summarise
from amcc.experiments.text import EMPTY, markdown_table, number


def result(cell: str, method: str, jaccard: float | None, kind: str = "independent", seed: int = 0) -> Result:
    scores = None if jaccard is None else {**dict.fromkeys(SCORES, 0.25), "jaccard": jaccard}
    return Result(cell, kind, seed, method, scores, cell)


RESULTS = [
    result("a", "majority", 0.5), result("a", "x", 0.75), result("a", "true-rates", None),
    result("b", "majority", 0.5, "simulated"), result("b", "x", 0.25, "simulated"),
    result("b", "true-rates", 0.875, "simulated"),
]  # fmt: skip


@pytest.fixture
def found() -> dict:
    return board_json(summarise(RESULTS))


def test_results_are_rows_and_no_entry_is_blank():
    rows = result_table(RESULTS).to_pylist()
    assert len(rows) == 6
    assert list(rows[0]) == ["cell", "kind", "family", "seed", "method", "known", *SCORES]
    assert rows[1]["jaccard"] == 0.75
    assert all(rows[2][score] is None for score in SCORES)


def test_a_table_of_blanks_has_numbers_for_columns():
    table = result_table([result("a", "x", None)])
    assert {str(table.schema.field(score).type) for score in SCORES} == {"double"}


def test_scores_are_told_by_cell_and_method(found):
    assert found["cells"] == 2
    assert found["jaccard"]["b"] == {"majority": 0.5, "x": 0.25, "true-rates": 0.875}
    assert math.isnan(found["jaccard"]["a"]["true-rates"])
    assert set(SCORES) <= set(found)


def test_verdicts_are_told_by_kind_of_cell(found):
    x = found["methods"]["x"]
    assert (x["cells_jaccard"], x["cells_jaccard_independent"], x["cells_jaccard_own"]) == (2, 1, 0)
    assert (x["first_jaccard"], x["first_jaccard_independent"], x["first_jaccard_own"]) == (0.5, 1.0, None)
    assert (x["mean_rank_jaccard"], x["mean_rank_jaccard_simulated"]) == (1.5, 2.0)
    assert (x["worst_loss_jaccard"], x["worst_cell_jaccard"]) == (0.25, "b")
    assert x["above_oracle_jaccard"] == 0
    assert {name.rpartition("worst_loss_")[2] for name in x if name.startswith("worst_loss")} == set(JUDGED)


def test_the_oracle_and_majority_have_nothing_to_compare_with(found):
    oracle, majority = found["methods"]["true-rates"], found["methods"]["majority"]
    assert oracle["first_jaccard"] is None
    assert oracle["above_oracle_jaccard"] is None
    assert majority["worst_loss_jaccard"] is None


def test_families_are_told_with_their_errors(found):
    assert list(found["families"]) == ["real sets", "simulated crowds"]
    x = found["families"]["simulated crowds"]["x"]
    assert (x["families"], x["jaccard"], x["jaccard_gain"]) == (1, 0.25, -0.25)
    assert np.isnan(x["jaccard_error"])  # one family does not tell
    assert (x["worst_lead"], x["worst_cell"], x["first"]) == (-0.25, "b", 0.0)
    assert set(MEANS) <= set(x)


# -- numbers and tables ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(1.0, ".3f", "1.000"), (-0.0004, "+.3f", "-0.000"), (None, ".1f", EMPTY), (math.nan, ".1f", EMPTY)],
)
def test_numbers_for_people(value, form, text):
    assert number(value, form) == text


def test_tables_of_nothing_have_their_head():
    assert markdown_table(["a", "b"], []) == ["| a | b |", "|---|---|"]


def test_names_with_bars_stay_in_their_cells():
    lines = markdown_table(["a"], [["x|y"]])
    assert lines[2] == "| x\\|y |"
