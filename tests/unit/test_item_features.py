"""Features as a prior: the regression is the one it claims to be, no item vouches for itself, and noise is ignored."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, logit

from amcc import AMCC, Votes, load_model, read_text_features
from amcc.consensus import NAM, item_features
from amcc.consensus.item_features import (
    ItemPrior,
    RegressionSums,
    choose_weight,
    components,
    cross_fitted_scores,
    feature_log_odds,
    fit_item_prior,
    intercepts,
    item_folds,
    reliabilities,
    ridge,
    votes_gain,
)
from amcc.consensus.models.paper import PaperAMCC
from amcc.data.features import tf_idf
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ColumnError, InputError, ParameterError
from amcc.io import write_table
from amcc.truth import PairList, Truth

RNG = np.random.default_rng(0)


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, responses and weights of 40 items."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 5))
    weight = rng.uniform(0.2, 1.0, 40)
    response = weight[:, None] * (features[:, :2] + rng.normal(size=(40, 2)))
    return features, response, weight


@pytest.fixture(scope="module")
def described():
    """A crowd of which every fourth item has no answer."""
    crowd = simulate_crowd(CrowdSpec(n_items=240, n_workers=20, n_labels=4, answers_per_item=2, seed=2))
    return replace(crowd, votes=crowd.votes.select(crowd.votes.item % 4 > 0))


def log_loss(truth: np.ndarray, proba: np.ndarray) -> float:
    return float(-np.log(np.where(truth, proba, 1 - proba).clip(1e-6)).mean())


# -- regression ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_closed_form_is_that_of_scikit_learn(table, monkeypatch, penalty):
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, response, weight = table
    monkeypatch.setattr(item_features, "RIDGES", (penalty,))
    centred = features - np.average(features, axis=0, weights=weight)
    unit = np.trace(centred.T @ (weight[:, None] * centred)) / 5
    model = linear_model.Ridge(alpha=penalty * unit).fit(features, response / weight[:, None], sample_weight=weight)
    assert_allclose(ridge(RegressionSums.of(features, response, weight)), model.coef_.T, rtol=1e-9)


def test_penalty_has_the_least_generalised_cross_validation(table, monkeypatch):
    features, response, weight = table
    chosen = ridge(RegressionSums.of(features, response, weight))
    root, wanted = np.sqrt(weight)[:, None], response / weight[:, None]
    x = root * (features - np.average(features, axis=0, weights=weight))
    y = root * (wanted - np.average(wanted, axis=0, weights=weight))
    unit = np.trace(x.T @ x) / 5
    for label in range(2):
        losses = []
        for penalty in item_features.RIDGES:
            hat = x @ np.linalg.solve(x.T @ x + penalty * unit * np.eye(5), x.T)
            residual = y[:, label] - hat @ y[:, label]
            losses.append(residual @ residual / (1 - (np.trace(hat) + 1) / 40) ** 2)
        monkeypatch.setattr(item_features, "RIDGES", (item_features.RIDGES[int(np.argmin(losses))],))
        assert_allclose(chosen[:, label], ridge(RegressionSums.of(features, response, weight))[:, label], rtol=1e-9)
        monkeypatch.undo()


def test_cautious_probabilities_still_teach(described):
    """A cautious consensus says 0.2 where nobody sees a rare label: the mean is not the prior, and need not be."""
    votes = described.votes
    proba = 0.2 + 0.6 * described.truth[votes.pairs.item, votes.pairs.label]
    found = fit_item_prior(votes, proba, np.full(4, 0.01), described.truth.astype(float))
    assert found.weight > 0.9
    assert len(found.label) == 4


def test_no_item_vouches_for_itself(table):
    """What was said about an item changes the scores of others, never its own nor those of its fold."""
    features, response, weight = table
    fold = item_folds(40)
    before = cross_fitted_scores(features, response, weight, fold)
    response, weight = response.copy(), weight.copy()
    response[7], weight[7] = 5.0, 1.0
    after = cross_fitted_scores(features, response, weight, fold)
    same = fold == fold[7]
    assert_array_equal(after[same], before[same])
    assert (np.abs(after - before).max(axis=1)[~same] > 1e-6).all()


def test_folds_are_of_equal_size():
    sizes = np.bincount(item_folds(1005))
    assert len(sizes) == item_features.N_FOLDS
    assert sizes.max() - sizes.min() <= 1


def test_items_without_votes_have_no_say(described):
    votes, prior = described.votes, np.full(4, 0.3)
    proba = np.where(votes.n_yes > 0, 0.9, 0.1)
    reliability = reliabilities(votes.pairs.item, votes.pairs.label, proba, prior, votes.n_items)
    answered = np.arange(votes.n_items) % 4 > 0
    assert not reliability[~answered].any()
    assert_allclose(reliability[answered], 1 - 0.09 / 0.21)


def test_log_odds_are_those_of_logistic_regression():
    """Two clouds of points: both find the line between them, and its steepness."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    truth = np.arange(2000) % 2
    features = rng.normal(size=(2000, 3)) + truth[:, None] * [0.8, -0.5, 0.0]
    votes = Votes.from_dense(np.where(truth, 1, -1)[None, :, None])
    found = fit_item_prior(votes, np.where(truth, 0.99, 0.01), np.array([0.5]), features)
    expected = linear_model.LogisticRegression(C=1e6).fit(features, truth).decision_function(features)
    assert np.corrcoef(found.shift[:, 0], expected)[0, 1] > 0.999
    assert np.polyfit(expected, found.shift[:, 0], 1)[0] == pytest.approx(1.0, abs=0.25)  # scales come in steps


