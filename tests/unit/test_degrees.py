"""Degrees of pairs: the pass, the updates, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from amcc import AMCC, Votes, metrics, passes
from amcc.consensus import MajorityVote
from amcc.consensus.default import degrees
from amcc.consensus.default.degrees import (
    DegreeBelief,
    DegreeCounts,
    Degrees,
    count_degrees,
    fit_degrees,
    readings,
    update_degrees,
)
from amcc.consensus.default.settings import Settings
from amcc.engine.base import InMemory, WholeBlock

SETTINGS = Settings()


def random_belief(votes: Votes, n_degrees: int = 4, seed: int = 0) -> DegreeBelief:
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.05, 0.95, (votes.n_workers, n_degrees))
    evidence = np.log(np.stack([1 - rate, rate], axis=1)).reshape(-1, n_degrees)
    return DegreeBelief(evidence, np.log(rng.dirichlet(np.ones(n_degrees), votes.n_labels)))


def by_hand(votes: Votes, belief: DegreeBelief) -> tuple[DegreeCounts, np.ndarray]:
    """Bayes' rule, pair by pair and vote by vote."""
    counts = DegreeCounts(np.zeros_like(belief.evidence), np.zeros_like(belief.log_share))
    members = []
    for pair in range(len(votes.pairs)):
        own = range(votes.pairs.start[pair], votes.pairs.start[pair + 1])
        places = [2 * votes.worker[vote] + (votes.value[vote] > 0) for vote in own]
        label = votes.pairs.label[pair]
        member = np.exp(belief.log_share[label] + sum(belief.evidence[place] for place in places))
        member /= member.sum()
        members.append(member)
        counts.pairs[label] += member
        for place in places:
            counts.votes[place] += member
    return counts, np.array(members)


@pytest.mark.parametrize("small", [passes.SMALL, 0], ids=["numpy", "compiled"])
def test_a_round_is_bayes_rule_on_every_pair(crowd, small, monkeypatch):
    monkeypatch.setattr(passes, "SMALL", small)
    votes = crowd.votes.select(np.random.default_rng(1).random(len(crowd.votes)) < 0.6)
    belief = random_belief(votes)
    expected, members = by_hand(votes, belief)
    found = count_degrees(WholeBlock(votes), belief)
    assert_allclose(found.votes, expected.votes, rtol=1e-12, atol=1e-12)
    assert_allclose(found.pairs, expected.pairs, rtol=1e-12, atol=1e-12)
    present = np.array([0.0, 0.2, 0.7, 1.0])
    n_workers, n_labels = votes.n_workers, votes.n_labels
    built = Degrees(
        belief.evidence.reshape(n_workers, 2, 4), np.zeros((2, 4)), np.exp(belief.log_share), np.full(4, 0.25),
        np.full(4, 0.5), np.full(4, 8.0), present,
    )  # fmt: skip
    assert_allclose(built.presence(WholeBlock(votes)), members @ present, rtol=1e-12)
    assert built.known_to(np.full(3, -1), np.full(2, -1)).share.shape == (2, 4)
    assert n_labels == len(belief.log_share)


def test_a_worker_is_what_their_votes_and_the_crowd_say(monkeypatch):
    """One worker, one degree, by hand: 3 yes and 1 no beside the pseudo-votes of the degree."""
    start = Degrees(
        np.zeros((2, 2, 1)), np.zeros((2, 1)), np.ones((1, 1)), np.ones(1), np.array([0.4]), np.array([5.0]), np.ones(1)
    )
    votes = np.array([[1.0], [3.0], [0.0], [0.0]])  # no and yes of the first worker, then of the second
    counts = DegreeCounts(votes, np.array([[4.0]]))
    monkeypatch.setattr(degrees, "GRID", np.array([0.4]))
    now = update_degrees(start, counts, np.array([0.5, 1.0]), Settings(pseudo_votes=3.0), strengths=False)
    effective_yes = 0.5 * 2.0 * (digamma(5.0) - digamma(2.0))
    effective_no = 0.5 * 3.0 * (digamma(4.0) - digamma(3.0))
    rate = (effective_yes + 3 * 0.4) / (effective_yes + effective_no + 3)
    assert now.rate == pytest.approx(rate, rel=1e-12)
    yes = digamma(5 * rate + 3) - digamma(9.0)
    no = digamma(5 * (1 - rate) + 1) - digamma(9.0)
    assert_allclose(now.evidence[0, :, 0], [0.5 * no, 0.5 * yes], rtol=1e-12)  # looks half of the time
    assert_allclose(now.newcomer[1], 0.75 * (digamma(5 * rate) - digamma(5.0)), rtol=1e-12)


def test_who_does_not_look_says_nothing(crowd):
    looks = np.ones(crowd.votes.n_workers)
    looks[3] = 0.0
    found = fit_degrees(InMemory(crowd.votes), looks, SETTINGS)
    assert_allclose(found.evidence[3], 0.0, atol=0)
    without = crowd.votes.select(crowd.votes.worker != 3)
    others = fit_degrees(InMemory(without), looks, SETTINGS)
    assert_allclose(found.present, others.present, rtol=0, atol=0.05)


def test_the_reading_rises_with_the_share_of_yes():
    yes = np.array([[1.0, 20.0, 43.0, 60.0, 95.0]])
    present = readings(yes, 100 - yes, np.ones((1, 1)), SETTINGS)
    assert (np.diff(present) > 0).all()
    assert present[2] == pytest.approx(0.5, abs=0.02)
    assert present[3] == pytest.approx(0.75, abs=0.03)


def tempting_crowd(seed: int = 0, n_items: int = 400, n_workers: int = 12):
    """Half of the pairs are tempting or faint: votes agree there for another reason than presence."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_items, 4)) < 0.3
    clear = rng.random((n_items, 4)) < 0.5
    share = np.where(clear, np.where(truth, 0.95, 0.03), rng.beta(2, 2, (n_items, 4)) * 0.6 + 0.2 * truth)
    votes = np.where(rng.random((n_workers, n_items, 4)) < share, 1, -1)
    return Votes.from_dense(votes), truth


def log_loss(truth, proba):
    proba = np.clip(proba, 1e-4, 1 - 1e-4)
    return -np.log(np.where(truth, proba, 1 - proba)).mean()


def test_sure_where_people_agree_on_presence_only():
    """Two coins call nearly everything settled on such a crowd; with degrees the claims are nearer to the truth."""
    votes, truth = tempting_crowd()
    hedged = AMCC().fit(votes)
    crisp = hedged._evidence(votes, hedged.label_prior_).unsoftened(0.0).reshape(truth.shape)
    coins = AMCC(without=["counts", "degrees"]).fit(votes).predict_proba()
    assert log_loss(truth, hedged.predict_proba()) < 0.8 * log_loss(truth, crisp)
    assert log_loss(truth, hedged.predict_proba()) < log_loss(truth, coins)
    share = MajorityVote().fit(votes).predict_proba()
    assert metrics.jaccard(truth, hedged.predict()) > metrics.jaccard(truth, share > 0.5) - 0.03
