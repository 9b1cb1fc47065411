"""Whatever is a table comes in three kinds of frames, goes back where it came from, and is a card in a notebook."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from amcc import AMCC, Roster, Truth, Votes, evaluate, next_questions
from amcc.active import Curve, Replay, questions_for_expert
from amcc.audit import audit
from amcc.data import CrowdSpec, simulate_crowd
from amcc.errors import MissingExtraError, ParameterError
from amcc.soft_truth import SoftTruth
from amcc.tables import Tabular

KINDS = {"to_pandas": pd.DataFrame, "to_polars": pl.DataFrame, "to_arrow": pa.Table}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}


@pytest.fixture(scope="module")
def votes():
    return simulate_crowd(CrowdSpec(n_items=60, n_workers=12, n_labels=4, seed=1)).votes


@pytest.fixture(scope="module")
def model(votes):
    return AMCC().fit(votes)


@pytest.fixture(scope="module")
def truth(votes):
    return Truth.from_frames(
        pa.table({"item": votes.item_names, "labels": [[str(votes.label_names[0])], []] * (votes.n_items // 2)})
    )


@pytest.fixture(scope="module")
def things(votes, model, truth):
    curve = Curve(np.array([0.5, 1.0]), np.array([2.0, 4.0]), np.array([0.6, 0.8]))
    return {
        "votes": votes,
        "truth": truth,
        "soft truth": SoftTruth.from_votes(votes),
        "roster": Roster.from_frame(pa.table({"worker": ["ann", "bot"], "kind": ["human", "model"]})),
        "evaluation": evaluate(model.pairs(), truth),
        "description": votes.describe(n_boot=1),
        "next questions": next_questions(votes, budget=6),
        "curve": curve,
        "replay": Replay([curve, curve], [0.8, 0.8]),
    }


@pytest.mark.parametrize("method", KINDS)
def test_all_are_frames_of_every_library(things, method):
    for name, thing in things.items():
        assert isinstance(thing, Tabular), name
        frame = getattr(thing, method)()
        assert isinstance(frame, KINDS[method]), name
        assert (len(frame), [str(column) for column in getattr(frame, "column_names", frame.columns)]) == (
            thing.to_arrow().num_rows,
            thing.to_arrow().column_names,
        )


@pytest.mark.parametrize("frame", FRAMES)
def test_all_tables_of_methods_are_frames_of_every_library(votes, model, truth, frame):
    measured = audit(model, votes, truth)
    found = next_questions(votes, budget=6)
    for table in (
        model.pairs(frame=frame),
        model.sets(frame=frame),
        model.workers(frame=frame),
        model.groups(frame=frame),
        votes.to_sets(frame=frame),
        found.table(frame=frame),
        questions_for_expert(model, votes, 3).table(votes, frame),
        measured.table("errors", frame),
    ):
        assert isinstance(table, FRAMES[frame])
    with pytest.raises(ParameterError, match="name must be one of prevalence, errors"):
        measured.table("people", frame)


@pytest.mark.parametrize("method", KINDS)
def test_votes_come_back_from_every_library(votes, method):
    assert Votes.from_frame(getattr(votes, method)(), items=votes.item_names.to_pylist()) == votes


@pytest.mark.parametrize("method", KINDS)
def test_samples_come_back_from_every_library(method):
    rows = pa.table(
        {"worker": ["bot"] * 3, "item": [1] * 3, "label": ["x"] * 3, "value": [1, -1, 1], "sample": [1, 2, 3]}
    )
    votes = Votes.from_frame(rows)
    assert len(votes) == 3
    assert Votes.from_frame(getattr(votes, method)()) == votes


@pytest.mark.parametrize("method", KINDS)
def test_truth_of_items_comes_back_with_those_that_have_no_label(truth, method):
    again = Truth.from_frames(getattr(truth, method)())
    assert again.positives == truth.positives and again.known_items.equals(truth.known_items)


@pytest.mark.parametrize("method", KINDS)
def test_truth_of_pairs_comes_back(method):
    truth = Truth.from_frames(pa.table({"item": ["1", "1", "2"], "label": ["x", "y", "x"], "truth": [1, 0, 0]}))
    again = Truth.from_frames(getattr(truth, method)())
    assert (again.positives, again.known_pairs) == (truth.positives, truth.known_pairs)


def test_truth_of_everything_comes_back():
    truth = Truth.from_frames(pa.table({"item": ["1"], "label": ["x"]}), unmentioned="absent")
    assert Truth.from_frames(truth.to_arrow(), unmentioned="absent") == truth


@pytest.mark.parametrize("method", KINDS)
def test_rosters_and_soft_truth_come_back(things, method):
    roster, soft = things["roster"], things["soft truth"]
    assert Roster.from_frame(getattr(roster, method)()) == roster
    again = SoftTruth.from_frame(getattr(soft, method)())
    assert again.pairs == soft.pairs
    np.testing.assert_array_equal(again.share, soft.share)


def test_without_polars_it_says_what_to_install(votes, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'amcc\[polars\]'"):
        votes.to_polars()


# -- cards ------------------------------------------------------------------------------------------------------------


def test_cards_say_what_it_is_and_show_a_few_rows(things):
    for name, thing in things.items():
        html = thing._repr_html_()
        assert all(f">{column}</th>" in html for column in thing.to_arrow().column_names), name
        assert html.count("<tr>") == 1 + min(5, thing.to_arrow().num_rows), name
        assert len(html) < 5000 and "color" not in html.lower(), name  # small, and as light or dark as the notebook
    assert "<b>Votes(1200 votes: 12 workers, 60 items, 4 labels)</b>" in things["votes"]._repr_html_()
    assert "the first 5 of 1,200 rows" in things["votes"]._repr_html_()
    assert "<b>NextQuestions(6 questions for 6 of 6)</b>" in things["next questions"]._repr_html_()


def test_cards_of_models_say_whether_they_are_fitted(model):
    assert AMCC(n_groups=3)._repr_html_() == "<div><b>AMCC(n_groups=3)</b><br>not fitted yet: call fit(votes)</div>"
    html = model._repr_html_()
    settled = int(model.pair_settled_.sum())
    assert "workers: 12" in html and "items: 60" in html and f"settled: {settled:,} of 240 asked pairs" in html


def test_no_name_becomes_html():
    evil = "<script>alert(1)</script>"
    names = {"item_names": [evil], "worker_names": [evil], "label_names": [evil]}
    votes = Votes.from_dense([[[1]]], **names)
    for html in (votes._repr_html_(), next_questions(votes, budget=1, workers=[evil], labels=["<i>"])._repr_html_()):
        assert "<script" not in html and "<i>" not in html and "&lt;script" in html


def test_long_texts_are_cut():
    html = Votes.from_dense([[[1]]], item_names=["x" * 500])._repr_html_()
    assert "x" * 59 + "…" in html and "x" * 60 not in html