# -- scale and weight ------------------------------------------------------------------------------------------------


def test_labels_stay_as_frequent():
    scores, prior, scale = RNG.normal(size=(500, 3)) ** 3, np.array([0.01, 0.3, 0.9]), np.array([0.5, 2.0, 4.0])
    own = logit(prior) + feature_log_odds(scores, prior, scale)
    assert_allclose(expit(own).mean(axis=0), prior, rtol=1e-4)
    assert_allclose(intercepts(scores, prior, np.zeros(3)), 0, atol=1e-9)


def test_gain_is_that_of_the_votes_probability():
    """Three votes, yes, no and yes, of workers with these rates."""
    hit, false_alarm, yes = np.array([0.9, 0.7, 0.8]), np.array([0.1, 0.4, 0.2]), np.array([True, False, True])
    present, absent = (np.where(yes, rate, 1 - rate).prod() for rate in (hit, false_alarm))

    def log_probability(before: float) -> float:
        return np.log(before * present + (1 - before) * absent)

    gain = votes_gain(logit(np.array([0.8])), logit(np.array([0.3])), np.log([present / absent]))
    assert gain == pytest.approx(log_probability(0.8) - log_probability(0.3), rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_noise_has_no_weight_to_speak_of(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=15, n_labels=5, answers_per_item=2, seed=seed))
    noise = np.random.default_rng(seed).normal(size=(150, 20))
    plain = AMCC(max_iter=500).fit(crowd.votes)
    informed = AMCC(max_iter=500).fit(crowd.votes, features=noise)
    change = log_loss(crowd.truth, informed.predict_proba()) - log_loss(crowd.truth, plain.predict_proba())
    assert change < 0.003


def test_features_that_are_the_truth_decide(described):
    plain = AMCC().fit(described.votes)
    informed = AMCC().fit(described.votes, features=described.truth.astype(float))
    assert informed.item_prior_.weight > 0.9
    unasked = np.arange(240) % 4 == 0
    before, after = (log_loss(described.truth[unasked], model.predict_proba()[unasked]) for model in (plain, informed))
    assert after < 0.5 * before
    assert (informed.predict()[unasked] == described.truth[unasked]).mean() > 0.87


def test_many_votes_outweigh_features(described):
    """All workers say of item 1 what the features deny; of item 0, one does."""
    present = described.truth[:, 0]
    dense = np.zeros((12, 240, 1), np.int8)
    signs = np.where(present, 1, -1)
    for item in range(2, 240):
        dense[[item % 12, (item + 5) % 12], item, 0] = signs[item]
    features = np.where(present, 1.0, -1.0)[:, None]
    features[:2] = -1.0
    dense[:, 1], dense[0, 0] = 1, 1
    votes = Votes.from_dense(dense)
    plain, informed = AMCC().fit(votes), AMCC().fit(votes, features=features)
    moved = np.abs(informed.predict_proba() - plain.predict_proba())[:2, 0]
    assert moved[1] < 0.05
    assert moved[0] > moved[1]


