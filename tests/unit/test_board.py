"""The board: draws, entrants and cache."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import METHODS, ParameterError, Votes
from amcc.data.layout import read_crowd
from amcc.data.registry import DATASETS
from amcc.errors import EmptyInputError, MissingExtraError
from amcc.experiments import board as module
from amcc.experiments import peers
from amcc.experiments.board import SCORES, entrants_of, evaluate_method, installed, parse_variant, run_board
from amcc.experiments.cells import Cell, cells_of, thinned
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
    monkeypatch.setattr(module, "code_version", lambda: "another")
    calls = []
    run_board([TINY], ["majority", ORACLE], tmp_path, progress=lambda *numbers: calls.append(numbers))
    assert calls[0] == (2, 4)


def test_peers_are_measured_again_when_their_tool_changes(tmp_path, monkeypatch):
    share = Peer(lambda votes: np.full((votes.n_items, votes.n_labels), 0.5), 10**6)
    monkeypatch.setattr(peers, "load_crowdkit", lambda: None)
    monkeypatch.setitem(PEERS, "crowdkit-ds", share)
    monkeypatch.setattr(peers, "crowdkit_version", lambda: "1")
    first = run_board([TINY], ["crowdkit-ds"], tmp_path)
    monkeypatch.setattr(module, "code_version", lambda: "another")
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
    assert {"scores": None} in [json.loads(path.read_text()) for path in (tmp_path / "cache").iterdir()]


def test_peers_have_no_entry_above_their_limit(monkeypatch):
    monkeypatch.setitem(PEERS, "crowdkit-glad", Peer(nothing_runs, 999))
    assert evaluate_method(TINY, 0, module.Entrant("crowdkit-glad", "crowdkit-glad")).scores is None


def test_entrants_do_not_profit_from_those_before(monkeypatch):
    draw = TINY.draw(0)
    monkeypatch.setattr(Cell, "draw", lambda self, seed: draw)
    evaluate_method(TINY, 0, module.Entrant("dawid-skene", "dawid-skene"))
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
        ("x", ("dawid-skene", {"max_iter": "many"}), "variant 'x' has a parameter of the wrong type"),
    ],
)
def test_variants_are_checked_before_anything_runs(tmp_path, monkeypatch, name, variant, message):
    monkeypatch.setattr(module, "evaluate_method", nothing_runs)
    with pytest.raises(ParameterError, match=message):
        run_board([TINY], ["majority"], tmp_path, variants={name: variant})


def test_nothing_to_compare(tmp_path):
    with pytest.raises(ParameterError, match="a method or a variant"):
        run_board([TINY], [], tmp_path)


PATIENT = """
import sys, time
from amcc.experiments.board import computed
if __name__ == "__main__":
    print("started", file=sys.stderr, flush=True)
    try:
        list(computed(time.sleep, [(number, (60,)) for number in range(3)], 2))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
"""


@pytest.mark.parametrize("seconds", [0.5, 4])
def test_only_the_first_process_speaks_of_ctrl_c(seconds, tmp_path):
    """A terminal sends it to all of them, here while they start and while they work."""
    (tmp_path / "patient.py").write_text(PATIENT)
    command = [sys.executable, tmp_path / "patient.py"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stderr.readline() == "started\n"
        time.sleep(seconds)
        os.killpg(run.pid, signal.SIGINT)
        assert run.communicate(timeout=30)[1] == "interrupted\n"
