"""The paper's simulated workers: who learns from what, who answers what, and what spammers do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes, metrics
from amcc.consensus import MajorityVote
from amcc.data import simulated_workers as module
from amcc.data.feature_set import FeatureSet, read_npz
from amcc.data.simulated_workers import WorkerCrowd, cached_workers, simulate_workers, without_answers
from amcc.errors import InputError, ParameterError

HONEST = slice(0, 7)


@pytest.fixture(scope="module")
def feature_set() -> FeatureSet:
    """Sixty items with two of three labels on average, which show in three of five features; the last never changes."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(60, 5))
    features[:, 4] = 7
    truth = features[:, :3] + 0.3 * rng.normal(size=(60, 3)) > -0.5
    return FeatureSet(features, truth, tuple(f"i{number:02}" for number in range(60)), ("a", "b", "c"))


@pytest.fixture(scope="module")
def workers(feature_set) -> WorkerCrowd:
    return simulate_workers(feature_set, seed=0)


def test_names_truth_and_features_belong_together(feature_set, workers):
    crowd = workers
    row = [int(name[1:]) for name in crowd.votes.item_names.to_pylist()]
    assert len(set(row)) == 30
    assert_array_equal(crowd.truth, feature_set.truth[row])
    assert_array_equal(crowd.features, feature_set.features[row])
    assert crowd.votes.label_names.to_pylist() == ["a", "b", "c"]
    assert_array_equal(crowd.spammer, [False] * 7 + [True] * 6)
    assert crowd.votes.worker_names.to_pylist()[6:8] == ["ranksvm 30%", "uniform 1"]


def test_who_answers_what(workers):
    votes = workers.votes
    assert_array_equal(votes.answers_per_worker, [24] * 7 + [30] * 6)  # 80 % of the second half, and all of it
    assert len(votes) == votes.answers_per_worker.sum() * 3  # an answer speaks of all labels
    answered = [frozenset(votes.item[votes.worker == worker].tolist()) for worker in range(7)]
    assert len(set(answered)) > 1


def test_what_spammers_say(workers):
    dense = workers.votes.to_dense()
    given = dense[7:] > 0
    assert_array_equal(given.sum(axis=2), np.ones((6, 30)))
    assert_array_equal(given[:3].any(axis=1).sum(axis=1), [1, 1, 1])  # one label of their own
    assert_array_equal(given[3:].any(axis=1).sum(axis=1), [3, 3, 3])  # any label


def test_honest_workers_know_something_and_never_saw_the_answered_half(feature_set, monkeypatch):
    seen: list[set[bytes]] = []
    fit = module.RankSVM.fit

    def recorded(self, features, truth):
        seen.append({row.tobytes() for row in features})
        return fit(self, features, truth)

    monkeypatch.setattr(module.RankSVM, "fit", recorded)
    monkeypatch.setattr(module, "_standardised", lambda features, learned: features)
    crowd = simulate_workers(feature_set, seed=0)
    assert [len(rows) for rows in seen] == [27, 24, 21, 18, 15, 12, 9]
    assert not set.union(*seen) & {row.tobytes() for row in crowd.features}
    dense = crowd.votes.to_dense()[HONEST]
    right = (dense > 0) == crowd.truth
    assert right[dense != 0].mean() > 0.75


@pytest.mark.parametrize(("style", "n_given"), [("top_1", 1), ("cardinality", 2)])
def test_styles_that_give_a_fixed_number(feature_set, style, n_given):
    crowd = simulate_workers(feature_set, seed=0, style=style, spammers=False)
    dense = crowd.votes.to_dense()
    assert len(dense) == 7
    assert not crowd.spammer.any()
    given = (dense > 0).sum(axis=2)[(dense != 0).any(axis=2)]
    assert_array_equal(np.unique(given), [n_given])


def test_style_and_spammers_leave_the_rest_alone(feature_set, workers):
    base = workers
    other = simulate_workers(feature_set, seed=0, style="top_1")
    assert other.votes.item_names.equals(base.votes.item_names)
    assert_array_equal(other.votes.to_dense() != 0, base.votes.to_dense() != 0)
    alone = simulate_workers(feature_set, seed=0, spammers=False)
    assert_array_equal(alone.votes.to_dense(), base.votes.to_dense()[HONEST])


def test_seeds(feature_set, workers):
    assert simulate_workers(feature_set, seed=0).votes == workers.votes
    assert simulate_workers(feature_set, seed=1).votes != workers.votes


def test_impossible_wishes(feature_set):
    with pytest.raises(ParameterError, match="top_1"):
        simulate_workers(feature_set, seed=0, style="best")
    few = FeatureSet(np.ones((3, 1)), np.ones((3, 2), dtype=bool), ("a", "b", "c"), ("x", "y"))
    with pytest.raises(InputError, match="20 items"):
        simulate_workers(few, seed=0)


