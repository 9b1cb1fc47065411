"""Who the workers are: what is read, what is refused, what is said about it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from amcc import Roster, read_roster
from amcc.errors import ColumnError, ConflictError, EmptyInputError, IdError, InputError
from amcc.io import write_table
from amcc.roster import HUMAN, MODEL

ROWS = {"worker": ["a", "b", "c"], "kind": ["model", "Model ", ""], "family": ["x", "x", None]}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_frames(make):
    roster = Roster.from_frame(make(ROWS))
    assert roster.worker.to_pylist() == ["a", "b", "c"]
    assert roster.kind == ("model", "model", "human")
    assert roster.family.to_pylist() == ["x", "x", None]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl", "csv.gz"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"workers.{suffix}"
    write_table(pa.table(ROWS), path)
    assert read_roster(path) == Roster.from_frame(pa.table(ROWS))


def test_seats_by_name_whether_text_or_number():
    roster = Roster.from_frame(pa.table({"worker": [7, 8], "kind": ["model", "code"], "family": [None, "r"]}))
    seats = roster.seats(pa.array(["7", "9", "8"]))
    assert seats.kind.tolist() == [1, 0, 2]
    assert seats.family.tolist() == [-1, -1, 0]
    assert seats.families().to_pylist() == [None, None, "r"]
    assert seats.kinds().to_pylist() == ["model", "human", "code"]
    assert (HUMAN, MODEL) == (0, 1)


def test_notes_say_who_is_missing_and_who_is_silent():
    roster = Roster.from_frame(pa.table({**ROWS, "price": [1, 2, 3]}))
    missing, strangers, silent = roster.notes(pa.array(["a", "d", "e"]))
    assert missing == "workers file: columns that are not used: 'price'"
    assert strangers == "2 of 3 workers are not in the workers file and count as people without a family: 'd', 'e'"
    assert silent == "2 of the workers file never voted: 'b', 'c'"
    assert Roster.from_frame(pa.table(ROWS)).notes(pa.array(["a", "b", "c"])) == []


def test_lookalike_families_are_pointed_out():
    roster = Roster.from_frame(pa.table({**ROWS, "family": ["x", "X", None]}))
    assert "2 families have names that differ only in case" in roster.notes(pa.array(["a", "b", "c"]))[0]


def table(**changed):
    return pa.table({**ROWS, **changed})


@pytest.mark.parametrize(
    ("frame", "error", "says"),
    [
        (table(kind=["model", "robot", ""]), InputError, r"human, model or code.*column 'kind' has 'robot' in row 2"),
        (
            table(worker=["a", "b", "a"], kind=["model"] * 3, family=["x"] * 3),
            InputError,
            r"row 3 repeats row 1 \('a'\)",
        ),
        (
            table(worker=["a", "b", "a"]),
            ConflictError,
            "'a' is model, family x in row 1 and human, family none in row 3",
        ),
        (table(kind=["model", "code", ""]), ConflictError, "family 'x' has a model in row 1 and a code in row 2"),
        (table(worker=["a", None, "c"]), IdError, "column 'worker' is empty in row 2"),
        (pa.table({"worker": ["a"], "family": ["x"]}), ColumnError, "kind is missing"),
        (pa.table({"name": ["a"], "kind": ["model"]}), ColumnError, "worker is missing"),
        (
            pa.table({"annotator": ["a"], "rater": ["b"], "kind": ["model"]}),
            ColumnError,
            "'annotator', 'rater' all look",
        ),
        (table(family=[1.5, 2.5, None]), IdError, "whole number"),
        (pa.table(ROWS).slice(0, 0), EmptyInputError, "at least one worker"),
    ],
)
def test_refused(frame, error, says):
    with pytest.raises(error, match=says):
        Roster.from_frame(frame)


def test_a_roster_of_other_workers_is_refused():
    with pytest.raises(EmptyInputError, match=r"none of its 3 workers voted. It names 'a', 'b', 'c'; the votes 'z'"):
        Roster.from_frame(pa.table(ROWS)).seats(pa.array(["z"]))
    with pytest.raises(IdError, match="differ only in spaces"):
        Roster.from_frame(pa.table(ROWS)).seats(pa.array(["a", "b "]))


def test_families_may_be_numbers():
    roster = Roster.from_frame(table(family=[1, 1, None]))
    assert roster.seats(pa.array(["a", "b", "c"])).family.tolist() == [0, 0, -1]
    assert np.array_equal(roster.seats(pa.array(["c", "a"])).kind, [HUMAN, MODEL])
