"""What every consensus model must satisfy. A new model joins by its name in METHODS.

Every test takes `make`, which makes a model: `test_mutants.py` hands wrong ones to the same tests.
"""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import amcc
from amcc import Truth, Votes, load_model
from amcc.consensus import METHODS, ConsensusModel
from amcc.consensus.models.paper import PaperAMCC
from amcc.consensus.settling import SETTLED_ERROR
from amcc.engine.base import InMemory
from amcc.errors import FileFormatError, NotFittedError, ParameterError, TooLargeError
from amcc.votes import Description

pytestmark = pytest.mark.parametrize("method", METHODS)
EXACT = {"rtol": 0, "atol": 1e-9}  # two routes to the same result; sums may run in another order
ONE_LABEL = "D8: eq6 as printed names one label per item, so the shares of all sum to one"
LOW_RANK = "a low-rank matrix cannot hold every set of labels, not even of one worker"
NOES_IGNORED = "D8: eq6 as printed counts yes-votes only"
OPPOSITES = "D14: with two items and opposite labels, the printed Laplacian is negative and outweighs the data"
BY_COUNT = "a majority does not weigh who voted, so what is known about workers does not change it"
CANNOT = {
    ("amcc-printed", "test_one_worker_is_believed"): ONE_LABEL,
    ("amcc-printed", "test_half_of_the_labels_unasked_still_works"): ONE_LABEL,
    ("amcc-printed", "test_probabilities_and_better_than_chance"): ONE_LABEL,
    ("amcc-printed", "test_unasked_is_not_absent"): NOES_IGNORED,
    ("amcc-printed", "test_known_truth_teaches_the_consensus"): ONE_LABEL,
    ("amcc-printed", "test_label_nobody_gave"): OPPOSITES,
    ("amcc-printed", "test_crowd_kit_habits"): OPPOSITES,
    ("majority", "test_known_truth_teaches_the_consensus"): BY_COUNT,
    ("ml-jmf", "test_one_worker_is_believed"): LOW_RANK,
    ("ml-jmf", "test_half_of_the_labels_unasked_still_works"): LOW_RANK,
}
Make = Callable[[], ConsensusModel]


@pytest.fixture(autouse=True)
def excused(request, method):
    """What a method cannot do by its nature is expected to fail."""
    if reason := CANNOT.get((method, request.function.__name__)):
        request.applymarker(pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True))


@pytest.fixture
def make(method) -> Make:
    return METHODS[method]


def shuffled_table(votes: Votes, seed: int = 0) -> pa.Table:
    return votes.to_arrow().take(np.random.default_rng(seed).permutation(len(votes)))


CODES = ("item", "worker", "label", "value")


def test_order_of_votes_does_not_matter(make, small, learned_small):
    """Tables as users hand them over, for within `Votes` the order is always the same."""
    model = make().fit(shuffled_table(small.votes))
    assert_allclose(model.predict_proba(), learned_small(make).predict_proba(), **EXACT)


@pytest.mark.parametrize("role", ["item", "worker", "label"])
def test_names_do_not_matter(make, small, learned_small, role):
    """Renamed so that the sorted order of the names is reversed: only rows and columns move."""
    table = small.votes.to_arrow()
    names = getattr(small.votes, f"{role}_names")
    renamed = pa.array([f"z{len(names) - code:05d}" for code in range(len(names))])
    codes = pa.array(getattr(small.votes, role))
    column = table.column_names.index(role)
    votes = Votes.from_frame(table.set_column(column, role, renamed.take(codes)))
    proba, expected = make().fit(votes).predict_proba(), learned_small(make).predict_proba()
    order = (slice(None, None, -1) if role == "item" else slice(None), slice(None, None, -1 if role == "label" else 1))
    assert_allclose(proba[order], expected, **EXACT)


