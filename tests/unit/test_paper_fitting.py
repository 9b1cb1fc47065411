"""Whole fits of the paper's objective, and the deviations D1 to D8 that show in them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import amcc
from amcc import ParameterError, Votes, metrics
from amcc.consensus import MajorityVote
from amcc.consensus.learned import Gold
from amcc.consensus.models.paper import anchor, fitting
from amcc.consensus.models.paper import answers as paper_answers
from amcc.consensus.models.paper.fitting import PaperFit
from amcc.consensus.models.paper.problem import PaperSettings
from amcc.consensus.models.paper.start import first_individuality
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.errors import ConvergenceWarning, TooLargeError
from paper_problems import EXACT, crowd_of, fit_with, gold_of, table


@pytest.fixture(scope="module")
def fits() -> list[tuple[SimulatedWorld, PaperFit]]:
    return [(crowd, fit_with(crowd.votes)) for crowd in map(crowd_of, range(3))]


def moved(fit: PaperFit, settings: PaperSettings) -> float:
    """How far D_w is from its start, on average, in lengths of the start."""
    first = first_individuality(fit.state.individuality.shape[1], settings)
    return np.linalg.norm(fit.state.individuality - first, axis=(1, 2)).mean() / np.linalg.norm(first)


def test_printed_individuality_ends_near_even_rows_wherever_it_starts(fits):
    """D6: even rows are nearly what the print arrives at, also from the identity; with the consensus, D_w says more."""
    crowd, fit = fits[0]
    even, far = (fit_with(crowd.votes, printed=True, start=start) for start in ("uniform", "identity"))
    assert 0.05 < moved(even, PaperSettings(start="uniform")) < 0.1
    assert moved(far, PaperSettings(start="identity")) > 0.8
    assert_allclose(far.monitor.history[-1], even.monitor.history[-1], rtol=1e-4)
    assert moved(fit, PaperSettings()) > 0.3


def test_printed_penalty_holds_individuality_back(fits, monkeypatch):
    """D6: by the letter of Theorem 1 a fit needs several times as many rounds."""
    crowd, fit = fits[1]
    monkeypatch.setattr(anchor, "admm_penalty", lambda n_labels, n_workers, settings: 156.0)
    assert not fit_with(crowd.votes, max_iter=3 * len(fit.monitor.history)).monitor.converged


def test_unasked_as_answers_of_zero_cost_much():
    """D13: where half of the labels are not asked, what was not asked is not a no."""
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=30, n_labels=8, asked_share=0.5, seed=5))
    asked, every = (fit_with(crowd.votes, cells=cells, max_iter=6) for cells in ("asked", "all"))
    scores = [metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5) for fit in (asked, every)]
    assert scores[0] > scores[1] + 0.1
    assert_array_equal(fit_with(crowd.votes, max_iter=1).verdict.pair_proba,
                       fit_with(crowd.votes, max_iter=1, cells="asked").verdict.pair_proba)  # fmt: skip
    printed, by_name = (fit_with(crowd.votes, max_iter=1, printed=True, **cells) for cells in ({}, {"cells": "all"}))
    assert_array_equal(printed.state.individuality, by_name.state.individuality)


def test_only_printed_answers_have_negative_cosines():
    """D14: labels that exclude each other are opposites as ±1, and have nothing in common as 1 and 0."""
    one_of_two = np.where(np.random.default_rng(0).random((3, 30, 1)) < 0.5, [[[1, -1]]], [[[-1, 1]]])
    votes = Votes.from_dense(one_of_two)
    assert fit_with(votes, printed=True).label_similarity.min() < -0.9
    assert fit_with(votes, printed=True, cosines="clipped").label_similarity.min() == 0
    assert fit_with(votes).label_similarity.min() >= 0


def test_self_anchor_from_the_identity_does_not_move(fits):
    """D15: it is perfect before it starts, so that the consensus is that of the first round."""
    crowd, _ = fits[0]
    fit = fit_with(crowd.votes, anchor="self", start="identity")
    assert len(fit.monitor.history) == 1
    assert moved(fit, PaperSettings(start="identity")) < 1e-9
    ours = metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5)
    assert ours == pytest.approx(metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()), abs=0.01)


def test_print_makes_all_groups_equal(fits):
    """D2: eq21 as printed gives one C for all groups, and eq23 then one weight."""
    fit = fit_with(fits[0][0].votes, printed=True)
    assert_allclose(fit.state.group_weights, 1 / 5, **EXACT)
    assert_allclose(fit.state.commonality, fit.state.commonality[[0] * 5], **EXACT)
    ours = fits[0][1].state
    assert ours.group_weights.max() > 2 * ours.group_weights.min()
    assert np.ptp(ours.commonality, axis=0).max() > 0.1


def test_self_anchor_cannot_tell_spammers_from_the_reliable(fits):
    """D1: everybody repeats themselves well, a uniform spammer leads or shares the lead, and the consensus suffers."""
    for crowd, ours in fits:
        fit = fit_with(crowd.votes, anchor="self")
        weight, our_weight = (one.state.group_weights[one.state.worker_group] for one in (fit, ours))
        uniform, reliable = (crowd.worker_kind == kind for kind in ("uniform_spammer", "reliable"))
        assert weight[uniform].max() >= weight[reliable].max()
        assert our_weight[uniform].max() < our_weight[reliable].min()
        scores = [metrics.jaccard(crowd.truth, table(crowd.votes, one) > 0.5) for one in (fit, ours)]
        assert scores[0] < scores[1] - 0.05


@pytest.mark.parametrize("rows", ["simplex", "unit"])
def test_toy_sets(toy_votes, rows):
    fit = fit_with(toy_votes, rows=rows)
    assert_array_equal(fit.verdict.pair_proba > 0.5, [True, False, False, True])
    assert fit.state.n_groups == 3  # no more groups than workers
    power = {"simplex": 1, "unit": 2}[rows]  # D4
    assert_allclose(np.sum(np.abs(fit.state.individuality) ** power, axis=2), 1, **EXACT)


def test_consensus_anchor_keeps_up_with_majority(fits):
    """D1: far above it on crowds with spammers (measured .80, .86, .82 against .51, .58, .62)."""
    for crowd, fit in fits:
        ours = metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5)
        assert ours > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()) + 0.1


def test_anchor_follows_the_consensus(fits):
    """D1: represented by majority alone, as in the first round, workers are known less well."""
    crowd, fit = fits[0]
    first = fit_with(crowd.votes, max_iter=1)
    assert not first.monitor.converged
    better, worse = (metrics.jaccard(crowd.truth, table(crowd.votes, one) > 0.5) for one in (fit, first))
    assert better > worse + 0.02


def test_sparse_real_crowd(shared_data):
    """D7: most workers answered one to three clips; without `prior_scale` the smallest groups lead, and it is .38."""
    folder = shared_data / "sonyc_ust_fine_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    truth, known = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv").matrices(
        votes.item_names, votes.label_names
    )
    ours = metrics.jaccard(truth, table(votes, fit_with(votes, max_iter=20)) > 0.5, known)
    assert ours > metrics.jaccard(truth, MajorityVote().fit(votes).predict(), known) + 0.05


def test_spammers_are_in_groups_of_low_weight(fits):
    for crowd, fit in fits:
        spammer = np.char.endswith(crowd.worker_kind, "spammer")
        weight = fit.state.group_weights[fit.state.worker_group]
        assert np.mean(weight[spammer] < np.median(weight[~spammer])) >= 0.75
        assert weight[crowd.worker_kind == "reliable"].min() > weight[spammer].mean()


def test_fit_is_consistent(fits):
    crowd, fit = fits[1]
    assert fit.verdict.pair_proba.shape == (len(crowd.votes.pairs),)
    assert_allclose(fit.state.individuality.sum(axis=2), 1, **EXACT)
    assert fit.state.individuality.min() >= 0
    assert_allclose(fit.state.group_weights.sum(), 1, **EXACT)
    assert fit.monitor.converged
    assert len(fit.monitor.history) == len(fit.monitor.history)
    assert abs(fit.monitor.history[-1] - fit.monitor.history[-2]) < 1e-5
    assert_allclose(np.diag(fit.label_similarity), 1, **EXACT)


def test_order_and_names_do_not_matter_and_the_seed_does(crowd):
    votes = crowd.votes
    fit = fit_with(votes)
    assert_array_equal(fit.verdict.pair_proba, fit_with(votes).verdict.pair_proba)
    names = votes.worker_names.to_pylist()
    reversed_workers = Votes.from_codes(
        votes.item[::-1], (votes.n_workers - 1 - votes.worker)[::-1], votes.label[::-1], votes.value[::-1],
        item_names=votes.item_names, worker_names=names[::-1], label_names=votes.label_names,
    )  # fmt: skip
    other = fit_with(reversed_workers)
    assert_allclose(other.verdict.pair_proba, fit.verdict.pair_proba, rtol=0, atol=1e-9)
    seeds = [fit_with(votes, random_state=seed).state.worker_group for seed in range(5)]
    assert any(not np.array_equal(fit.state.worker_group, groups) for groups in seeds)


def test_half_of_the_labels_unasked_still_works():
    crowd = simulate_crowd(CrowdSpec(n_items=400, n_workers=30, n_labels=8, asked_share=0.5, seed=5))
    fit = fit_with(crowd.votes)
    ours = metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5)
    assert ours > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()) - 0.02


T1 = np.array([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])


def test_opposite_labels_outweigh_few_answers_in_print():
    """D14: a label that everybody denies wins an item, unless negative cosines count as zero."""
    votes = Votes.from_dense(np.concatenate([T1, -np.ones((3, 2, 1), dtype=int)], axis=2))
    signed, clipped = (fit_with(votes, printed=True, cosines=cosines) for cosines in ("signed", "clipped"))
    assert table(votes, signed)[1].argmax() == 2
    assert table(votes, clipped)[1].argmax() == 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"anchor": "self"},
        {"printed": True},
        {"rows": "unit"},
        {"cells": "all"},
        {"printed": True, "rows": "unit", "cells": "asked", "cosines": "clipped", "start": "identity"},
        {"hsic_weight": 0.0},
        {"n_groups": 50},
        {"n_groups": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "dense",
    [
        [[[1, -1], [-1, -1], [1, 1]]],
        [[[1, -1]], [[1, 1]], [[-1, -1]]],
        [[[1], [-1]], [[1], [-1]], [[-1], [-1]]],
        [[[1]]],
        [[[-1]]],
        np.concatenate([T1, -np.ones((3, 2, 1), dtype=int)], axis=2),
        np.concatenate([T1, np.zeros((3, 2, 1), dtype=int)], axis=2),
        np.concatenate([T1, np.zeros((1, 2, 2), dtype=int)], axis=0),
        np.concatenate([T1, np.zeros((3, 1, 2), dtype=int)], axis=1),
        np.ones((4, 5, 3), dtype=int),
        -np.ones((4, 5, 3), dtype=int),
        np.where(np.arange(60).reshape(3, 5, 4) % 13 == 0, 1, 0),
    ],
    ids=[
        "one worker", "one item", "one label", "one yes", "one no", "never given", "never asked", "silent worker",
        "unanswered item", "all yes", "all no", "five votes",
    ],
)  # fmt: skip
def test_tiny_inputs(dense, settings):
    votes = Votes.from_dense(dense)
    fit = fit_with(votes, **settings)
    for proba in (fit.verdict.pair_proba, fit.verdict.label_prior):
        assert ((proba >= 0) & (proba <= 1)).all()
    assert ((fit.verdict.label_prior > 0) & (fit.verdict.label_prior < 1)).all()  # its log-odds are wanted
    assert np.isfinite(fit.monitor.history).all()
    assert np.isfinite(fit.verdict.evidence).all()
    assert np.isfinite(fit.verdict.prior).all()
    assert np.isfinite(fit.state.response).all()
    assert ((fit.verdict.rates.group > 0) & (fit.verdict.rates.group < 1)).all()
    assert (
        fit.state.worker_group.max() < len(fit.state.group_weights) <= min(settings.get("n_groups", 5), votes.n_workers)
    )
    if not settings.get("printed"):
        assert np.diff(fit.monitor.history).max(initial=0.0) <= 1e-12


def test_one_worker_is_believed():
    dense = np.where(np.random.default_rng(0).random((1, 40, 4)) < 0.3, 1, -1)
    votes = Votes.from_dense(dense)
    assert_array_equal(table(votes, fit_with(votes)) > 0.5, dense[0] > 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_groups": 0}, "n_groups must be at least 1; got 0"),
        ({"weight_exponent": 1.0}, "weight_exponent must be above 1"),
        ({"hsic_weight": -1.0}, "hsic_weight must be at least 0"),
        ({"laplacian_weight": np.inf}, "laplacian_weight must be at least 0"),
        ({"rows": "columns"}, "rows must be 'simplex' or 'unit'"),
        ({"anchor": "truth"}, "anchor must be 'consensus' or 'self'"),
        ({"cells": "some"}, "cells must be 'asked' or 'all'; got 'some'"),
        ({"cosines": None}, "cosines must be 'signed' or 'clipped'; got None"),
        ({"start": "zero"}, "start must be 'identity' or 'uniform'; got 'zero'"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"n_groups": "3"}, "n_groups must be a whole number; got '3'"),
        ({"n_groups": True}, "n_groups must be a whole number; got True"),
        ({"hsic_weight": "much"}, "hsic_weight must be a number; got 'much'"),
        ({"weight_exponent": None}, "weight_exponent must be a number; got None"),
        ({"printed": "yes"}, "printed must be True or False; got 'yes'"),
        ({"max_iter": 1.5}, "max_iter must be a whole number; got 1.5"),
        ({"random_state": -1}, "random_state must be at least 0; got -1"),
    ],
)
def test_settings_out_of_range(toy_votes, settings, message):
    with pytest.raises(ParameterError, match=message):
        fit_with(toy_votes, **settings)


def test_too_many_labels_are_refused_before_anything_is_made():
    """10⁵ labels: D_w alone would be 80 GB a worker, and one number for each answer and label 1 GB."""
    n_items = 10_000
    item = np.arange(n_items)
    votes = Votes.from_codes(
        item, item % 3, item % 100_000, np.ones(n_items, dtype=np.int8),
        item_names=range(n_items), worker_names=range(3), label_names=range(100_000),
    )  # fmt: skip
    votes.answers_per_worker  # noqa: B018  (counted once for all models)
    tracemalloc.start()
    with pytest.raises(
        TooLargeError, match=r"must fit into 2.0 GB; 3 workers × 100000 × 100000 labels × 100000 .*Use AMCC"
    ):
        fit_with(votes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("asked_share", [1.0, 0.5], ids=["whole answers", "partial answers"])
def test_memory_is_what_the_limit_counts(asked_share, monkeypatch):
    """A limit just below what is really held refuses the fit: the estimate is not too low."""
    votes = simulate_crowd(
        CrowdSpec(n_items=60, n_workers=50, n_labels=24, asked_share=asked_share, answers_per_item=4, seed=1)
    ).votes
    fit_with(votes, max_iter=1)  # everything imported and counted
    tracemalloc.start()
    fit_with(votes, max_iter=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    monkeypatch.setattr(fitting, "MAX_NUMBERS", peak // 8 - 2 * paper_answers.BLOCK_NUMBERS)
    with pytest.raises(TooLargeError, match="Use AMCC"):
        fit_with(votes)


def test_no_votes_at_all(toy_votes):
    fit = fit_with(toy_votes.select(toy_votes.value == 0))
    assert fit.verdict.pair_proba.shape == (0,)
    assert_array_equal(fit.verdict.label_prior, [0.5, 0.5])


MODES = [{}, {"anchor": "self"}, {"printed": True}]


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_known_truth_is_kept(crowd, settings):
    gold = gold_of(crowd, slice(0, 50))
    fit = fit_with(crowd.votes, gold, **settings)
    assert_array_equal(fit.verdict.pair_proba[gold.known], gold.present[gold.known])
    assert_array_equal(np.abs(fit.verdict.prior[gold.known]), 50.0)  # so votes on these pairs are judged by their truth
    assert np.abs(fit.verdict.prior[~gold.known]).max() < 10


def test_known_truth_teaches_who_is_right():
    """Two of three workers lie on every item: nobody could know, but for the truth of some items."""
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < 0.4
    wrong = rng.random((60, 3)) < 0.4
    dense = np.where(np.stack([truth, wrong, wrong]), 1, -1)
    votes = Votes.from_dense(dense)
    pairs = votes.pairs
    gold = Gold(truth[pairs.item, pairs.label], pairs.item < 30)
    unseen, right = pairs.item >= 30, truth[pairs.item, pairs.label]
    taught, untaught = (fit_with(votes, known).verdict.pair_proba[unseen] > 0.5 for known in (gold, None))
    assert np.mean(taught == right[unseen]) > 0.9
    assert np.mean(untaught == right[unseen]) < 0.8


@pytest.mark.parametrize(
    "settings", [{}, {"anchor": "self"}, {"rows": "unit"}, {"weight_exponent": 3.0}, {"ridge": 0.1}], ids=str
)
@pytest.mark.parametrize("asked_share", [1.0, 0.5], ids=["whole answers", "partial answers"])
def test_no_round_raises_the_objective(settings, asked_share):
    """ADMM and anchor included; up to rounding errors."""
    for seed in range(3):
        crowd = simulate_crowd(
            CrowdSpec(n_items=120, n_workers=20, n_labels=5, answers_per_item=4, asked_share=asked_share, seed=seed)
        )
        history = fit_with(crowd.votes, max_iter=40, **settings).monitor.history
        assert np.diff(history).max(initial=0.0) <= 1e-12


def test_fit_that_has_not_settled_says_so(crowd):
    fit = fit_with(crowd.votes, max_iter=2)
    assert not fit.monitor.converged
    assert len(fit.monitor.history) == 2
    assert fit.monitor.change == abs(fit.monitor.history[1] - fit.monitor.history[0]) > 1e-5
    with pytest.warns(ConvergenceWarning, match=r"AMCC stopped after 2 iterations, last change .* > tol=1.0e-05"):
        fit.monitor.warn_unless_converged("AMCC")


def test_published_groups(fits):
    for crowd, fit in fits:
        assert (np.diff(fit.state.group_weights) <= 0).all()  # the best first
        assert_allclose(fit.state.group_weights.sum(), 1, **EXACT)
        assert fit.verdict.rates.group.shape == (2, 5, 10)
        assert ((fit.verdict.rates.group > 0) & (fit.verdict.rates.group < 1)).all()
        informativeness = (fit.verdict.rates.group[0] - fit.verdict.rates.group[1]).mean(axis=1)
        assert informativeness.argmax() == 0
        assert fit.state.worker_group.shape == (40,)
        assert fit.state.commonality.shape == (5, 10, 10)
        assert fit.state.individuality.shape == (40, 10, 10)
        assert_allclose(fit.label_similarity, fit.label_similarity.T, **EXACT)
        reliable = crowd.worker_kind == "reliable"
        assert fit.state.worker_group[reliable].max() <= 1


def test_workers_who_said_nothing_are_newcomers_and_change_nothing(fits):
    """At the start of a campaign most of the crowd has not been asked: their empty A_w are nobody's to represent."""
    crowd, heard = fits[0]
    names = [f"w{number}" for number in range(crowd.votes.n_workers)]
    # One silent worker in front and one behind: codes of all others move.
    votes = Votes.from_codes(
        crowd.votes.item, crowd.votes.worker + 1, crowd.votes.label, crowd.votes.value,
        item_names=crowd.votes.item_names, worker_names=["first", *names, "last"], label_names=crowd.votes.label_names,
    )  # fmt: skip
    fit = fit_with(votes)
    assert_array_equal(fit.verdict.pair_proba, heard.verdict.pair_proba)
    assert_array_equal(fit.state.individuality[1:-1], heard.state.individuality)
    assert_array_equal(fit.state.worker_group[1:-1], heard.state.worker_group)
    assert_allclose(fit.state.individuality[0], heard.state.individuality.mean(axis=0))
    assert_array_equal(fit.verdict.rates.worker[:, -1], heard.verdict.rates.crowd)
    assert_allclose(fit.verdict.vote_weight[-1], heard.verdict.vote_weight.mean())


def test_a_ridge_keeps_commonality_small():
    """D17: labels that hardly anybody gave leave the system of eq20 nearly singular."""
    spec = CrowdSpec(n_items=20, n_workers=8, n_labels=12, answers_per_item=3, labels_per_item=1, seed=4)
    votes = simulate_crowd(spec).votes
    free, held = (np.abs(fit_with(votes, ridge=ridge).state.commonality).max() for ridge in (0.0, 0.1))
    assert free > 1
    assert held < 0.3
