"""Kinds of disagreement: what was planted is found, and noise has no sides."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln

from amcc import Votes, load_model, passes, write_votes
from amcc.arrays import sigmoid
from amcc.consensus import METHODS, DawidSkene, MajorityVote, pair_columns
from amcc.consensus import disagreement as d
from amcc.consensus.disagreement.asked import SIDE_FOLDS
from amcc.consensus.disagreement.explanations import ABSENT, HARD_VOTES, PLAINER, PRESENT
from amcc.consensus.disagreement.learning import updated
from amcc.consensus.disagreement.sides import first_sides
from amcc.consensus.item_results import pair_reader
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory
from amcc.engine.local import LocalEngine
from amcc.errors import ParameterError
from amcc.io.pack import pack_votes

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "disagreement.py"
sys.path.append(str(SCRIPT.parent))  # scripts import each other


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("disagreement_bench", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def planted(bench):
    return bench.plant(1, n_items=400)


# -- what was planted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "least"),
    [
        ({}, dict(zip(d.KINDS, (0.95, 0.95, 0.9, 0.8, 0.9), strict=True))),
        ({"one_side": True}, dict(zip(d.KINDS, (0.95, 0.95, 0.9, 0.8, 0.9), strict=True))),
        ({"votes_per_item": 30, "n_items": 200}, dict.fromkeys(d.KINDS, 0.95)),
    ],
)
def test_planted_kinds_are_found(bench, changes, least):
    crowd = bench.plant(1, **{"n_items": 400, **changes})
    diagonal = np.diag(bench.confusion(crowd.kind, bench.found_in(crowd.votes, "dawid-skene")))
    assert (diagonal >= [least[kind] for kind in d.KINDS]).all(), dict(zip(d.KINDS, diagonal, strict=True))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "nam"])
def test_every_model_will_do(bench, method):
    crowd = bench.plant(2, n_items=120)
    if method == "amcc-printed":  # its consensus is a poor start, yet it must not fall over
        assert len(bench.found_in(crowd.votes, method)) == len(crowd.kind)
        return
    assert (bench.found_in(crowd.votes, method) == crowd.kind).mean() > 0.8


@pytest.mark.parametrize(
    "changes",
    [
        {"answers_per_item": 12},
        {"answers_per_item": 10, "n_workers": 15},
        {"answers_per_item": 10, "spammers": 0.3},
        {"answers_per_item": 8, "n_labels": 20},
    ],
)
def test_independent_workers_are_never_a_split_crowd(bench, changes):
    for seed in range(2):
        votes = simulate_crowd(CrowdSpec(**{"n_items": 300, "n_workers": 40, "seed": seed, **changes})).votes
        assert (bench.found_in(votes, "dawid-skene") == "split crowd").mean() <= 0.02


def test_sides_are_needed_for_a_split(bench, planted):
    """The same votes, each pair's votes dealt anew among its voters: as many yes and no, but no sides."""
    rng, votes = np.random.default_rng(0), planted.votes
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    dealt = votes.value[np.lexsort((rng.random(len(votes)), pair))]
    found = bench.found_in(replace(votes, value=dealt), "dawid-skene")
    split = planted.kind == "split crowd"
    assert (found[split] == "split crowd").mean() < 0.02
    assert (found[split] == "hard item").mean() > 0.7


# -- single explanations -------------------------------------------------------------------------------------------


def explanations(votes, *, share=(0.4, 0.4, 0.1, 0.1), side=0.5, hit=0.95, false_alarm=0.05):
    asked = d.asked_of(votes)
    n_coins = len(asked.coin_worker)
    return asked, d.Explanations(
        np.full(n_coins, hit),
        np.full(n_coins, false_alarm),
        np.broadcast_to(side, (SIDE_FOLDS, n_coins)),
        np.tile(share, (votes.n_labels, 1)),
        asked.coin_worker,
        asked.coin_label,
        np.full((2, votes.n_labels), [[hit], [false_alarm]]),
    )


def one_pair(n_yes, n_no):
    return Votes.from_dense(np.array([1] * n_yes + [-1] * n_no)[:, None, None])


def kind_of(n_yes, n_no, **rates):
    votes = one_pair(n_yes, n_no)
    asked, known = explanations(votes, **rates)
    proba = known.posterior(asked)[:, PRESENT]
    return d.KINDS[d.kinds_of(asked, known, proba + 0.0)[0]]


@pytest.mark.parametrize(
    ("n_yes", "n_no", "kind"),
    [
        (1, 0, "too few votes"),
        (2, 0, "too few votes"),
        (3, 0, "clear"),
        (0, 4, "clear"),
        (2, 1, "too few votes"),
        (9, 1, "likely slip"),
        (1, 9, "likely slip"),
        (5, 5, "hard item"),
        (8, 5, "hard item"),
    ],
)
def test_kinds_of_single_pairs(n_yes, n_no, kind):
    assert kind_of(n_yes, n_no) == kind


