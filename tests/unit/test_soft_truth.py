"""Soft truth: shares by pair, from a table or from the votes of other people."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from amcc.errors import ColumnError, EmptyInputError, InputError
from amcc.io import read_soft_truth, write_table
from amcc.soft_truth import SoftTruth
from amcc.votes import Votes

TABLE = {"item": [1, 1, 2], "label": ["cat", "dog", "cat"], "share": [0.25, 1.0, 0.0]}


def as_dict(soft: SoftTruth) -> dict[tuple[str, str], float]:
    pairs = zip(soft.pairs.item.to_pylist(), soft.pairs.label.to_pylist(), strict=True)
    return dict(zip(pairs, soft.share.tolist(), strict=True))


@pytest.mark.parametrize("name", ["share", "Soft", "soft label", "yes-share"])
def test_a_column_of_shares_is_found_by_its_name(name):
    soft = SoftTruth.from_frame(pa.table({"task": TABLE["item"], "tag": TABLE["label"], name: TABLE["share"]}))
    assert as_dict(soft) == {("1", "cat"): 0.25, ("1", "dog"): 1.0, ("2", "cat"): 0.0}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_all_formats_say_the_same(tmp_path, suffix):
    write_table(pa.table(TABLE), tmp_path / f"soft.{suffix}")
    assert as_dict(read_soft_truth(tmp_path / f"soft.{suffix}")) == as_dict(SoftTruth.from_frame(pa.table(TABLE)))


def test_votes_of_others_are_counted_and_who_was_not_asked_does_not_count():
    """Pair (0, 0): two of three say yes. Pair (0, 1): one of two, for the third worker was not asked."""
    votes = Votes.from_dense([[[1, 1]], [[1, -1]], [[-1, 0]]])
    np.testing.assert_allclose(SoftTruth.from_votes(votes).share, [2 / 3, 1 / 2], rtol=1e-15)
    assert as_dict(SoftTruth.from_frame(votes.to_arrow())) == as_dict(SoftTruth.from_votes(votes))


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"share": None}, ColumnError, "must have one column 'share'.*the columns are item, label"),
        ({"soft": [0, 0, 0]}, ColumnError, "must have one column 'share'"),
        ({"share": [0.5, 1.5, 0.0]}, InputError, "'share' must lie between 0 and 1; row 2 has 1.5"),
        ({"share": [0.5, 0.5, -0.1]}, InputError, "row 3 has -0.1"),
        ({"share": [0.5, None, 0.5]}, InputError, "row 2 has nan"),
        ({"share": ["a", "0.5", "1"]}, InputError, "'share' must hold numbers"),
        ({"item": [1, 1, 1]}, InputError, "pair must stand in a soft truth once; row 3 repeats row 1"),
        ({"label": None}, ColumnError, "label is missing"),
    ],
)
def test_what_is_no_soft_truth_is_refused(change, error, message):
    table = {name: cells for name, cells in {**TABLE, **change}.items() if cells is not None}
    with pytest.raises(error, match=message):
        SoftTruth.from_frame(pa.table(table))


def test_a_table_without_rows_is_refused():
    with pytest.raises(EmptyInputError, match="at least one row"):
        SoftTruth.from_frame(pa.table(TABLE).slice(0, 0))