def test_too_few_items(toy_votes):
    model = AMCC().fit(toy_votes, features=np.eye(2))
    assert model.item_prior_.weight == 0
    assert "fewer than 20 items" in model.item_prior_.sentence()
    assert_array_equal(model.predict_proba(), AMCC().fit(toy_votes).predict_proba())


def test_weight_counts_the_gain_against_its_error():
    rng = np.random.default_rng(4)
    item, label = np.arange(400, dtype=np.int32), np.zeros(400, np.int32)
    presence = rng.random(400) < 0.5
    evidence, fold = np.where(presence, 1.0, -1.0), item_folds(400)
    good, noise = (np.where(presence, 1.0, -1.0) * 0.5 + rng.normal(size=400))[:, None], rng.normal(size=(400, 1))
    choice = choose_weight(good, np.array([0.5]), evidence, item, label, fold)
    assert choice.gain > 2 * choice.error > 0
    assert choice.weight == pytest.approx(1 - (choice.error / choice.gain) ** 2)
    assert choose_weight(noise, np.array([0.5]), evidence, item, label, fold).weight < 0.2
    assert choose_weight(-good, np.array([0.5]), evidence, item, label, fold).weight == 0


# -- features --------------------------------------------------------------------------------------------------------


def test_units_of_columns_do_not_matter(described):
    features = RNG.normal(size=(240, 3)) + described.truth[:, :3]
    other = features * [1e-6, 1.0, 1e9] + [5.0, 0.0, -1e9]
    assert_allclose(components(other), components(features), atol=1e-5)
    assert_array_equal(components(np.ones((30, 2)))[:, 1], 0)


def test_many_features_are_condensed(described):
    pytest.importorskip("sklearn")
    wide = RNG.normal(size=(240, 300)) + 3 * np.tile(described.truth, 75)
    assert components(wide).shape == (240, 239)
    assert components(csr_array(wide)).shape == (240, 239)
    for features in (wide, csr_array(wide)):
        assert AMCC().fit(described.votes, features=features).item_prior_.weight > 0.5


def test_sparse_features_are_those_they_stand_for(described):
    dense = described.truth.astype(float)
    for sparse in (csr_array(dense), coo_array(dense)):
        proba = AMCC().fit(described.votes, features=sparse).predict_proba()
        assert AMCC().fit(described.votes, features=dense).predict_proba() == pytest.approx(proba, abs=0.05)
    nam = [NAM(max_iter=2).fit(described.votes, features=each).predict_proba() for each in (dense, csr_array(dense))]
    assert_array_equal(*nam)


def test_bad_sparse_features(toy_votes):
    with pytest.raises(ParameterError, match=r"one row per item \(2\); got shape \(3, 1\)"):
        AMCC().fit(toy_votes, features=csr_array((3, 1)))
    with pytest.raises(ParameterError, match="row 1, column 2 holds inf"):
        AMCC().fit(toy_votes, features=csr_array(([np.inf], ([1], [2])), shape=(2, 4)))