def test_errors_of_those_who_often_err_are_no_slips():
    assert kind_of(10, 1, hit=0.8, false_alarm=0.2) == "clear"


def test_voters_on_two_sides_are_split():
    side = np.where(np.arange(10) < 5, 0.9, 0.1)
    assert kind_of(5, 5, side=side) == "split crowd"
    assert kind_of(5, 5, side=1 - side) == "split crowd"  # either side may be the yes
    assert kind_of(5, 5, side=np.where(np.arange(10) % 2, 0.9, 0.1)) == "hard item"


def test_posterior_is_bayes_by_hand():
    votes = one_pair(3, 2)
    asked, known = explanations(votes, side=np.array([0.8, 0.6, 0.5, 0.3, 0.2]), hit=0.9, false_alarm=0.1)
    plain = sigmoid(np.log(9.0) + PLAINER)
    present = 0.5 * (0.9**3 * 0.1**2 + plain**3 * (1 - plain) ** 2)
    absent = 0.5 * (0.1**3 * 0.9**2 + (1 - plain) ** 3 * plain**2)
    beta = 0.5 * sum(np.exp(betaln(3 + a, 2 + a) - betaln(a, a)) for a in HARD_VOTES)
    split = 0.5 * (0.8 * 0.6 * 0.5 * 0.7 * 0.8 + 0.2 * 0.4 * 0.5 * 0.3 * 0.2)
    joint = np.array([0.4 * present, 0.4 * absent, 0.1 * beta, 0.1 * split])
    assert_allclose(known.posterior(asked)[0], joint / joint.sum(), rtol=1e-12)


def test_one_dissenter_shows_neither_noise_nor_a_group():
    asked, known = explanations(one_pair(9, 1), side=np.where(np.arange(10) < 9, 0.9, 0.1))
    assert_allclose(known.posterior(asked)[0, d.HARD :], 0)


def test_faint_labels_do_not_become_what_present_means():
    """On all pairs that anybody ticks, about four in ten do: people do not agree that the label is there."""
    rng = np.random.default_rng(0)
    faint = rng.random(300) < 0.3
    yes = rng.random((20, 300)) < np.where(faint, 0.4, 0.02)
    votes = Votes.from_dense(np.where(yes, 1, -1)[:, :, None])
    found = DawidSkene().fit(votes).pairs(disagreement=True)["disagreement"].to_numpy()
    assert (found[faint] == "hard item").mean() > 0.7
    assert (found[~faint] == "hard item").mean() < 0.01


def test_newcomers_have_the_rates_of_the_crowd_and_no_side():
    votes = one_pair(2, 1)
    asked, known = explanations(votes, side=np.array([0.8, 0.6, 0.3]))
    others = asked._replace(coin_worker=np.array([0, 2, 7], np.int32))
    met = replace(known, hit=np.array([0.9, 0.8, 0.7])).known_to(others)
    assert_allclose(met.hit, [0.9, 0.7, 0.95])
    assert_allclose(met.side[0], [0.8, 0.3, 0.5])


# -- tables --------------------------------------------------------------------------------------------------------


def test_blocks_say_the_same_as_memory(planted, tmp_path):
    write_votes(planted.votes, tmp_path / "votes.parquet")
    engine = LocalEngine(pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=5_000))
    ours = DawidSkene().fit(engine)
    options = {"disagreement": True, "soft": True, "frame": "arrow"}
    tables = list(ours.tables(engine, **options))
    assert len(tables) > 1
    blocks, whole = pa.concat_tables(tables), DawidSkene().fit(planted.votes).pairs(**options)
    for name in ("item", "label", "disagreement"):
        assert blocks[name].cast("string").to_pylist() == whole[name].cast("string").to_pylist()
    for name in ("soft", "soft_low", "soft_high"):
        assert_allclose(blocks[name], whole[name], rtol=0, atol=1e-6)
    with pytest.raises(ParameterError, match="leave them out, or sets"):
        ours.tables(engine, sets=True, disagreement=True)


