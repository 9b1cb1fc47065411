"""AMCC goes on from an earlier fit: nothing new, a few new votes, or too many."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from amcc import AMCC, Votes, load_model, metrics
from amcc.consensus.default.warm_start import UPDATE_ROUNDS, few_are_new, fingerprint, may_be_same
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import as_engine
from amcc.truth import Truth


def test_warm_start_goes_on_where_it_was(crowd):
    """With the votes in other words, so that they count as new."""
    model = AMCC(warm_start=True).fit(crowd.votes)
    rounds, proba = model.n_iter_, model.predict_proba()
    renamed = replace(crowd.votes, item_names=pa.array([f"another {i:05}" for i in range(crowd.votes.n_items)]))
    model.fit(renamed)
    assert model.n_iter_ <= UPDATE_ROUNDS < rounds
    assert np.abs(model.predict_proba() - proba).mean() < 0.01
    assert np.mean((model.predict_proba() > 0.5) == (proba > 0.5)) > 0.99


@pytest.fixture(scope="module")
def growing():
    """A crowd, and its votes without one in a hundred answers."""
    crowd = simulate_crowd(CrowdSpec.for_votes(20_000, seed=4))
    votes = crowd.votes
    late = np.random.default_rng(0).random((votes.n_items, votes.n_workers)) < 0.01
    return crowd, votes.select(~late[votes.item, votes.worker])


@pytest.fixture(scope="module")
def before(growing):
    return AMCC(warm_start=True).fit(growing[1])


def truth_of_some(crowd):
    """The truth about the first 20 items."""
    items, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    present = pd.DataFrame([(items[item], labels[label]) for item, label in np.argwhere(crowd.truth[:20])])
    return Truth.from_frames(
        present.set_axis(["item", "label"], axis=1), known_items=pd.DataFrame({"item": items[:20]})
    )


@pytest.mark.parametrize(("truth_known", "saved"), [(False, True), (False, False), (True, False), (True, True)])
def test_without_new_votes_nothing_changes(crowd, truth_known, saved, tmp_path):
    """Known truth belongs to what is new or not."""
    votes = crowd.votes
    truth = truth_of_some(crowd) if truth_known else None
    model = AMCC(warm_start=True).fit(votes, truth=truth)
    before = copy.deepcopy((model.predict_proba(), model.pairs(), model.workers("arrow"), model.label_prior_))
    if saved:
        model.save(tmp_path / "model.amcc")
        model = load_model(tmp_path / "model.amcc")
    model.fit(Votes.from_frame(votes.to_pandas().sample(frac=1, random_state=0)), truth=truth)
    after = model.predict_proba(), model.pairs(), model.workers("arrow"), model.label_prior_
    assert_array_equal(after[0], before[0])
    assert after[1].equals(before[1])
    assert after[2].equals(before[2])
    assert_array_equal(after[3], before[3])


@pytest.mark.parametrize(
    "other",
    [
        lambda votes: (votes.select(np.arange(len(votes)) > 0), {}),
        lambda votes: (replace(votes, value=np.where(np.arange(len(votes)) == 7, -votes.value, votes.value)), {}),
        lambda votes: (replace(votes, worker_names=votes.worker_names.take(np.roll(np.arange(25), 1))), {}),
        lambda votes: (votes, {"tol": 1e-6}),
    ],
    ids=["a vote less", "a vote the other way", "other workers", "other settings"],
)
def test_anything_new_is_noticed(crowd, other):
    model = AMCC(warm_start=True).fit(crowd.votes)
    before = model.predict_proba()
    votes, settings = other(crowd.votes)
    assert not np.array_equal(model.set_params(**settings).fit(votes).predict_proba(), before)


def test_few_new_votes_need_few_rounds(growing, before):
    """Little is done, most of it is kept, and the result is about that of a whole fit."""
    crowd, _ = growing
    model = copy.copy(before).fit(crowd.votes)
    whole = AMCC().fit(crowd.votes)
    assert len(model.objective_history_) == model.n_iter_ <= UPDATE_ROUNDS < whole.n_iter_
    assert (model.trust_, model.n_votes_) == (before.trust_, before.n_votes_)
    assert len(model.pair_proba_) == len(crowd.votes.pairs)
    assert np.sqrt(np.mean((model.pair_proba_ - whole.pair_proba_) ** 2)) < 0.03
    assert np.mean((model.pair_proba_ > 0.5) != (whole.pair_proba_ > 0.5)) < 0.01
    assert metrics.jaccard(crowd.truth, model.predict()) > metrics.jaccard(crowd.truth, whole.predict()) - 0.01


def test_new_votes_count(growing, before):
    """An item about which everybody changes their mind is judged anew, though workers hardly are."""
    votes = growing[1]
    told = replace(votes, value=np.where(votes.item == 3, -votes.value, votes.value).astype(np.int8))
    model = copy.copy(before).fit(told)
    changed = (model.predict() != before.predict()).any(axis=1)
    assert changed[3]
    assert changed.mean() < 0.1


@pytest.mark.parametrize("without", [[], ["correlation"]], ids=str)
def test_a_saved_model_goes_on_alike(growing, tmp_path, without):
    crowd, votes = growing
    model = AMCC(warm_start=True, without=without).fit(votes)
    model.save(tmp_path / "model.amcc")
    loaded = load_model(tmp_path / "model.amcc").fit(crowd.votes)
    assert loaded.n_iter_ <= UPDATE_ROUNDS
    assert_array_equal(loaded.predict_proba(), model.fit(crowd.votes).predict_proba())


def test_many_new_votes_or_fewer_votes_need_a_fit(growing, before):
    crowd, _ = growing
    for share in (0.8, 1.2):
        model = copy.copy(before)
        model.n_votes_ = round(len(crowd.votes) * share)
        assert model.fit(crowd.votes).n_votes_ == len(crowd.votes)
        assert model.n_iter_ > UPDATE_ROUNDS


def test_newcomers_among_the_new_votes(growing, before):
    """A new item, worker and label."""
    votes = growing[1]
    frame = votes.to_pandas()
    label = votes.label_names[0].as_py()
    new = pd.DataFrame({"item": "new item", "worker": "new worker", "label": [label, "new label"], "value": 1})
    grown = Votes.from_frame(pd.concat([frame[list(new)].astype({name: str for name in new if name != "value"}), new]))
    model = copy.copy(before).fit(grown)
    assert model.n_iter_ <= UPDATE_ROUNDS
    proba = model.predict_proba()
    assert proba.shape == (votes.n_items + 1, votes.n_labels + 1)
    assert np.isfinite(proba).all()


def test_fingerprints(crowd):
    """Weights and settings belong to them, `warm_start` does not; the number of votes stands first."""
    engine, params = as_engine(crowd.votes), AMCC().get_params()
    plain = fingerprint(engine, params, None)
    assert may_be_same(plain, engine)
    assert not may_be_same("", engine)
    assert fingerprint(engine, {**params, "warm_start": True}, None) == plain
    weights = np.full(25, 0.5)
    told = [fingerprint(engine, params, each) for each in (weights, weights + 1e-12, weights + 1e-3)]
    assert told[0] == told[1]
    assert len({plain, *told, fingerprint(engine, {**params, "n_groups": 4}, None)}) == 4


@pytest.mark.parametrize(
    ("n_before", "now", "few"), [(100, 100, True), (100, 109, True), (100, 111, False), (9, 8, False)]
)
def test_how_many_votes_are_few(n_before, now, few):
    assert few_are_new(n_before, now) is few


def test_samples_are_judged_as_one_vote_after_a_fit_that_found_nothing_new():
    """Several samples of one judge: workers are judged by whole votes, whether the fit had anything to do or not."""
    rng = np.random.default_rng(0)
    rows = [
        (f"i{item}", f"w{worker}", f"l{label}", 1 if rng.random() < 0.5 else -1, sample)
        for item in range(30) for worker in range(4) for label in range(2) for sample in range(3)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["item", "worker", "label", "value", "sample"])
    votes = Votes.from_frame(frame)
    assert votes.reading.samples
    model = AMCC(warm_start=True).fit(votes)
    once = copy.deepcopy(model).workers("arrow")
    assert model.fit(votes).workers("arrow").equals(once)
