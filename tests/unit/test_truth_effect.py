"""What known truth changed, and when it does not look like the truth of these votes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from amcc import AMCC, MajorityVote, Truth, Votes, load_model
from amcc.consensus.truth_effect import truth_effect
from amcc.truth import PairList


@pytest.fixture(scope="module")
def crowd():
    """Seven workers, right in nine of ten cases, about 60 items and 4 labels, of which one in four is present."""
    rng = np.random.default_rng(5)
    present = rng.random((60, 4)) < 0.25
    votes = np.where(rng.random((7, 60, 4)) < 0.9, present, ~present)
    return Votes.from_dense(np.where(votes, 1, -1), label_names=["a", "b", "c", "d"]), present


def told(votes: Votes, items, said) -> Truth:
    """A truth about all labels of these items, as `said` (n_items, n_labels) has it."""
    names = votes.item_names.cast("string"), votes.label_names.cast("string")
    known = np.zeros(said.shape, dtype=bool)
    known[items] = True
    lists = [np.nonzero(mask) for mask in (said & known, known)]
    pairs = [PairList(*(name.take(pa.array(code)) for name, code in zip(names, each, strict=True))) for each in lists]
    return Truth(pairs[0], known_pairs=pairs[1])


def effect_of(votes, truth, model=None):
    return truth_effect((model or MajorityVote()).fit(votes, truth=truth), votes)


def test_a_truth_that_fits_raises_no_suspicion(crowd):
    votes, present = crowd
    effect = effect_of(votes, told(votes, range(20), present))
    assert (effect.n_known, effect.n_others, effect.suspicion) == (80, 160, "")
    assert effect.agreement > 0.9
    assert truth_effect(MajorityVote().fit(votes), votes) is None


def test_pairs_on_which_everybody_is_contradicted_are_listed_clearest_first():
    """Item p: 5 yes, truth no. Item q: 3 no, truth yes. Item r: 2 yes, truth no, which is not clear. s: it agrees."""
    dense = np.array([[1, -1, 1, 1], [1, -1, 1, 1], [1, -1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0]])[:, :, None]
    votes = Votes.from_dense(dense, item_names=["p", "q", "r", "s"], label_names=["a"])
    said = np.array([False, True, False, True])[:, None]
    effect = effect_of(votes, told(votes, range(4), said))
    assert [vars(each) for each in effect.contradicted] == [
        {"item": "p", "label": "a", "present": False, "n_yes": 5, "n_no": 0},
        {"item": "q", "label": "a", "present": True, "n_yes": 0, "n_no": 3},
    ]
    assert (effect.n_known, effect.n_clear, effect.suspicion) == (4, 3, "")  # too few to suspect anything
    (sentence,) = (each for each in effect.sentences() if "contradicts" in each)
    assert "2 of 3 clear majorities" in sentence
    assert "item 'p', label 'a': the truth says no, 0 of 5 votes do" in sentence


@pytest.mark.parametrize(
    ("change", "guess"),
    [
        (lambda present: ~present, "yes and no may be exchanged"),
        (lambda present: np.roll(present, 1, axis=0), "no better than chance, so it may be about other items"),
        (lambda present: np.where(np.arange(4) == 2, ~present, present), "labels may be inverted, or exchanged"),
    ],
)  # fmt: skip
def test_a_truth_of_something_else_is_suspected(crowd, change, guess):
    votes, present = crowd
    effect = effect_of(votes, told(votes, range(20), change(present)))
    assert guess in effect.suspicion
    assert "believed all the same" in effect.suspicion
    assert effect.contradicted[0].sentence() in effect.suspicion
    assert effect.as_json()["suspicion"] == effect.suspicion


def test_what_changed_is_counted_against_a_fit_without_truth(crowd, tmp_path):
    """A truth by an expert to whom label a is never there, and all else is as it was."""
    votes, present = crowd
    strict = present & (np.arange(4) != 0)
    model = AMCC().fit(votes, truth=told(votes, range(30), strict))
    effect = truth_effect(model, votes)
    plain, known = AMCC().fit(votes), votes.pairs.item < 30
    flipped = (plain.pair_proba_ > 0.5) != (model.pair_proba_ > 0.5)
    assert effect.n_flipped == int(flipped[~known].sum()) > 0
    assert effect.labels[0].label == "a"
    assert effect.labels[0].odds < 0.7
    assert effect.calibration == model.calibration_.sentence() == effect.sentences()[0]
    model.save(tmp_path / "m")
    assert truth_effect(load_model(tmp_path / "m"), votes) == effect
