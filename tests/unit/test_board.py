"""The board: draws, entrants and cache."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ParameterError, Votes
from amcc.consensus import METHODS
from amcc.data import DATASETS, read_crowd
from amcc.errors import EmptyInputError, MissingExtraError
from amcc.experiments import board as module
from amcc.experiments import cache, peers
from amcc.experiments.board import SCORES, evaluate_method, run_board
from amcc.experiments.cells import SHARED_TROUBLES, TROUBLES, Cell, cells_of, thinned, with_known_items
from amcc.experiments.entrants import Entrant, entrants_of, installed, parse_variant
from amcc.experiments.peers import ORACLE, PEERS, Peer

TINY = Cell("tiny", "simulated", 2, spec=(1000, (("spammers", 0.2),)))
TWO = ["majority", "dawid-skene"]


def nothing_runs(*task):
    raise AssertionError(f"{task} is not in the cache")


@pytest.fixture
def real_set(tmp_path):
    """A folder of data with one set, of which one item is known."""
    from amcc import write_votes

    folder = tmp_path / "data" / "set_one"
    folder.mkdir(parents=True)
    votes = Votes.from_dense(np.ones((5, 2, 2)), item_names=["a", "b"], label_names=["x", "y"])
    write_votes(votes, folder / "annotations.csv.gz")
    (folder / "truth.csv").write_text("item,label\na,x\n")
    (folder / "truth_items.csv").write_text("item\na\n")
    return folder.parent


# -- cells ----------------------------------------------------------------------------------------------------------


def test_thinning_keeps_whole_answers(crowd):
    few = thinned(crowd.votes, 2, seed=1)
    assert_array_equal(few.answers_per_item, np.minimum(crowd.votes.answers_per_item, 2))
    assert len(few) == few.answers_per_item.sum() * crowd.votes.n_labels
    assert few == thinned(crowd.votes, 2, seed=1)
    assert few != thinned(crowd.votes, 2, seed=2)


def test_thinning_draws_every_answer_equally_often():
    votes = Votes.from_dense(np.ones((4, 50, 1)))
    kept = sum(np.bincount(thinned(votes, 1, seed).worker, minlength=4) for seed in range(40))
    assert_allclose(kept / kept.sum(), 0.25, rtol=0, atol=0.04)


def test_workers_who_had_a_part_in_the_truth_are_not_scored(real_set):
    (real_set / "set_one").rename(real_set / "ecg_ribeiro")
    votes = read_crowd(real_set / "ecg_ribeiro").votes
    names = votes.worker_names.cast("string").to_pylist()
    cell = Cell("ecg", "independent", 1, str(real_set / "ecg_ribeiro"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            DATASETS, "ecg_ribeiro", dataclasses.replace(DATASETS["ecg_ribeiro"], scored_voters=tuple(names[:2]))
        )
        scored = cell.draw(0).votes
    assert set(scored.worker.tolist()) == {0, 1} != set(votes.worker.tolist())


def test_cells_of_a_folder(real_set):
    with pytest.raises(EmptyInputError, match=r"annotations\.csv\.gz"):
        cells_of(real_set / "set_one")
    named = [cell for cell in cells_of(real_set, n_seeds=4, sizes=[1000]) if cell.kind == "independent"]
    assert [(cell.name, cell.n_seeds) for cell in named] == [("set_one", 1), ("set_one @3", 4)]
    draw = named[1].draw(0)
    assert draw.votes.answers_per_item.tolist() == [3, 3]
    assert draw.truth.tolist() == [[True, False], [False, False]]
    assert draw.known.tolist() == [[True, True], [False, False]]
    assert draw.rates is None


def test_fingerprints_tell_draws_apart():
    draw = TINY.draw(0)
    assert draw.fingerprint() == TINY.draw(0).fingerprint()
    others = [
        TINY.draw(1),
        dataclasses.replace(draw, truth=~draw.truth),
        dataclasses.replace(draw, known=~draw.known),
        dataclasses.replace(draw, rates=None),
        dataclasses.replace(draw, votes=draw.votes.select(np.arange(len(draw.votes)) > 0)),
    ]
    assert len({draw.fingerprint(), *(other.fingerprint() for other in others)}) == 6


# -- cache ----------------------------------------------------------------------------------------------------------


def test_results_come_from_the_cache(tmp_path, monkeypatch):
    first = run_board([TINY], TWO, tmp_path)
    assert len(first) == 4
    monkeypatch.setattr(module, "evaluate_method", nothing_runs)
    assert run_board([TINY], TWO, tmp_path) == first
    fewer = dataclasses.replace(TINY, n_seeds=1)  # a board with fewer seeds is a part of it
    assert run_board([fewer], TWO, tmp_path) == [result for result in first if result.seed == 0]


def test_interrupted_board_goes_on(tmp_path, monkeypatch):
    real, seen = module.evaluate_method, []

    def interrupted(cell, seed, entrant):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append((seed, entrant.name))
        return real(cell, seed, entrant)

    monkeypatch.setattr(module, "evaluate_method", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_board([TINY], TWO, tmp_path)
    monkeypatch.setattr(module, "evaluate_method", lambda *task: seen.append((task[1], task[2].name)) or real(*task))
    assert len(run_board([TINY], TWO, tmp_path)) == 4
    assert len(seen) == len(set(seen)) == 4


def test_changed_models_are_measured_again_but_not_the_oracle(tmp_path, monkeypatch):
    run_board([TINY], ["majority", ORACLE], tmp_path)
    monkeypatch.setattr(cache, "code_version", lambda: "another")
    calls = []
    run_board([TINY], ["majority", ORACLE], tmp_path, progress=lambda *numbers: calls.append(numbers))
    assert calls[0] == (2, 4)


def test_peers_are_measured_again_when_their_tool_changes(tmp_path, monkeypatch):
    share = Peer(lambda votes: np.full((votes.n_items, votes.n_labels), 0.5), 10**6)
    monkeypatch.setattr(peers, "load_crowdkit", lambda: None)
    monkeypatch.setitem(PEERS, "crowdkit-ds", share)
    monkeypatch.setattr(peers, "crowdkit_version", lambda: "1")
    first = run_board([TINY], ["crowdkit-ds"], tmp_path)
    monkeypatch.setattr(cache, "code_version", lambda: "another")
    monkeypatch.setattr(module, "evaluate_method", nothing_runs)
    assert run_board([TINY], ["crowdkit-ds"], tmp_path) == first
    monkeypatch.setattr(peers, "crowdkit_version", lambda: "2")
    with pytest.raises(AssertionError, match="not in the cache"):
        run_board([TINY], ["crowdkit-ds"], tmp_path)


def test_parameters_are_part_of_the_key_and_names_are_not(tmp_path, monkeypatch):
    once = run_board([TINY], [], tmp_path, variants={"hard": ("majority", {"scores": "hard"})})
    monkeypatch.setattr(module, "evaluate_method", nothing_runs)
    again = run_board([TINY], [], tmp_path, variants={"0 or 1": ("majority", {"scores": "hard"})})
    assert [result.scores for result in again] == [result.scores for result in once]
    assert {result.method for result in again} == {"0 or 1"}
    with pytest.raises(AssertionError, match="not in the cache"):
        run_board([TINY], [], tmp_path, variants={"hard": ("majority", {"scores": "fraction"})})


def test_processes_give_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    variants = {"hard": ("majority", {"scores": "hard"})}
    one = run_board([TINY], ["majority", ORACLE], tmp_path / "one", variants=variants)
    two = run_board([TINY], ["majority", ORACLE], tmp_path / "two", variants=variants, n_processes=2)
    assert len(one) == 6
    for left, right in zip(one, two, strict=True):
        assert (left.cell, left.seed, left.method) == (right.cell, right.seed, right.method)
        assert {**left.scores, "seconds": 0} == {**right.scores, "seconds": 0}
    assert os.environ["OMP_NUM_THREADS"] == "7"


# -- entries --------------------------------------------------------------------------------------------------------


def test_oracle_has_no_entry_on_real_sets(tmp_path, real_set):
    cells = [cell for cell in cells_of(real_set, n_seeds=1, sizes=[1000]) if cell.answers is None][:2]
    by_kind = {result.kind: result.scores for result in run_board(cells, [ORACLE], tmp_path / "cache")}
    assert by_kind["independent"] is None
    assert set(by_kind["simulated"]) == set(SCORES)
    assert None in [json.loads(path.read_text()) for path in (tmp_path / "cache").iterdir()]


def test_peers_have_no_entry_above_their_limit(monkeypatch):
    monkeypatch.setitem(PEERS, "crowdkit-glad", Peer(nothing_runs, 999))
    assert evaluate_method(TINY, 0, Entrant("crowdkit-glad", "crowdkit-glad")) is None


def test_entrants_do_not_profit_from_those_before(monkeypatch):
    draw = TINY.draw(0)
    monkeypatch.setattr(Cell, "draw", lambda self, seed: draw)
    evaluate_method(TINY, 0, Entrant("dawid-skene", "dawid-skene"))
    assert "pairs" not in vars(draw.votes)


# -- entrants -------------------------------------------------------------------------------------------------------


def test_unknown_method(tmp_path):
    with pytest.raises(ParameterError, match=r"dawid-skene.*crowdkit-ds.*true-rates; got 'oracle'"):
        run_board([TINY], ["oracle"], tmp_path)


def test_without_crowdkit(monkeypatch):
    monkeypatch.setattr(peers, "crowdkit_version", lambda: None)
    assert installed(["majority", *PEERS, ORACLE]) == ["majority", ORACLE]
    with pytest.raises(MissingExtraError, match=r"crowdkit-ds\. Install it: pip install 'amcc\[bench\]'"):
        entrants_of(["majority", "crowdkit-ds"], {})


@pytest.mark.parametrize(
    "text, expected",
    [
        ("one=dawid-skene", ("one", ("dawid-skene", {}))),
        ("a, b = majority : scores=hard ", ("a, b", ("majority", {"scores": "hard"}))),
        ("x=m:a=1,b=[1, 2],c=true,d=null,e=0.5", ("x", ("m", {"a": 1, "b": [1, 2], "c": True, "d": None, "e": 0.5}))),
        ('x=m:a="1",b=y=z', ("x", ("m", {"a": "1", "b": "y=z"}))),
    ],
)
def test_variants_are_read(text, expected):
    assert parse_variant(text) == expected


@pytest.mark.parametrize("text", ["", "one", "=majority", "x=", "x=m:", "x=m:a", "x=m:a=", "x=m:=1", "x=m:a=1,a=2"])
def test_variants_that_cannot_be_read(text):
    with pytest.raises(ParameterError, match=r"must look like NAME=METHOD:param=value,param=value; got"):
        parse_variant(text)


@pytest.mark.parametrize("value", ["True", "False", "None"])
def test_values_of_python_are_not_taken_for_text(value):
    with pytest.raises(ParameterError, match="true, false or null"):
        parse_variant(f"x=m:a={value}")


@pytest.mark.parametrize(
    "name, variant, message",
    [
        ("x", ("amccc", {}), f"variant 'x' must be of one of {', '.join(METHODS)}; got 'amccc'"),
        ("x", ("crowdkit-ds", {}), "must be of one of"),
        ("majority", ("dawid-skene", {}), "name of its own; got 'majority'"),
        ("x", ("dawid-skene", {"n_cats": 1}), "variant 'x': DawidSkene has no parameter 'n_cats'"),
        ("x", ("dawid-skene", {"max_iter": 0}), "variant 'x': max_iter must be at least 1"),
        ("x", ("dawid-skene", {"max_iter": "many"}), "variant 'x': max_iter must be a whole number; got 'many'"),
        ("x", ("dawid-skene", {"hit_prior": 1}), "variant 'x' has a parameter of the wrong type"),
    ],
)
def test_variants_are_checked_before_anything_runs(tmp_path, monkeypatch, name, variant, message):
    monkeypatch.setattr(module, "evaluate_method", nothing_runs)
    with pytest.raises(ParameterError, match=message):
        run_board([TINY], ["majority"], tmp_path, variants={name: variant})


def test_nothing_to_compare(tmp_path):
    with pytest.raises(ParameterError, match="a method or a variant"):
        run_board([TINY], [], tmp_path)


# -- how sure, and with what right ----------------------------------------------------------------------------------


def test_trust_scores_by_hand():
    truth = np.array([[True, False], [True, True], [False, False]])
    predicted = np.array([[True, False], [False, True], [True, False]])  # wrong: (1, 0), (2, 0)
    proba = np.array([[0.9, 0.2], [0.4, 0.7], [0.45, 0.05]])  # sets may hold what is less likely than not
    settled = np.array([[True, False], [True, False], [False, True]])
    known = np.array([[True, True], [True, True], [True, False]])
    found = module.trust_scores(truth, module.Consensus(predicted, proba, settled), known)
    assert_allclose(found["settled"], 2 / 5, rtol=1e-12)
    assert_allclose(found["wrong_among_settled"], 1 / 2, rtol=1e-12)
    assert_allclose(found["claimed_error"], (0.1 + 0.2 + 0.4 + 0.3 + 0.55) / 5, rtol=1e-12)
    assert_allclose(found["true_error"], 2 / 5, rtol=1e-12)


def test_what_is_not_said_has_no_score():
    truth, known = np.zeros((2, 2, 2), dtype=bool)
    of_peer = module.trust_scores(truth, module.Consensus(truth, np.full((2, 2), 0.25)), ~known)
    assert np.isnan([of_peer["settled"], of_peer["wrong_among_settled"]]).all()
    assert (of_peer["claimed_error"], of_peer["true_error"]) == (0.25, 0.0)
    nothing_settled = module.trust_scores(truth, module.Consensus(truth, np.zeros((2, 2)), known), ~known)
    assert nothing_settled["settled"] == 0
    assert np.isnan(nothing_settled["wrong_among_settled"])


def test_pairs_that_nobody_was_asked_about_are_not_counted(real_set):
    """Votes of the set are all yes; settled and errors are about the two known pairs of its first item."""
    cell = next(cell for cell in cells_of(real_set, sizes=[]) if cell.answers is None)
    draw = cell.draw(0)
    part = dataclasses.replace(draw, votes=draw.votes.select(draw.votes.label == 0))
    consensus = module.Consensus(np.ones((2, 2), bool), np.full((2, 2), 0.75), np.ones((2, 2), bool))
    assert module.scores_of(consensus, draw)["true_error"] == 0.5
    found = module.scores_of(consensus, part)
    assert (found["true_error"], found["claimed_error"], found["wrong_among_settled"]) == (0.0, 0.25, 0.0)


# -- known items ----------------------------------------------------------------------------------------------------


def test_known_items_are_given_and_not_scored():
    draw = TINY.draw(0)
    truth, rest = with_known_items(draw, 7, seed=3)
    told, known = truth.matrices(draw.votes.item_names, draw.votes.label_names)
    assert known.all(axis=1).sum() == known.any(axis=1).sum() == 7
    assert_array_equal(rest.known, draw.known & ~known)
    assert_array_equal(told, draw.truth & known)
    assert_array_equal(with_known_items(draw, 7, seed=3)[1].known, rest.known)
    assert not np.array_equal(with_known_items(draw, 7, seed=4)[1].known, rest.known)


def test_half_of_the_known_items_stay_to_be_scored():
    draw = TINY.draw(0)
    assert with_known_items(draw, 1000, seed=0)[1].known.any(axis=1).sum() == 20


def test_partly_known_items_keep_what_is_unknown():
    draw = TINY.draw(0)
    known = draw.known.copy()
    known[:, 0] = False
    truth, rest = with_known_items(dataclasses.replace(draw, known=known), 5, seed=0)
    told = truth.matrices(draw.votes.item_names, draw.votes.label_names)[1]
    assert not told[:, 0].any()
    assert (told.sum(), rest.known.sum()) == (5 * 4, 35 * 4)


def test_entrants_with_known_items():
    names = [(entrant.name, entrant.known) for entrant in entrants_of(["majority", "amcc"], {}, [10, 30, 10])]
    assert names == [("majority", 0), ("amcc", 0), ("amcc, 10 known items", 10), ("amcc, 30 known items", 30)]
    with pytest.raises(ParameterError, match="known items must be at least 1; got 0"):
        entrants_of(["amcc"], {}, [0])
    with pytest.raises(ParameterError, match="given to amcc, which must be among the methods"):
        entrants_of(["majority"], {}, [10])


def test_known_items_help_and_are_kept_by_seed(tmp_path, monkeypatch):
    cell = Cell("lenient", "simulated", 2, spec=(3000, tuple(SHARED_TROUBLES["strict experts"].items())))
    results = run_board([cell], ["amcc"], tmp_path, known=[15])
    loss = {(result.known, result.seed): result.scores["log_loss"] for result in results}
    assert len(loss) == 4
    assert loss[15, 0] + loss[15, 1] < loss[0, 0] + loss[0, 1]
    monkeypatch.setattr(module, "evaluate_method", nothing_runs)
    assert run_board([cell], ["amcc"], tmp_path, known=[15]) == results
    with pytest.raises(AssertionError, match="not in the cache"):
        run_board([cell], ["amcc"], tmp_path, known=[16])


def test_whole_sets_are_drawn_once_but_their_known_items_often(tmp_path, real_set):
    cells = cells_of(real_set, n_seeds=1, sizes=[])
    (real_set / "set_one" / "truth_items.csv").write_text("item\na\nb\n")
    runs = [(r.cell, r.seed, r.known) for r in run_board(cells[:1], ["amcc"], tmp_path, known=[1], known_draws=3)]
    assert runs == [("set_one", 0, 0), ("set_one", 0, 1), ("set_one", 1, 1), ("set_one", 2, 1)]
    assert len(list(tmp_path.glob("*.json"))) == 4  # the votes are the same, but not what is known


# -- families and troubles ------------------------------------------------------------------------------------------


def test_cells_have_families(real_set):
    (real_set / "set_one").rename(real_set / "affective")
    cells = cells_of(real_set, n_seeds=2, sizes=[10_000])
    assert [(cell.name, cell.family) for cell in cells if cell.folder] == [
        ("affective", "affective"), ("affective @3", "affective"),  # nobody has more than five answers
    ]  # fmt: skip
    simulated = {cell.family for cell in cells if cell.spec}
    assert simulated == {f"simulated: {trouble}" for trouble in {**TROUBLES, **SHARED_TROUBLES}}


def test_large_crowds_have_independent_votes():
    cells = cells_of(None, n_seeds=1)
    large = {cell.family for cell in cells if cell.spec[0] == 1_000_000}
    assert large == {f"simulated: {trouble}" for trouble in TROUBLES}


@pytest.mark.parametrize("trouble", SHARED_TROUBLES)
def test_shared_troubles_can_be_drawn_and_have_no_oracle(trouble):
    cell = Cell(trouble, "simulated", 1, spec=(2000, tuple(SHARED_TROUBLES[trouble].items())))
    draw = cell.draw(0)
    assert draw.rates is None
    assert abs(len(draw.votes) - 2000) < 200
    assert draw.truth.any()


def test_results_do_not_depend_on_what_people_see(monkeypatch):
    hashed = []
    monkeypatch.setattr(cache, "file_hash", lambda *paths: hashed.extend(paths) or "")
    cache.code_version.__wrapped__()
    package = Path(cache.__file__).parents[1]
    rooms = {path.relative_to(package).parts[0] for path in hashed}
    assert {"consensus", "data", "metrics.py"} <= rooms
    assert not {"cli", "experiments", "report"} & rooms
