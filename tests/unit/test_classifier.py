"""p(y | x) of eq7 from features: what teaches, what does not, and what the strategy makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from amcc import metrics
from amcc.active import scores
from amcc.active.beliefs import Learner
from amcc.active.candidates import Anything
from amcc.active.classifier import FEATURE_VARIANCE, N_FOLDS, item_folds, presence_by_features, presence_of
from amcc.active.strategies import STRATEGIES
from amcc.active.strategies.amcc import PaperCriterion
from amcc.active.strategies.common import queried
from amcc.consensus import MajorityVote
from amcc.errors import ParameterError

# Two ways to the same minimum, of which neither is exact: L-BFGS stops when a step gains 10⁻⁹ of the loss.
NEAR = {"rtol": 0, "atol": 2e-3}


class Planted:
    """Items whose labels follow from their features, and a consensus that is mostly right about some of the pairs."""

    def __init__(self, n_items: int = 300, n_features: int = 6, n_labels: int = 3, asked: float = 0.4, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.features = rng.normal(size=(n_items, n_features)) * rng.uniform(0.1, 10, n_features)
        slope = 2 * rng.normal(size=(n_features, n_labels)) / self.features.std(axis=0)[:, None] / np.sqrt(n_features)
        self.truth = rng.random((n_items, n_labels)) < expit(self.features @ slope - 1)
        self.asked = rng.random((n_items, n_labels)) < asked
        self.proba = np.where(self.asked, np.where(self.truth, 0.9, 0.1), 0.3)

    def presence(self, **changes) -> np.ndarray:
        given = {"features": self.features, "proba": self.proba, "asked": self.asked} | changes
        return presence_by_features(given["features"], given["proba"], given["asked"])


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted()


def frequency(planted: Planted, proba: np.ndarray) -> np.ndarray:
    """(n_labels,) mean of the asked pairs and of one that stands for the others."""
    n_asked = planted.asked.sum(axis=0)
    return (np.where(planted.asked, proba, 0).sum(axis=0) + 0.3) / (n_asked + 1)


# -- what it learns --------------------------------------------------------------------------------------------------


def test_features_predict_what_nobody_was_asked(planted):
    unasked = ~planted.asked
    usual = np.broadcast_to(frequency(planted, planted.proba), planted.proba.shape)
    by_features, by_frequency = (metrics.log_loss(planted.truth, each, unasked) for each in (planted.presence(), usual))
    assert by_features < by_frequency - 0.1


@pytest.mark.parametrize("asked", [0.4, 0.02])  # of the second, six items have six features
def test_agrees_with_scikit_learn(asked):
    linear_model = pytest.importorskip("sklearn.linear_model")
    planted = Planted(asked=asked)
    x = (planted.features - planted.features.mean(axis=0)) / planted.features.std(axis=0)
    presence = planted.presence()
    for label, known in enumerate(planted.asked.T):
        p = np.append(planted.proba[known, label], 0.3)
        rows = np.vstack([x[known], np.zeros(x.shape[1])])
        theirs = linear_model.LogisticRegression(C=FEATURE_VARIANCE / x.shape[1], tol=1e-8, max_iter=1000).fit(
            np.vstack([rows, rows]), np.repeat([1, 0], len(p)), sample_weight=np.append(p, 1 - p)
        )
        assert_allclose(presence[~known, label], theirs.predict_proba(x[~known])[:, 1], **NEAR)


def test_no_pair_vouches_for_itself(planted):
    item, label = np.argwhere(planted.asked)[0]
    proba = planted.proba.copy()
    proba[item, label] = 1 - proba[item, label]
    before, after = planted.presence(), planted.presence(proba=proba)
    assert after[item, label] == before[item, label]
    unasked = ~planted.asked[:, label]
    assert np.abs(after - before)[unasked, label].min() > 1e-5
    others = np.arange(proba.shape[1]) != label
    assert_allclose(after[:, others], before[:, others], **NEAR)  # labels do not teach each other


def test_what_the_consensus_guesses_does_not_teach(planted):
    """Where nobody was asked, the consensus is only as much as its mean."""
    rng = np.random.default_rng(1)
    guessed = np.where(planted.asked, planted.proba, np.clip(0.3 + 0.1 * rng.normal(size=planted.proba.shape), 0, 1))
    guessed -= np.where(planted.asked, 0, (guessed - 0.3).mean(axis=0, where=~planted.asked))
    assert_allclose(planted.presence(proba=guessed), planted.presence(), **NEAR)


def test_order_and_units_do_not_matter(planted):
    presence = planted.presence()
    order = np.random.default_rng(2).permutation(len(presence))
    shuffled = presence_by_features(planted.features[order], planted.proba[order], planted.asked[order])
    assert_allclose(shuffled, presence[order], **NEAR)
    assert_allclose(planted.presence(features=1000 * planted.features + 7), presence, **NEAR)


def test_folds_are_of_equal_size():
    fold = item_folds(np.random.default_rng(0).normal(size=(52, 3)))
    assert sorted(np.bincount(fold)) == [10, 10, 10, 11, 11]
    assert len(np.bincount(fold)) == N_FOLDS


# -- nothing to learn from -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [np.full((300, 4), 0.1), np.zeros((300, 0))], ids=["constant", "none"])
def test_features_that_say_nothing_leave_the_frequency(planted, features):
    presence, usual = planted.presence(features=features), frequency(planted, planted.proba)
    for label, known in enumerate(planted.asked.T):
        assert_allclose(presence[~known, label], usual[label], rtol=1e-6)
        assert_allclose(presence[known, label], usual[label], rtol=0, atol=0.05)  # by four fifths of the items


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_one_class_only_is_finite(planted, certain):
    proba = np.where(planted.asked, certain, 0.3)
    presence, usual = planted.presence(proba=proba), frequency(planted, proba)
    assert_allclose(presence, np.broadcast_to(usual, presence.shape), rtol=0, atol=0.02)


def test_without_answers_the_consensus_decides(planted):
    nobody = np.zeros_like(planted.asked)
    presence = planted.presence(asked=nobody)
    assert_allclose(presence, np.broadcast_to(planted.proba.mean(axis=0), presence.shape), rtol=1e-6)


def test_a_label_without_answers_and_certain_guesses():
    features, asked = np.random.default_rng(0).normal(size=(20, 2)), np.zeros((20, 2), dtype=bool)
    asked[:, 0] = True
    proba = np.where(features > 0, 0.9, 0.1)
    proba[:, 1] = 0.0  # known to be absent: no log-odds of this can be computed
    presence = presence_by_features(features, proba, asked)
    assert np.isfinite(presence).all()
    assert (presence[:, 1] < 1e-5).all()


def test_few_answers_and_many_features_stay_near_the_frequency():
    """Chance finds a direction that parts six items; it must not look like knowledge of the others."""
    far = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        features, asked = rng.normal(size=(200, 500)), np.arange(200)[:, None] < 6
        proba = np.where(asked, np.where(rng.random((200, 1)) < 0.5, 0.9, 0.1), 0.5)
        presence = presence_by_features(features, proba, asked)
        far.append(np.abs(presence[6:, 0] - presence[6:, 0].mean()).mean())
    assert np.mean(far) < 0.05


def test_one_answered_item():
    features = np.array([[0.0], [1.0], [2.0]])
    asked = np.array([[True], [False], [False]])
    presence = presence_by_features(features, np.array([[0.9], [0.3], [0.3]]), asked)
    assert_allclose(presence[0, 0], 0.3, rtol=1e-6)  # by the others, of whom nothing is known
    assert presence[1, 0] > presence[2, 0]


@pytest.mark.parametrize("features", [np.zeros((4, 2)), np.zeros(3)], ids=["rows", "flat"])
def test_features_that_do_not_fit_are_refused(features):
    with pytest.raises(ParameterError, match=r"features must have one row per item \(3\); got shape"):
        presence_by_features(features, np.full((3, 2), 0.5), np.zeros((3, 2), dtype=bool))


# -- in the paper's strategy -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described(crowd):
    votes = crowd.votes.select(crowd.votes.item % 3 > 0)
    noise = np.random.default_rng(0).normal(size=crowd.truth.shape)
    return Learner(MajorityVote, features=crowd.truth + 0.5 * noise).learn(votes)


def chosen(name, beliefs, **options):
    prices, rng = np.ones(beliefs.votes.n_workers), np.random.default_rng(0)
    return STRATEGIES[name](**options).select(beliefs, Anything(beliefs.votes), prices, 20, rng)


@pytest.mark.parametrize("predictor", ["consensus", "classifier", "printed"])
def test_uncertainty_is_that_of_whoever_says_p(described, predictor):
    questions = chosen("amcc", described, predictor=predictor)
    asked = queried(described.votes)
    by_features = presence_by_features(described.features, described.proba, asked)
    p = {
        "consensus": described.proba,
        "classifier": np.where(asked, described.proba, by_features),
        "printed": by_features,
    }
    for name, each in p.items():
        u1 = scores.pair_uncertainty(each, np.ones(each.shape, dtype=bool))
        same = np.array_equal(u1[questions.asked.item, questions.asked.label], questions.parts["u1"])
        if name == predictor:
            assert same
        elif "classifier" not in (name, predictor):  # of pairs that nobody was asked about, two say the same
            assert not same


def test_answered_pairs_follow_the_votes_unless_printed(described):
    asked = queried(described.votes)
    assert asked.any(), "the test would say nothing"
    assert_array_equal(presence_of(described, asked, "classifier")[asked], described.proba[asked])
    assert np.abs(presence_of(described, asked, "printed")[asked] - described.proba[asked]).mean() > 0.01


def test_without_features_it_is_the_consensus(described):
    plain = replace(described, features=None)
    ours, theirs = chosen("amcc-classifier", plain), chosen("amcc", plain)
    assert_array_equal(ours.asked.item, theirs.asked.item)
    assert_array_equal(ours.utility, theirs.utility)


def test_predictor_is_one_of_three_words():
    assert STRATEGIES["amcc-classifier"]() == PaperCriterion(predictor="classifier")
    with pytest.raises(ParameterError, match="predictor must be one of consensus, classifier, printed; got 'oracle'"):
        PaperCriterion(predictor="oracle")