def test_feature_sets_must_fit_together():
    with pytest.raises(InputError, match="each of 2 items"):
        FeatureSet(np.ones((2, 1)), np.ones((3, 2), dtype=bool), ("a", "b"), ("x", "y"))
    with pytest.raises(InputError, match="same items"):
        FeatureSet(np.ones((3, 1)), np.ones((2, 2), dtype=bool), ("a", "b"), ("x", "y"))
    with pytest.raises(InputError, match="'b' has nan in column 1"):
        FeatureSet(np.array([[1, 1], [1, np.nan]]), np.ones((2, 2), dtype=bool), ("a", "b"), ("x", "y"))


# -- kept crowds ----------------------------------------------------------------------------------------------------


def test_kept_crowds_are_the_same(feature_set, workers, tmp_path, monkeypatch):
    fresh = workers
    first = cached_workers(feature_set, 0, tmp_path / "new" / "folder")
    monkeypatch.setattr(module, "_simulate", lambda *_: pytest.fail("it was kept"))
    again = cached_workers(feature_set, 0, tmp_path / "new" / "folder")
    for crowd in (first, again):
        assert crowd.votes == fresh.votes
        for field in ("truth", "features", "spammer"):
            assert_array_equal(getattr(crowd, field), getattr(fresh, field))
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 1


def test_other_wishes_are_kept_apart(feature_set, tmp_path):
    flipped = FeatureSet(feature_set.features, ~feature_set.truth, feature_set.item_names, feature_set.label_names)
    cached_workers(feature_set, 0, tmp_path)
    cached_workers(feature_set, 1, tmp_path)
    cached_workers(feature_set, 0, tmp_path, style="top_1")
    cached_workers(feature_set, 0, tmp_path, spammers=False)
    cached_workers(flipped, 0, tmp_path)
    assert len(list(tmp_path.iterdir())) == 5


# -- fewer answers --------------------------------------------------------------------------------------------------


def test_deleting_answers_by_hand():
    """Ten, ten and one answers: 30 % less is seven, seven, and the last one stays."""
    dense = np.ones((3, 10, 2), dtype=int)
    dense[2, 1:] = 0
    votes = Votes.from_dense(dense)
    fewer = without_answers(votes, 0.3, seed=0)
    assert_array_equal(fewer.answers_per_worker, [7, 7, 1])
    assert len(fewer) == 15 * 2  # whole answers
    assert fewer.n_items == 10
    assert fewer == without_answers(votes, 0.3, seed=0)
    assert fewer != without_answers(votes, 0.3, seed=1)
    assert without_answers(votes, 0, seed=0) == votes
    assert_array_equal(without_answers(votes, 1, seed=0).answers_per_worker, [1, 1, 1])


def test_a_larger_share_deletes_more_of_the_same(workers):
    few, fewer = (without_answers(workers.votes, share, seed=2).to_dense() != 0 for share in (0.2, 0.5))
    assert (few | ~fewer).all()
    assert_array_equal(fewer.any(axis=2).sum(axis=1), [12] * 7 + [15] * 6)


def test_silent_workers_stay_silent():
    dense = np.ones((2, 4, 1), dtype=int)
    dense[1] = 0
    assert_array_equal(without_answers(Votes.from_dense(dense), 0.5, seed=0).answers_per_worker, [2, 0])


def test_impossible_share(toy_votes):
    with pytest.raises(ParameterError, match=r"1\.5"):
        without_answers(toy_votes, 1.5, seed=0)


# -- real features --------------------------------------------------------------------------------------------------


def test_emotions_as_measured_elsewhere(shared_data):
    """Means of four seeds beside the specification's one: majority .747, .274, .739; workers' F1 .57."""
    emotions = read_npz(shared_data / "mulan_emotions" / "features.npz")
    found, worker_f1 = [], []
    for seed in range(4):
        crowd = simulate_workers(emotions, seed=seed)
        scores = MajorityVote().fit(crowd.votes).predict_proba()
        consensus = scores > 0.5
        found.append(
            [
                metrics.hamming(crowd.truth, consensus),
                metrics.jaccard(crowd.truth, consensus),
                1 - metrics.ranking_loss(crowd.truth, scores),
            ]
        )
        for answers in crowd.votes.to_dense()[HONEST]:
            answered = (answers != 0).any(axis=1)
            worker_f1.append(metrics.f1(crowd.truth[answered], answers[answered] > 0))
    assert_allclose(np.mean(found, axis=0), [0.747, 0.274, 0.739], rtol=0, atol=0.02)
    assert_allclose(np.mean(worker_f1), 0.57, rtol=0, atol=0.02)