def test_what_needs_scikit_learn_says_so():
    code = """
import sys
sys.modules["sklearn"] = None
import numpy as np
from scipy.sparse import csr_array
from amcc.consensus.item_features import components
from amcc.data.features import tf_idf
from amcc.errors import MissingExtraError
components(np.eye(30))
for need in (lambda: components(np.ones((9, 300))), lambda: components(csr_array((9, 300))), lambda: tf_idf(["a b"])):
    try:
        need()
    except MissingExtraError as error:
        assert "pip install 'amcc[features]'" in str(error)
    else:
        sys.exit(1)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_texts_are_compared_by_words_or_characters():
    pytest.importorskip("sklearn")
    texts = ["good dog", "good cat", "bad catalogue", ""]
    words, characters = (tf_idf(texts, units) @ tf_idf(texts, units).T for units in ("words", "characters"))
    assert words[0, 1] > 0 == words[1, 2]
    assert characters[1, 2] > 0
    assert not words.toarray()[3].any()
    with pytest.raises(InputError, match="words in common"):
        tf_idf(["one", "two"])


def test_texts_come_in_the_order_of_the_votes(tmp_path):
    pytest.importorskip("sklearn")
    votes, path = Votes.from_dense([[[1]] * 4], item_names=["a", "b", "c", "d"]), tmp_path / "texts.csv"
    texts = ["good", "bad", "good", "bad", "other"]
    write_table(pa.table({"item": ["d", "c", "b", "a", "e"], "text": texts}), path)
    assert_array_equal(read_text_features(path, votes).toarray(), [[1, 0], [0, 1], [1, 0], [0, 1]])  # bad, good
    with pytest.raises(ParameterError, match=r"words, characters; got 'letters'"):
        read_text_features(path, votes, units="letters")
    with pytest.raises(ColumnError, match=r"texts.csv.*a column 'body'; there is 'text'"):
        read_text_features(path, votes, column="body")


# -- kept with the model ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def informed(described):
    return AMCC().fit(described.votes, features=described.truth.astype(float))


def test_saved_and_loaded(informed, tmp_path):
    informed.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.item_prior_.sentence() == informed.item_prior_.sentence()
    assert_array_equal(loaded.predict_proba(), informed.predict_proba())
    assert loaded.sets().equals(informed.sets())


def test_same_items_keep_their_features_with_new_votes(informed, described):
    votes = described.votes
    assert_allclose(informed.predict_proba(votes), informed.predict_proba(), atol=1e-9)
    some = votes.select(votes.worker > 3)
    applied = informed.applied_to(some)
    assert_allclose(applied.predict_proba(), informed.predict_proba(some), atol=1e-9)
    assert np.abs(applied.predict_proba()[::4] - informed.predict_proba()[::4]).max() < 1e-9  # nobody answered these


def test_new_items_and_labels_are_judged_by_votes_alone(informed, described):
    votes = described.votes
    names = pa.array([f"new {number}" for number in range(votes.n_items)])
    plain = AMCC().fit(votes)
    renamed = replace(votes, item_names=names)
    assert_allclose(informed.predict_proba(renamed), plain.predict_proba(renamed), atol=1e-9)
    known = informed.item_prior_.known_to(np.array([3, -1]), np.array([-1, 2, 0]))
    assert_array_equal(known.label, [1, 2])
    assert_array_equal(known.shift, [informed.item_prior_.shift[3][[2, 0]], [0, 0]])


def test_a_fit_without_features_forgets_them(informed, described):
    model = AMCC(warm_start=True).fit(described.votes, features=described.truth.astype(float))
    model.fit(described.votes)
    assert model.item_prior_ is None
    model.fit(described.votes, features=described.truth.astype(float))
    assert model.item_prior_.weight > 0.5


def test_a_prior_must_have_a_weight():
    with pytest.raises(ValueError, match="weight from 0 to 1"):
        ItemPrior(2.0, 0.0, 0.0, 1, np.zeros(0, np.int32), np.zeros((1, 0)))


def test_known_truth_teaches_features():
    """Workers are hardly better than chance, but the truth of some items is known: features carry it to the others."""
    rng = np.random.default_rng(6)
    present = rng.random((200, 1)) < 0.4
    votes = Votes.from_dense(np.where(rng.random((4, 200, 1)) < 0.4 + 0.2 * present, 1, -1))
    some = np.arange(0, 200, 2)

    def pairs(items: np.ndarray) -> PairList:
        label = votes.label_names.cast("string").take(pa.array(np.zeros_like(items)))
        return PairList(votes.item_names.cast("string").take(pa.array(items)), label)

    truth = Truth(pairs(some[present[some, 0]]), known_pairs=pairs(some))
    right = [
        (AMCC(max_iter=500).fit(votes, features=features, truth=truth).predict()[1::2] == present[1::2]).mean()
        for features in (None, np.where(present, 1.0, -1.0))
    ]
    assert right[0] < 0.75
    assert right[1] > 0.9


def test_the_papers_objective_takes_them_too(described):
    model = PaperAMCC().fit(described.votes, features=described.truth.astype(float))
    assert model.item_prior_.weight > 0.5