def test_unasked_is_not_absent(make, half_asked):
    """Half of the silent workers of ten pairs say no instead: it becomes less likely, which silence did not do."""
    silent = Votes.from_dense(half_asked)
    yes = np.argwhere((half_asked > 0).sum(axis=0) == 2)[-10:]
    item, label = yes.T
    dense = half_asked.copy()
    for worker in range(0, 8, 2):
        dense[worker, item, label] = np.where(dense[worker, item, label] == 0, -1, dense[worker, item, label])
    before, after = (make().fit(votes).predict_proba()[item, label] for votes in (silent, Votes.from_dense(dense)))
    assert after.mean() < before.mean() - 0.05  # to who reads silence as no, little is new: .015


def test_half_of_the_labels_unasked_still_works(make, half_asked):
    """Where all three who were asked agree, they are right, though five others answered the item and were not asked."""
    model = make().fit(Votes.from_dense(half_asked))
    asked_three = (half_asked != 0).sum(axis=0) == 3
    present = model.predict()[asked_three]
    n_yes = (half_asked > 0).sum(axis=0)[asked_three]
    assert present[n_yes == 3].mean() > 0.9
    assert present[n_yes == 0].mean() < 0.1


@pytest.mark.parametrize(
    "dense",
    [
        [[[1, -1], [-1, -1], [1, 1]]],  # one worker
        [[[1, -1]], [[1, 1]], [[-1, -1]]],  # one item
        [[[1], [-1]], [[1], [-1]], [[-1], [-1]]],  # one label
    ],
    ids=["one worker", "one item", "one label"],
)
def test_tiny_inputs(make, dense):
    votes = Votes.from_dense(dense)
    model = make().fit(votes)
    assert_probabilities(model.predict_proba(), (votes.n_items, votes.n_labels))
    assert len(model.workers()) == votes.n_workers
    assert isinstance(votes.describe(), Description)


def test_names_may_be_numbers(make):
    names = {"item_names": [2, 10], "worker_names": [1, 3], "label_names": [7, 8]}
    votes = Votes.from_dense([[[1, -1], [-1, 1]]] * 2, **names)
    try:
        model = make().fit(votes)
    except (AttributeError, TypeError) as error:
        raise AssertionError("names that are numbers are not welcome") from error
    assert model.sets()["item"].to_list() == [2, 10]
    assert_probabilities(model.predict_proba(), (2, 2))


def test_one_worker_is_believed(make):
    """The consensus is what the only worker says: nobody contradicts them."""
    dense = np.where(np.random.default_rng(0).random((1, 40, 4)) < 0.3, 1, -1)
    assert_array_equal(make().fit(Votes.from_dense(dense)).predict(), dense[0] > 0)


def test_label_nobody_gave(make, toy_votes):
    dense = np.concatenate([toy_votes.to_dense(), -np.ones((3, 2, 1))], axis=2)
    model = make().fit(Votes.from_dense(dense))
    assert_probabilities(model.predict_proba(), (2, 3))
    assert not model.predict()[:, 2].any()


def test_label_nobody_was_asked_about(make, toy_votes):
    dense = np.concatenate([toy_votes.to_dense(), np.zeros((3, 2, 1))], axis=2)
    model = make().fit(Votes.from_dense(dense))
    assert_probabilities(model.predict_proba(), (2, 3))
    assert len(model.pair_proba_) == 4


def test_item_nobody_answered_gets_the_prior_and_a_flag(make, toy_votes, learned_toy):
    dense = np.concatenate([toy_votes.to_dense(), np.zeros((3, 1, 2))], axis=1)
    model = make().fit(Votes.from_dense(dense))
    assert_array_equal(model.item_answered_, [True, True, False])
    assert_array_equal(model.predict_proba()[2], model.label_prior_)
    assert_allclose(model.predict_proba()[:2], learned_toy(make).predict_proba(), **EXACT)
    assert len(model.pairs()) == 4
    assert len(model.pairs(all_labels=True)) == 6
    assert len(model.sets()) == 3


