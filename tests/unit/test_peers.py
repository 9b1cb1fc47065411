"""What the board compares with: crowd-kit's models and the oracle."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes, metrics
from amcc.errors import MissingExtraError
from amcc.experiments import peers
from amcc.experiments.cells import TrueRates
from amcc.experiments.peers import PEERS, true_rates

# Three workers, three items, four labels: nobody was asked about the last item's first label, nor about the last
# label, and all say yes to the third.
VOTES = Votes.from_dense(
    [
        [[1, -1, 1, 0], [-1, 1, 1, 0], [0, -1, 1, 0]],
        [[1, -1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0]],
        [[-1, 1, 1, 0], [-1, 0, 1, 0], [0, -1, 1, 0]],
    ]
)


class ShareOfYes:
    """A model in crowd-kit's manner whose result is known."""

    def fit_predict_proba(self, frame):
        assert list(frame.columns) == ["task", "worker", "label"]
        # What crowd-kit's MACE needs: order of appearance is sorted order.
        assert frame["worker"].is_monotonic_increasing
        assert frame["label"].iloc[0] == 0
        assert set(frame["label"]) == {0, 1}
        share = frame.groupby("task")["label"].mean()
        return share.to_frame(1).assign(**{"0": 1 - share}).rename(columns={"0": 0})


def test_labels_are_taken_one_by_one():
    expected = [[2 / 3, 1 / 3, 1, 0], [1 / 3, 1, 1, 0], [3 / 6, 1 / 3, 1, 0]]
    assert_allclose(peers._label_by_label(VOTES, ShareOfYes), expected, rtol=1e-12)


def test_one_label():
    votes = Votes.from_dense([[[1], [-1]], [[1], [1]]])
    assert_allclose(peers._label_by_label(votes, ShareOfYes), [[1], [0.5]], rtol=1e-12)


@pytest.mark.parametrize("name", PEERS)
class TestCrowdkit:
    @pytest.fixture(autouse=True)
    def _needs_crowdkit(self):
        pytest.importorskip("crowdkit.aggregation", exc_type=ImportError)

    def test_gives_probabilities(self, name):
        proba = PEERS[name].proba(VOTES)
        assert proba.shape == (3, 4)
        assert ((proba >= 0) & (proba <= 1)).all()
        assert_array_equal(proba[:, 2:], [[1, 0]] * 3)
        assert proba[2, 0] == 0.5  # the share of yes among the votes on the label
        assert_array_equal(PEERS[name].proba(VOTES), proba)

    def test_finds_the_truth_of_a_good_crowd(self, name):
        rng = np.random.default_rng(0)
        truth = rng.random((60, 2)) < 0.4
        right = rng.random((8, 60, 2)) < 0.9
        votes = Votes.from_dense(np.where(right == truth, 1, -1))
        proba = PEERS[name].proba(votes)
        assert metrics.hamming(truth, proba > 0.5) > 0.97


@pytest.mark.filterwarnings("ignore")  # crowd-kit's own use of pandas
def test_dawid_skene_is_what_crowdkit_gives():
    kit = pytest.importorskip("crowdkit.aggregation", exc_type=ImportError)
    import pandas as pd

    rng = np.random.default_rng(1)
    votes = Votes.from_dense(rng.choice([-1, 1], (5, 30, 1), p=[0.6, 0.4]))
    frame = pd.DataFrame({"task": votes.item, "worker": votes.worker, "label": votes.value})
    direct = kit.DawidSkene().fit_predict_proba(frame)[1]
    assert_allclose(peers.crowdkit_ds(votes)[direct.index, 0], direct, rtol=0, atol=1e-9)


def test_restarts_of_mace_are_all_the_same():
    """Why one is enough; should crowd-kit change that, it gets its restarts back."""
    kit = pytest.importorskip("crowdkit.aggregation", exc_type=ImportError)

    rng = np.random.default_rng(1)
    votes = Votes.from_dense(rng.choice([-1, 1], (5, 10, 1)))
    several = peers._label_by_label(votes, lambda: kit.MACE(n_restarts=3))
    assert_array_equal(peers.crowdkit_mace(votes), several)


