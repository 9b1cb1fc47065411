"""C of eq8: from the fitted matrices of the paper's model, or counted where a model has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.active import Learner
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Anything
from amcc.active.commonality import counted_commonality, integrated_commonality
from amcc.active.strategies import STRATEGIES
from amcc.consensus import AMCC, MajorityVote, PaperAMCC
from amcc.data import CrowdSpec, simulate_crowd
from amcc.votes import Votes

SPEC = CrowdSpec(n_items=200, n_workers=12, n_labels=5, answers_per_item=5, correlation=0.8, seed=2)


@pytest.fixture(scope="module")
def votes() -> Votes:
    """A tenth of the items has whole answers, as at the start of the paper's protocol; the others have none."""
    crowd = simulate_crowd(
        CrowdSpec(n_items=200, n_workers=12, n_labels=5, answers_per_item=5, correlation=0.8, seed=2)
    )
    return crowd.votes.select(crowd.votes.item < 20)


def test_the_papers_model_gives_its_own_matrices(votes):
    learner = Learner(PaperAMCC)
    beliefs = learner.learn(votes)
    model = learner.model
    assert isinstance(model, PaperAMCC)
    expected = np.zeros((5, 5))
    for weight, matrix in zip(model.group_weights_, model.commonality_matrices_, strict=True):
        expected += weight**2 * matrix / 5  # (1 / M) λ_m^r C_m
    assert_allclose(beliefs.commonality, expected, atol=1e-12)


def test_it_stays_until_the_next_fit(votes):
    """New votes count at once; what groups have in common is learned again with the model."""
    learner = Learner(AMCC)
    before = learner.learn(votes.select(np.arange(len(votes)) > 0))
    model = learner.model
    assert_allclose(learner.learn(votes).commonality, before.commonality)
    assert learner.model is model  # no new fit
    assert not np.allclose(before.commonality, np.eye(5), atol=0.01)


@pytest.mark.parametrize("make", [PaperAMCC, AMCC, MajorityVote])
def test_it_says_something_about_other_labels_at_the_papers_start(votes, make):
    """The correlation of presence is nearly the identity there: eq8 would add a constant, and η would not matter."""
    commonality = Learner(make).learn(votes).commonality
    other = np.abs(commonality[~np.eye(5, dtype=bool)])
    assert other.max() > 0.1 * np.abs(np.diag(commonality)).mean()
    assert np.ptp(other) > 0.2 * other.max()


@pytest.mark.parametrize("make", [PaperAMCC, AMCC])
def test_pairs_that_are_equally_open_are_asked_by_eq8(votes, make):
    """Mutant: with the identity, or our own matrix, in the place of C, other labels would be asked."""
    beliefs = Learner(make).learn(votes)
    beliefs = replace(beliefs, proba=np.full_like(beliefs.proba, 0.5))
    best = np.abs(beliefs.commonality).sum(axis=1).argmax()  # of an item that nobody was asked about

    def labels(beliefs: CurrentBeliefs, name: str = "amcc") -> set[int]:
        asked = STRATEGIES[name]().select(beliefs, Anything(votes), np.ones(12), 20, np.random.default_rng(0)).asked
        return set(asked.label.tolist())

    assert labels(beliefs) == labels(beliefs, "amcc-rw") == {best}
    assert len(labels(replace(beliefs, commonality=np.eye(5)))) > 1
    assert labels(beliefs, "amcc-presence") != {best}
    assert len(labels(beliefs, "amcc-nlc")) > 1


def test_counts_by_hand():
    """Two workers in one group; a third, of another group, must not count."""
    dense = [[[1, 1], [1, -1], [-1, -1]], [[1, -1], [1, 0], [-1, 1]], [[-1, -1], [-1, 1], [1, 1]]]
    votes = Votes.from_dense(dense)
    proba = np.array([[1.0, 0.5], [1.0, 0.0], [0.0, 1.0]])
    found = counted_commonality(votes, proba, np.array([1.0, 1.0, 0.0]))
    yes, asked = np.array([5, 4]), np.array([9, 8])  # of the crowd, all three, by label
    crowd = (yes + 1) / (asked + 2)
    # where label 0 is true: yes to it 4 of 4, to label 1 once in 3; where label 1 is true, item 0 counts half
    right = np.array([[4, 1], [0.5 * 2, 0.5 * 1 + 1]]) + crowd
    assert_allclose(found, right / (np.array([[4, 3], [0.5 * 2 + 2, 0.5 * 2 + 2]]) + 1))


def test_groups_are_weighted(votes):
    model = AMCC().fit(votes)
    proba = model.predict_proba()
    expected = sum(
        weight**2 * counted_commonality(votes, proba, share) / len(model.group_weights_)
        for weight, share in zip(model.group_weights_, model.worker_membership_.T, strict=True)
    )
    assert_allclose(integrated_commonality(model, votes, proba), expected)