def test_worker_without_votes(make, toy_votes):
    dense = np.concatenate([toy_votes.to_dense(), np.zeros((1, 2, 2))], axis=0)
    workers = make().fit(Votes.from_dense(dense)).workers()
    assert workers["answers"].tolist() == [2, 2, 2, 0]
    assert np.isfinite(workers["informativeness"]).all()


def test_input_is_unchanged(make, small):
    votes = replace(small.votes, **{name: getattr(small.votes, name).copy() for name in CODES})
    model = make()
    params = model.get_params()
    model.fit(votes)
    for name in CODES:
        assert_array_equal(getattr(votes, name), getattr(small.votes, name))
    assert model.get_params() == params


def test_same_seed_same_result(make, small, learned_small):
    """Whatever else was drawn in the meantime; and what others draw does not depend on the fit."""
    expected = learned_small(make).predict_proba()
    np.random.seed(7)  # noqa: NPY002
    assert_array_equal(make().fit(small.votes).predict_proba(), expected)
    drawn = np.random.random()  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    assert drawn == np.random.random()  # noqa: NPY002


def test_a_second_fit_forgets_the_first(make, small, learned_small, toy_votes):
    model = make().fit(toy_votes).fit(small.votes)
    assert_array_equal(model.predict_proba(), learned_small(make).predict_proba())


def test_probabilities_and_better_than_chance(make, crowd, learned):
    from amcc import metrics

    model = learned(make)
    assert_probabilities(model.predict_proba(), crowd.truth.shape)
    assert metrics.jaccard(crowd.truth, model.predict()) > 0.5


def thousand_labels_six_asked() -> Votes:
    rng = np.random.default_rng(0)
    n_items, n_labels, n_workers = 150, 1000, 150
    item = np.repeat(np.arange(n_items), 6 * 3)
    label = np.repeat(rng.integers(n_labels, size=(n_items, 6)), 3, axis=1).ravel()
    worker = np.tile(rng.integers(n_workers, size=(n_items, 3)), 6).ravel()
    value = np.where(worker % 7 == label % 7, 1, -1)
    return Votes.from_frame(pa.table({"item": item, "label": label, "worker": worker, "value": value}))