def test_absent_crowdkit(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'amcc\[bench\]'"):
        peers.crowdkit_ds(VOTES)


class FakeCrowdkit:
    """Its models, of which we see how they are made and in what order they are asked."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict]] = []

    def __getattr__(self, name):
        def make(**params):
            self.made.append((name, params))
            return ShareOfYes()

        return make


@pytest.mark.parametrize(
    ("peer", "model", "params"),
    [
        ("crowdkit-ds", "DawidSkene", {}),
        ("crowdkit-glad", "GLAD", {}),
        ("crowdkit-mace", "MACE", {"n_restarts": 1, "random_state": 0}),
    ],
)
def test_one_model_is_made_for_each_label_that_is_in_question(monkeypatch, peer, model, params):
    fake = FakeCrowdkit()
    monkeypatch.setattr(peers, "load_crowdkit", lambda: fake)
    proba = PEERS[peer].proba(VOTES)
    assert fake.made == [(model, params)] * 2  # all say yes to the third label, nobody was asked about the fourth
    assert_array_equal(proba[:, 2:], [[1, 0]] * 3)


def test_the_order_of_votes_does_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    dense = rng.choice([-1, 0, 1], (4, 6, 2)).astype(np.int8)
    dense[0, 0] = 1
    votes = Votes.from_dense(dense)
    order = rng.permutation(len(votes))
    shuffled = Votes.from_codes(
        votes.item[order], votes.worker[order], votes.label[order], votes.value[order],
        item_names=votes.item_names, worker_names=votes.worker_names, label_names=votes.label_names,
    )  # fmt: skip
    expected = peers._label_by_label(votes, ShareOfYes)
    assert_allclose(peers._label_by_label(shuffled, ShareOfYes), expected, rtol=1e-12)


def test_the_version_is_that_of_the_package(monkeypatch):
    monkeypatch.setattr(peers, "version", lambda name: f"{name} 9")
    assert peers.crowdkit_version() == "crowd-kit 9"


# -- the oracle -----------------------------------------------------------------------------------------------------


def test_oracle_by_hand():
    votes = Votes.from_dense([[[1]], [[-1]]])
    rates = TrueRates(np.array([[0.9], [0.6]]), np.array([[0.2], [0.3]]))
    # prior odds 1/3; a yes of the first weighs .9/.2, a no of the second .4/.7: odds 6/7, probability 6/13
    assert_allclose(true_rates(votes, rates, np.array([0.25])), [[6 / 13]], rtol=1e-12)


def test_oracle_hears_nothing_from_spammers_and_knows_what_nobody_was_asked():
    votes = Votes.from_dense([[[1, 0]], [[-1, 0]]])
    rates = TrueRates(np.array([[0.4, 0.5], [1.0, 0.5]]), np.array([[0.4, 0.5], [1.0, 0.5]]))
    assert_allclose(true_rates(votes, rates, np.array([0.25, 0.1])), [[0.25, 0.1]], rtol=1e-12)


def test_oracle_with_labels_that_are_never_or_always_there():
    votes = Votes.from_dense([[[1, -1]]])
    rates = TrueRates(np.full((1, 2), 0.9), np.full((1, 2), 0.1))
    assert_array_equal(true_rates(votes, rates, np.array([0.0, 1.0])), [[0, 1]])


def test_oracle_is_hard_to_beat(crowd):
    from amcc.consensus import DawidSkene

    rates = TrueRates(crowd.hit_rate, crowd.false_alarm_rate)
    oracle = true_rates(crowd.votes, rates, crowd.truth.mean(axis=0)) > 0.5
    learned = DawidSkene().fit(crowd.votes).predict()
    assert metrics.jaccard(crowd.truth, oracle) > metrics.jaccard(crowd.truth, learned)


def test_oracle_adds_up_what_all_workers_say():
    """Against Bayes' rule in probability space, vote by vote."""
    rng = np.random.default_rng(3)
    dense = rng.choice([-1, 0, 1], (5, 4, 3))
    votes = Votes.from_dense(dense)
    rates = TrueRates(rng.uniform(0.5, 0.95, (5, 3)), rng.uniform(0.05, 0.5, (5, 3)))
    prevalence = np.array([0.2, 0.5, 0.7])
    expected = np.empty((4, 3))
    for item, label in np.ndindex(4, 3):
        there, absent = prevalence[label], 1 - prevalence[label]
        for worker in range(5):
            if dense[worker, item, label]:
                hit, alarm = rates.hit[worker, label], rates.false_alarm[worker, label]
                yes = dense[worker, item, label] > 0
                there *= hit if yes else 1 - hit
                absent *= alarm if yes else 1 - alarm
        expected[item, label] = there / (there + absent)
    assert_allclose(true_rates(votes, rates, prevalence), expected, rtol=1e-10)


def test_oracle_believes_workers_who_never_err():
    votes = Votes.from_dense([[[1], [-1]]])
    rates = TrueRates(np.ones((1, 1)), np.zeros((1, 1)))
    assert_allclose(true_rates(votes, rates, np.array([0.5])), [[1], [0]], rtol=0, atol=1e-9)
