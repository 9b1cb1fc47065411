"""What known truth changed, and when it does not look like the truth of these votes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from amcc import AMCC, Truth, Votes, load_model
from amcc.consensus import MajorityVote
from amcc.consensus.calibration import Calibration
from amcc.consensus.truth_effect import (
    Contradiction,
    cohen_kappa,
    contradictions,
    labels_corrected,
    suspicion,
    truth_effect,
)
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


# -- single steps ----------------------------------------------------------------------------------------------------


def suspicion_of(against, label=None, agreement=0.9, names=("a", "b")):
    against = np.array(against, dtype=bool)
    label = np.zeros(len(against), int) if label is None else np.array(label)
    found = tuple(Contradiction("i", "a", True, 0, 5) for _ in range(int(against.sum())))
    return suspicion(label, against, agreement, list(names), found)


def test_few_pairs_raise_no_suspicion():
    assert suspicion_of([True] * 9) == ""  # nine clear pairs
    assert suspicion_of([True] * 2 + [False] * 18, agreement=0.0) == ""  # two contradictions
    assert suspicion_of([True] * 4 + [False] * 16) == ""  # a fifth, and not more
    assert suspicion_of([True] * 4 + [False] * 16, agreement=np.nan) == ""  # nothing is known about agreement


def test_the_plainest_explanation_comes_first():
    assert "yes and no may be exchanged" in suspicion_of([True] * 6 + [False] * 4)
    split = [True] * 4 + [False] * 6
    assert "exchanged with others: a." in suspicion_of(split, label=[0] * 4 + [1] * 6)
    spread = [0, 0, 1, 1] + [0] * 3 + [1] * 3
    assert "about other items" in suspicion_of(split, label=spread, agreement=0.1)
    assert "the crowd may share an error" in suspicion_of(split, label=spread)


def test_agreement_beyond_chance():
    yes, no = np.ones(4, bool), np.zeros(4, bool)
    assert np.isnan(cohen_kappa(yes, yes))
    assert np.isnan(cohen_kappa(np.empty(0, bool), np.empty(0, bool)))
    assert cohen_kappa(yes, no) == 0
    half = np.array([True, True, False, False])
    assert (cohen_kappa(half, half), cohen_kappa(half, ~half)) == (1, -1)


def test_labels_are_named_only_where_their_offsets_are_worth_telling():
    calibration = Calibration(0.0, 1.0, np.array([0.05, -0.4, 0.2, 0.3, 0.15]), 50)
    told = labels_corrected(calibration, list("abcde"))
    assert [each.label for each in told] == ["b", "d", "c"]
    assert told[0].odds == pytest.approx(np.exp(-0.4))
    assert labels_corrected(None, list("abcde")) == ()


def test_contradictions_keep_their_order_and_their_votes():
    votes = Votes.from_dense([[[1, -1]], [[1, -1]], [[-1, 0]]], item_names=["i"], label_names=["a", "b"])
    found = contradictions(votes, np.array([1, 0]), np.array([True, False]))
    assert [vars(each) for each in found] == [
        {"item": "i", "label": "b", "present": True, "n_yes": 0, "n_no": 2},
        {"item": "i", "label": "a", "present": False, "n_yes": 2, "n_no": 1},
    ]