def test_a_sample_is_enough(planted, monkeypatch):
    model = MajorityVote().fit(planted.votes)
    whole = model.pairs(disagreement=True)["disagreement"]
    monkeypatch.setattr(pair_columns, "MOST_LEARNED", len(planted.votes) // 2)
    some = model.pairs(disagreement=True)["disagreement"]
    assert 0.9 < (whole.to_numpy() == some.to_numpy()).mean() < 1


def test_a_sample_keeps_its_probabilities(planted, monkeypatch):
    learned = []

    def learn(asked, proba):
        learned.append((asked, proba))
        return d.Explanations.__new__(d.Explanations)

    model = MajorityVote().fit(planted.votes)
    monkeypatch.setattr(pair_columns, "MOST_LEARNED", len(planted.votes) // 3)
    monkeypatch.setattr(pair_columns.kinds, "learn", learn)
    pair_reader(model, InMemory(planted.votes), True, False, model.pair_proba_)
    ((asked, proba),) = learned
    assert 0 < len(proba) < len(model.pair_proba_)
    assert_allclose(proba, asked.n_yes / asked.n_votes)


def test_usual_columns_stay_as_they_are(toy_votes):
    model = MajorityVote().fit(toy_votes)
    usual = ["item", "label", "probability", "present", "settled"]
    assert list(model.pairs().columns) == usual
    assert list(model.pairs(disagreement=True).columns) == [*usual, "disagreement"]
    assert list(model.pairs(soft=True).columns) == [*usual, "soft", "soft_low", "soft_high"]


def test_pairs_that_nobody_was_asked_about():
    votes = Votes.from_dense([[[1, 0], [-1, -1]], [[1, 0], [1, -1]], [[1, 0], [1, -1]]])
    table = MajorityVote().fit(votes).pairs(all_labels=True, disagreement=True, soft=True)
    assert table["disagreement"].tolist() == ["clear", "not asked", "too few votes", "clear"]
    assert 0 < table["soft"][1] < 0.5
    assert (table["soft_low"] <= table["soft"]).all()
    assert (table["soft_high"] >= table["soft"]).all()


def test_votes_are_needed_and_must_be_the_right_ones(toy_votes, tmp_path):
    model = MajorityVote().fit(toy_votes)
    first = model.pairs(disagreement=True, soft=True)
    assert first.equals(model.pairs(disagreement=True, soft=True))  # also after workers were judged
    model.save(tmp_path / "model.amcc")
    loaded = load_model(tmp_path / "model.amcc")
    with pytest.raises(ParameterError, match=r"give them: pairs\(votes=votes"):
        loaded.pairs(soft=True)
    assert first.equals(loaded.pairs(disagreement=True, soft=True, votes=toy_votes))
    with pytest.raises(ParameterError, match="are others"):
        model.pairs(soft=True, votes=toy_votes.select(toy_votes.label == 0))


def test_other_votes_and_other_people(planted, bench):
    model = DawidSkene().fit(planted.votes)
    new = bench.plant(3, n_items=30)
    named = replace(new.votes, worker_names=pa.array(np.arange(new.votes.n_workers) + 20))
    table = model.applied_to(named).pairs(disagreement=True, soft=True)
    assert len(table) == len(new.kind)
    assert (table["disagreement"].to_numpy() == new.kind)[new.kind == "clear"].mean() > 0.8


def test_unanimous_and_tiny_votes():
    ones = np.ones((3, 4, 2), dtype=int)
    assert set(MajorityVote().fit(Votes.from_dense(ones)).pairs(disagreement=True)["disagreement"]) == {"clear"}
    single = MajorityVote().fit(Votes.from_dense([[[1]]])).pairs(disagreement=True, soft=True)
    assert single["disagreement"].tolist() == ["too few votes"]
    assert 0 < single["soft"][0] < 1


def test_compiled_loops_give_the_same(planted, monkeypatch):
    model = MajorityVote().fit(planted.votes)
    options = {"disagreement": True, "soft": True, "votes": planted.votes}
    plain = model.pairs(**options)
    monkeypatch.setattr(passes, "SMALL", -1)
    compiled = model.pairs(**options)
    assert_array_equal(plain["disagreement"], compiled["disagreement"])
    assert_allclose(plain["soft"], compiled["soft"], atol=1e-12)


def test_words_say_why(planted):
    votes = planted.votes
    model = DawidSkene().fit(votes)
    asked = d.asked_of(votes)
    known = pair_reader(model, InMemory(votes), True, False, model.pair_proba_).explanations
    kind = d.kinds_of(asked, known, model.pair_proba_)
    told = {
        name: d.why(asked, known, int((kind == code).argmax()), code, lambda worker: f"worker {worker}")
        for code, name in enumerate(d.KINDS)
    }
    assert "vote with their side" in told["split crowd"]
    assert "by people who are right about this label 9" in told["hard item"]
    assert "no from worker " in told["likely slip"] or "yes from worker " in told["likely slip"]
    assert all("yes, " in text for text in told.values())


def test_first_sides_point_to_the_groups():
    """Two groups that vote against each other on half of the pairs, by a factor that is found without labels."""
    rng = np.random.default_rng(0)
    group = np.arange(12) % 2 == 0
    opposed = rng.random(120) < 0.5
    truth = rng.random(120) < 0.5
    yes = np.where(opposed, group[:, None] ^ truth, truth) ^ (rng.random((12, 120)) < 0.05)
    votes = Votes.from_dense(np.where(yes, 1, -1)[:, :, None])
    asked = d.asked_of(votes)
    known = updated(asked, _halves(sigmoid(np.where(truth, 3.0, -3.0))), None)
    contested = asked.where((asked.n_yes > 0) & (asked.n_yes < 12))
    side = first_sides(contested, known, np.arange(12)) > 0.5
    assert abs((side == group).mean() - 0.5) == 0.5


def _halves(proba):
    member = np.zeros((len(proba), 4))
    member[:, PRESENT], member[:, ABSENT] = proba, 1 - proba
    return member
