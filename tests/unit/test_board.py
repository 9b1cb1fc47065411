"""The board: draws, cache and ranks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ParameterError, Votes
from amcc.errors import EmptyInputError
from amcc.experiments import board as module
from amcc.experiments.board import SCORES, Cell, Result, cells_of, run_board, summarise, thinned

TINY = Cell("tiny", "simulated", 2, spec=(1000, (("spammers", 0.2),)))


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


def test_results_come_from_the_cache(tmp_path, monkeypatch):
    first = run_board([TINY], ["majority", "dawid-skene"], tmp_path)
    assert len(first) == 4
    monkeypatch.setattr(module, "evaluate_method", None)  # nothing is computed again
    assert run_board([TINY], ["majority", "dawid-skene"], tmp_path) == first


def test_interrupted_board_goes_on(tmp_path, monkeypatch):
    real, seen = module.evaluate_method, []

    def interrupted(cell, seed, method):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append((seed, method))
        return real(cell, seed, method)

    monkeypatch.setattr(module, "evaluate_method", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_board([TINY], ["majority", "dawid-skene"], tmp_path)
    monkeypatch.setattr(module, "evaluate_method", lambda *task: seen.append(task[1:]) or real(*task))
    assert len(run_board([TINY], ["majority", "dawid-skene"], tmp_path)) == 4
    assert len(seen) == len(set(seen)) == 4


def test_changed_code_is_measured_again(tmp_path, monkeypatch):
    run_board([TINY], ["majority"], tmp_path)
    monkeypatch.setattr(module, "_code_version", lambda: "another")
    calls = []
    run_board([TINY], ["majority"], tmp_path, progress=lambda done, total: calls.append(done))
    assert calls[0] == 0


def test_processes_give_the_same(tmp_path):
    one = run_board([TINY], ["majority"], tmp_path / "one")
    two = run_board([TINY], ["majority"], tmp_path / "two", n_processes=2)
    for left, right in zip(one, two, strict=True):
        assert {**left.scores, "seconds": 0} == {**right.scores, "seconds": 0}


def test_ranks_by_hand():
    scores = {("a", "majority"): 0.5, ("a", "x"): 0.504, ("b", "majority"): 0.7, ("b", "x"): 0.6}
    results = [
        Result(cell, seed, method, {**dict.fromkeys(SCORES, 0.0), "jaccard": value + shift})
        for (cell, method), value in scores.items()
        for seed, shift in enumerate((-0.1, 0.1))
    ]
    board = summarise(results)
    assert_allclose(board.of("jaccard"), [[0.5, 0.504], [0.7, 0.6]], rtol=1e-12)
    assert_allclose(board.share_first("jaccard"), [1.0, 0.5])
    assert_allclose(board.worst_loss("jaccard"), [0, 0.1], atol=1e-12)
    assert "| b | **0.700** | 0.600 |" in board.markdown("jaccard")


def test_cells_of_a_folder(tmp_path):
    folder = tmp_path / "set_one"
    folder.mkdir()
    with pytest.raises(EmptyInputError, match=r"annotations\.csv\.gz"):
        cells_of(tmp_path)
    from amcc import write_votes

    write_votes(
        Votes.from_dense(np.ones((5, 2, 2)), item_names=["a", "b"], label_names=["x", "y"]),
        folder / "annotations.csv.gz",
    )
    (folder / "truth.csv").write_text("item,label\na,x\n")
    (folder / "truth_items.csv").write_text("item\na\n")
    named = [cell for cell in cells_of(tmp_path, n_seeds=4, sizes=[1000]) if cell.kind == "independent"]
    assert [(cell.name, cell.n_seeds) for cell in named] == [("set_one", 1), ("set_one @3", 4)]
    votes, truth, known = named[1].draw(0)
    assert votes.answers_per_item.tolist() == [3, 3]
    assert truth.tolist() == [[True, False], [False, False]]
    assert known.tolist() == [[True, True], [False, False]]


def test_unknown_method(tmp_path):
    with pytest.raises(ParameterError, match="got 'oracle'"):
        run_board([TINY], ["oracle"], tmp_path)