def test_thousand_labels_six_asked(make):
    """Memory follows the votes, not items × labels × workers (here 22 million cells), or the input is refused."""
    votes = thousand_labels_six_asked()
    if make is METHODS["amcc"]:
        make().fit(votes)  # compiling its loops takes memory once
    tracemalloc.start()
    try:
        if isinstance(make(), PaperAMCC):
            with pytest.raises(TooLargeError, match="Use AMCC"):
                make().fit(votes)
        else:
            model = make().fit(votes)
            model.pairs(frame="arrow"), model.workers(frame="arrow")
            assert len(model.pair_proba_) == len(votes.pairs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6  # label correlation takes three times labels² (24 MB); items × labels × workers would be 180 MB


def test_known_truth_is_kept_and_teaches(make, collusion):
    """Pairs with known truth keep it, and who agrees with it is judged better than who does not."""
    votes, truth, known = collusion
    model = make().fit(votes, truth=known)
    assert_array_equal(model.predict_proba()[:40], truth[:40])
    informativeness = model.workers()["informativeness"]
    assert informativeness[:2].min() > informativeness[2:].max() + 0.3
    assert model.pairs()["settled"].to_numpy()[: 40 * 3].all()


def test_known_truth_teaches_the_consensus(make, collusion):
    """On the other items, the honest are believed, though they are outvoted."""
    votes, truth, known = collusion
    assert np.mean(make().fit(votes, truth=known).predict()[40:] == truth[40:]) > 0.7  # without truth: .55


TINY = {
    "one yes": ([1], "present", False),
    "one no": ([-1], "absent", False),
    "one yes, one no": ([1, -1], "either", False),
    "two yes": ([1, 1], "present", None),
    "two yes, one no": ([1, 1, -1], "present", None),
    "three yes": ([1, 1, 1], "present", None),
    "three no": ([-1, -1, -1], "absent", None),
}
"""Votes on the only pair, what it must be, and whether it is settled (None: if the model is sure enough)."""


def test_truth_of_an_earlier_fit_is_forgotten(make, small):
    """In memory and in blocks: a fit without truth gives what a new model gives."""
    label = pa.array([small.votes.label_names[0].as_py()] * 6)
    truth = Truth.from_frames(pa.table({"item": small.votes.item_names[:6], "label": label}))
    fresh, told = make().fit(small.votes), make().fit(small.votes, truth=truth)
    assert_allclose(told.fit(small.votes).pair_proba_, fresh.pair_proba_, **EXACT)
    if fresh.learns_in_blocks:
        told.fit(small.votes, truth=truth).fit(InMemory(small.votes))
        assert_allclose(told.applied_to(small.votes).pair_proba_, fresh.pair_proba_, **EXACT)


@pytest.mark.parametrize("case", TINY)
def test_few_votes_settle_nothing(make, case):
    votes, expected, may_settle = TINY[case]
    model = make().fit(Votes.from_dense(np.array(votes)[:, None, None]))
    assert len(model.workers()) == len(votes)
    (row,) = model.pairs(frame="arrow").to_pylist()
    if expected == "present":
        assert row["probability"] > 0.5
    if expected == "absent":
        assert row["probability"] <= 0.5
    if may_settle is None:
        assert row["settled"] == (abs(row["probability"] - 0.5) >= 0.5 - SETTLED_ERROR)
    else:
        assert row["settled"] == may_settle


def test_new_votes_are_judged_by_learned_workers(make, crowd, learned):
    model = learned(make)
    again = crowd.votes.select(crowd.votes.item < 50)
    assert_allclose(model.predict_proba(again)[:50], model.predict_proba()[:50], rtol=0, atol=1e-3)
    strangers = Votes.from_dense([[[1, -1]], [[1, -1]]], worker_names=["new 1", "new 2"], label_names=["x", "y"])
    proba = model.predict_proba(strangers)
    assert_probabilities(proba, (1, 2))
    assert proba[0, 0] > proba[0, 1]


def test_workers_table(make, crowd, learned):
    workers = learned(make).workers()
    assert workers["worker"].tolist() == crowd.votes.worker_names.to_pylist()
    assert workers["answers"].tolist() == crowd.votes.answers_per_worker.tolist()
    for rate in ("hit_rate", "false_alarm_rate"):
        assert (workers[f"{rate}_low"] <= workers[rate]).all()
        assert (workers[rate] <= workers[f"{rate}_high"]).all()
        assert workers[[f"{rate}_low", f"{rate}_high"]].stack().between(0, 1).all()
    assert_allclose(workers["informativeness"], workers["hit_rate"] - workers["false_alarm_rate"], **EXACT)
    assert {"group", "weight"} <= set(workers.columns)


def test_spammers_are_the_least_informative(make, crowd, learned):
    workers = learned(make).workers()
    spammer = np.char.endswith(crowd.worker_kind, "spammer")
    assert workers["informativeness"][spammer].max() < workers["informativeness"][~spammer].median()


def test_frames_in_all_flavours(make, learned_toy):
    model = learned_toy(make)
    expected = model.workers(frame="arrow").to_pylist()
    assert model.workers(frame="polars").to_dicts() == expected
    assert model.workers()["worker"].tolist() == [row["worker"] for row in expected]
    with pytest.raises(ParameterError, match="frame must be"):
        model.workers(frame="excel")


def test_crowd_kit_habits(make, toy_votes):
    model = make()
    series = model.fit_predict(toy_votes.to_pandas())
    assert series.name == "agg_label"
    assert series.to_dict() == {"i1": ["l1"], "i2": ["l2"]}
    frame = make().fit_predict_proba(toy_votes)
    assert frame.shape == (2, 2)
    assert frame.loc["i1", "l1"] > 0.5 > frame.loc["i1", "l2"]
    assert model.skills_.index.tolist() == ["w1", "w2", "w3"]


def test_scikit_learn_habits(make):
    model = make()
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(model) if name.endswith("_")]
    assert repr(type(model)()) == f"{type(model).__name__}()"
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        model.set_params(nonsense=1)


