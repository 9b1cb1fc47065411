"""What a model was told stays with its results: in memory, in files, and in every table that others may score."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from amcc import evaluate, load_model, make_model
from amcc.consensus import DawidSkene, MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.exports import write_consensus
from amcc.io import read_table, write_table
from amcc.truth import Truth
from running import said


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(CrowdSpec(n_items=60, n_workers=8, n_labels=3, answers_per_item=3, seed=4))


@pytest.fixture(scope="module")
def truth(crowd):
    """What is true of the first twelve items."""
    return Truth.from_frames(true_sets(crowd, range(12)))


@pytest.fixture(scope="module")
def told(crowd, truth):
    return MajorityVote().fit(crowd.votes, truth=truth)


def true_sets(crowd, items) -> pa.Table:
    names, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    sets = [[labels[code] for code in np.flatnonzero(crowd.truth[item])] for item in items]
    return pa.table({"item": [names[item] for item in items], "labels": sets})


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "amcc"])
def test_what_was_told_is_kept_with_the_model(method, crowd, truth, tmp_path):
    model = make_model(method).fit(crowd.votes, truth=truth)
    assert_array_equal(model.pair_told_, crowd.votes.pairs.item < 12)
    model.save(tmp_path / "model.amcc")
    assert_array_equal(load_model(tmp_path / "model.amcc").pair_told_, model.pair_told_)
    plain = make_model(method).fit(crowd.votes)
    assert not plain.pair_told_.any()
    assert len(plain.pair_told_) == len(crowd.votes.pairs)
    for table in (plain.pairs(frame="arrow"), plain.pairs(all_labels=True, frame="arrow"), plain.sets(frame="arrow")):
        assert not {"told", "told_labels"} & set(table.column_names)


def test_tables_say_it(told, crowd):
    first = {name.as_py() for name in crowd.votes.item_names[:12]}
    for table in (told.pairs(frame="arrow"), told.pairs(all_labels=True, soft=True, votes=crowd.votes, frame="arrow")):
        assert table.column_names[5] == "told"
        assert table["told"].to_pylist() == [int(item in first) for item in table["item"].to_pylist()]
    all_three = crowd.votes.label_names.to_pylist()
    for row in told.sets(frame="arrow").to_pylist():
        assert row["told_labels"] == (all_three if row["item"] in first else [])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_scores_of_a_told_model_are_those_of_the_other_items(suffix, crowd, told, tmp_path):
    """Also when it went through a file."""
    everything, others = (Truth.from_frames(true_sets(crowd, items)) for items in (range(60), range(12, 60)))
    for table in (told.pairs(frame="arrow"), told.sets(frame="arrow")):
        write_table(table, tmp_path / f"c.{suffix}")
        found = evaluate(read_table(tmp_path / f"c.{suffix}"), everything)
        assert found.n_pairs_told == 36
        bare = table.select([name for name in table.column_names if not name.startswith("told")])
        assert found.scores == pytest.approx(evaluate(bare, others).scores, nan_ok=True)
        assert found.scores["jaccard"] < evaluate(bare, everything).scores["jaccard"] - 0.01  # what telling would gain


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_labels_that_look_like_numbers_are_told_all_the_same(suffix, tmp_path):
    sets = pa.table({"item": ["a", "b"], "labels": [["1"], ["2"]], "told_labels": [["3"], []]})
    write_table(sets, tmp_path / f"c.{suffix}")
    truth = Truth.from_frames(pa.table({"item": ["a", "b"], "labels": [["2"], ["2"]]}))
    found = evaluate(read_table(tmp_path / f"c.{suffix}"), truth)
    assert (found.n_items, found.scores["jaccard"]) == (1, 1)


def test_other_exports_of_our_own_say_it(told, crowd, tmp_path):
    write_consensus(told, crowd.votes, tmp_path / "y.npz", to="scikit-learn")
    write_consensus(told, crowd.votes, tmp_path / "folder", to="huggingface")
    with np.load(tmp_path / "y.npz", allow_pickle=False) as arrays:
        assert_array_equal(arrays["told"].any(axis=1), np.arange(60) < 12)
    table = read_table(tmp_path / "folder" / "consensus.parquet")
    assert [bool(labels) for labels in table["told_labels"].to_pylist()] == [item < 12 for item in range(60)]


def test_the_report_says_what_workers_are_compared_with(crowd, truth, told):
    pytest.importorskip("altair")
    from amcc.report.workers import workers_panel
    from report_pages import findings_of

    model = DawidSkene()
    assert workers_panel(findings_of(crowd.votes, model)).notes == []
    (note,) = workers_panel(findings_of(crowd.votes, model, truth=truth)).notes
    assert note.startswith("The consensus was told 36 of 180 pairs, as known truth or by the reference: there workers")


# -- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(crowd, tmp_path_factory):
    folder = tmp_path_factory.mktemp("told")
    write_table(crowd.votes.to_arrow(), folder / "votes.csv")
    write_table(true_sets(crowd, range(60)), folder / "truth.csv")
    write_table(true_sets(crowd, range(12)), folder / "known.csv")
    return folder


def test_a_consensus_is_not_scored_by_what_it_was_told(folder):
    out, _ = said("consensus", "votes.csv", "--truth", "known.csv", "-o", "out.csv", "--json", cwd=folder)
    assert json.loads(out)["told"] == 36
    out, err = said("evaluate", "out.csv", "truth.csv", "--json", cwd=folder)
    assert "36 pairs are left out: the consensus was told their truth, so they do not measure it" in err
    found = json.loads(out)
    assert (found["items_scored"], found["pairs_scored"], found["pairs_told"], found["pairs_unknown"]) == (
        48,
        144,
        36,
        0,
    )
    _, err = said("evaluate", "out.csv", "known.csv", code=2, cwd=folder)
    assert "it was told all 36 of them. Keep some items back from --truth" in err
    table = read_table(folder / "out.csv")
    write_table(table.drop_columns("told"), folder / "lost.csv")
    _, err = said("evaluate", "lost.csv", "known.csv", code=2, cwd=folder)
    assert "it repeats 36 of 36 with certainty, as after --truth" in err


def test_by_turns_every_item_of_the_truth_is_scored(folder, crowd, truth):
    from amcc.audit import cross_fitted

    command = "evaluate", "votes.csv", "known.csv", "--cross-fit", "4", "-m", "dawid-skene", "--json"
    out, err = said(*command, cwd=folder)
    assert "each of its 4 parts is scored by a fit without it" in err
    found = json.loads(out)
    assert (found["items_scored"], found["pairs_told"]) == (12, 0)
    assert (
        found["jaccard"] == evaluate(cross_fitted(DawidSkene, crowd.votes, truth, folds=4), truth).scores["jaccard"] < 1
    )
    for options, message in (
        (["out.csv", "known.csv", "-m", "majority"], "are for --cross-fit N"),
        (["votes.csv", "--soft-truth", "known.csv", "--cross-fit", "4"], "--cross-fit needs TRUTH"),
        (["votes.csv", "known.csv", "--cross-fit", "1"], "folds must be at least 2"),
    ):
        assert message in said("evaluate", *options, code=2, cwd=folder)[1]


def test_a_consensus_is_not_scored_by_itself(folder):
    said("consensus", "votes.csv", "-m", "majority", "-o", "plain.csv", cwd=folder)
    said("consensus", "votes.csv", "-m", "majority", "--soft", "-o", "soft.parquet", cwd=folder)
    said("consensus", "votes.csv", "-m", "majority", "-o", "copy.jsonl", cwd=folder)
    for truth in ("plain.csv", "copy.jsonl"):
        assert "the same table as the consensus" in said("evaluate", "plain.csv", truth, code=2, cwd=folder)[1]
    itself = said("evaluate", "soft.parquet", "--soft-truth", "soft.parquet", code=2, cwd=folder)
    assert "the same table as the consensus" in itself[1]


def test_workers_say_what_they_are_compared_with(folder):
    out, err = said("workers", "votes.csv", "--truth", "known.csv", "--json", cwd=folder)
    assert "the consensus was told 36 of 180 pairs, as known truth or by the reference: there workers are" in err
    assert json.loads(out)["told_pairs"] == 36
    out, err = said("workers", "votes.csv", "--json", cwd=folder)
    assert "told_pairs" not in json.loads(out)
    assert "was told" not in err
    said("workers", "votes.csv", "--truth", "known.csv", "--worker", "w1", "-o", "w1.csv", cwd=folder)
    rows = read_table(folder / "w1.csv").to_pylist()
    first = set(read_table(folder / "known.csv")["item"].to_pylist())
    assert {row["item"] for row in rows if row["told"] == "1"} == {row["item"] for row in rows} & first