def test_instances_share_no_state(make, small, toy_votes):
    """Another object learns from other votes: this one answers as before, also about votes that it has not seen."""
    strangers = Votes.from_dense(
        [[[1, -1]], [[1, 1]]], worker_names=["x", "y"], label_names=small.votes.label_names[:2]
    )
    first = make().fit(small.votes)
    before = first.predict_proba().copy(), first.predict_proba(strangers)
    make().fit(toy_votes)
    assert_array_equal(first.predict_proba(), before[0])
    assert_array_equal(first.predict_proba(strangers), before[1])


def test_asking_before_fitting(make):
    for ask in ("predict", "predict_proba", "workers", "pairs", "sets"):
        with pytest.raises(NotFittedError, match="call fit"):
            getattr(make(), ask)()


def test_bad_features(make, toy_votes):
    """Those who use features refuse bad ones, the others all."""
    matters = make().uses_features
    with pytest.raises(ParameterError, match=r"one row per item \(2\)" if matters else "does not use features"):
        make().fit(toy_votes, features=np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="row 1, column 0" if matters else "does not use features"):
        make().fit(toy_votes, features=[[0.0], [np.nan]])


def test_features_matter_to_who_takes_them(make, small):
    if make().uses_features:
        described, plain = (make().fit(small.votes, each).predict_proba() for each in (small.truth.astype(float), None))
        assert np.abs(described - plain).max() > 0.01


def test_save_and_load(make, crowd, learned, tmp_path):
    model = learned(make)
    path = tmp_path / "model.amcc"
    model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.amcc"]
    for loaded in (load_model(path), type(model).load(path)):
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert_array_equal(loaded.predict_proba(), model.predict_proba())
        assert_array_equal(loaded.predict_proba(crowd.votes), model.predict_proba(crowd.votes))
        assert loaded.workers().equals(model.workers())
        assert loaded.objective_history_ == model.objective_history_


def test_whole_number_names_survive_saving(make, tmp_path):
    model = make().fit(Votes.from_dense([[[1, -1]]], item_names=[500], worker_names=[7], label_names=["a", "b"]))
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").pairs().equals(model.pairs())


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "future", "other"])
def test_loading_what_is_not_a_model(make, learned_toy, tmp_path, damage):
    path = tmp_path / "model.amcc"
    learned_toy(make).save(path)
    content = path.read_bytes()
    if damage == "future":
        arrays = dict(np.load(path))
        meta = {**json.loads(arrays["meta"].tobytes()), "format": 99}
        np.savez(tmp_path / "x.npz", **{**arrays, "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)})
        content = (tmp_path / "x.npz").read_bytes()
    elif damage == "other":
        with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
            archive.writestr("hello.txt", "hello")
        content = (tmp_path / "z.zip").read_bytes()
    path.write_bytes({"empty": b"", "text": b"hello", "cut": content[: len(content) // 2]}.get(damage, content))
    with pytest.raises(FileFormatError, match=r"format 99|not a model|hello"):
        load_model(path)


def test_model_files_hold_no_pickle(make, learned_toy, tmp_path):
    learned_toy(make).save(tmp_path / "model.amcc")
    with np.load(tmp_path / "model.amcc", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_bad_votes_are_refused(make):
    with pytest.raises(ParameterError, match="pandas, polars or Arrow"):
        make().fit([1, 2, 3])


def test_public_names_are_documented(make):
    assert type(make()).__doc__
    assert all(hasattr(amcc, name) for name in amcc.__all__)


def assert_probabilities(proba, shape):
    assert proba.shape == shape
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    assert (proba <= 1).all()
