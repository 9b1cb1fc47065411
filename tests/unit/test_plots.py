"""What pictures show: the numbers on their axes, and not how they look."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from amcc import AMCC, Votes, metrics
from amcc.active import Curve, Replay, plot_replay
from amcc.consensus import MajorityVote
from amcc.consensus.workers import likely_spammers
from amcc.data import CrowdSpec, simulate_crowd
from amcc.errors import EmptyInputError, MissingExtraError, NotFittedError, ParameterError
from amcc.truth import PairList, Truth

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(CrowdSpec(n_items=200, n_workers=25, n_labels=6, spammers=0.2, seed=3))


@pytest.fixture(scope="module")
def truth(crowd):
    votes, (item, label) = crowd.votes, np.nonzero(crowd.truth)
    true = pa.table({"item": votes.item_names.take(pa.array(item)), "label": votes.label_names.take(pa.array(label))})
    return Truth.from_frames(true, unmentioned="absent")


@pytest.fixture(scope="module")
def model(crowd):
    return AMCC().fit(crowd.votes)


def dots(ax):
    """Places of all dots of scatter plots, in no order."""
    return np.concatenate([np.asarray(each.get_offsets()) for each in ax.collections if len(each.get_offsets())])


def ascending(points):
    return np.asarray(points)[np.lexsort(np.transpose(points))]


def test_every_worker_who_answered_is_a_dot(model):
    rates = model.worker_rates_
    ax = model.plot_workers()
    expected = np.column_stack([rates.false_alarm_rate, rates.hit_rate])[rates.answers > 0]
    np.testing.assert_allclose(ascending(dots(ax)), ascending(expected))
    assert ax.get_title("left") == f"25 workers, {likely_spammers(rates).sum()} likely spammers"


def test_spammers_are_named_and_have_another_shape(model):
    spammers = likely_spammers(model.worker_rates_)
    assert spammers.any()
    ax = model.plot_workers()
    words = {text.get_text() for text in ax.texts}
    assert {str(name) for name in model.skills_.index[spammers]} <= words
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["informative or unclear", "likely spammer"]
    informative, crosses = (each for each in ax.collections if len(each.get_offsets()))
    assert (len(informative.get_offsets()), len(crosses.get_offsets())) == ((~spammers).sum(), spammers.sum())


def test_three_workers_all_have_their_names():
    votes = Votes.from_dense(np.array([[[1], [-1], [1]], [[1], [-1], [1]], [[1], [1], [-1]]]), worker_names=list("abc"))
    ax = AMCC().fit(votes).plot_workers()
    assert {"a", "b", "c"} <= {text.get_text() for text in ax.texts}
    assert ax.get_legend() is None  # nobody to tell apart


def test_thousands_of_workers_are_drawn_without_names():
    rng = np.random.default_rng(0)
    value = np.where(rng.random((3000, 4)) < 0.5, 1, -1)
    worker, item = np.divmod(np.arange(12_000), 4)
    names = {"item_names": range(1000), "worker_names": range(3000), "label_names": ["x"]}
    votes = Votes.from_codes((worker + item * 7) % 1000, worker, np.zeros(12_000, int), value.ravel(), **names)
    ax = MajorityVote().fit(votes).plot_workers()
    assert len(dots(ax)) == 3000
    assert len(ax.texts) == 1  # that of the diagonal


def test_workers_without_an_answer_are_left_out(crowd):
    votes = crowd.votes.select(crowd.votes.worker != 3)
    assert len(dots(AMCC().fit(votes).plot_workers())) == 24


def test_labels_are_bars_and_votes_are_ticks(crowd, model):
    ax = model.plot_labels()
    share = 100 * model.items_per_label() / crowd.votes.n_items
    order = np.argsort(-share, kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], share[order])
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(model.label_names_[i]) for i in order]
    raw = [label.yes_share for label in crowd.votes.describe(n_boot=1).by_label]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 100 * np.array(raw)[order])


def test_labels_can_be_drawn_without_votes(crowd, model, tmp_path):
    from amcc import load_model

    model.save(tmp_path / "model.amcc")
    ax = load_model(tmp_path / "model.amcc").plot_labels()
    assert len(ax.patches) == 6 and not ax.lines


def test_a_thousand_labels_become_the_most_frequent_ones():
    value = np.where(np.arange(1000) % 3 == 0, 1, -1)[None, None, :].repeat(2, axis=0)
    model = MajorityVote().fit(Votes.from_dense(value))
    ax = model.plot_labels(most=12)
    assert len(ax.patches) == 12
    assert ax.get_legend().get_title().get_text() == "The 12 most frequent of 1,000 labels"
    with pytest.raises(ParameterError, match="most must be at least 1"):
        model.plot_labels(most=0)


def test_calibration_is_the_reliability_curve(crowd, truth, model):
    ax = model.plot_calibration(truth)
    true, known = truth.matrices(crowd.votes.item_names, crowd.votes.label_names)
    asked = np.zeros_like(known)
    asked[model.pair_item_, model.pair_label_] = True
    curve = metrics.reliability_curve(true, model.predict_proba(), known & asked)
    line = next(line for line in ax.lines if len(line.get_xdata()) == len(curve.count) > 2)
    np.testing.assert_allclose(line.get_xydata(), np.column_stack([curve.mean_predicted, curve.observed_share]))
    assert ax.get_title("left").startswith(f"{curve.count.sum():,} pairs")


def test_calibration_leaves_out_what_the_model_was_told(crowd, truth):
    item = truth.positives.item
    known = crowd.votes.item_names.slice(0, 50).cast(item.type)
    told = Truth(truth.positives, known_items=known)
    model = AMCC().fit(crowd.votes, truth=told)
    n_told = int(model.pair_known_.sum())
    assert n_told
    title = model.plot_calibration(truth).get_title("left")
    assert title.startswith(f"{len(model.pair_known_) - n_told:,} pairs")
    with pytest.raises(EmptyInputError, match="was not told"):
        model.plot_calibration(told)


def test_calibration_refuses_the_truth_of_something_else(model):
    other = Truth(PairList(pa.array(["elsewhere"]), pa.array(["x"])))
    with pytest.raises(EmptyInputError, match="must name items"):
        model.plot_calibration(other)


def test_groups_show_their_mean_rates(model):
    ax = model.plot_groups()
    groups = [group for group in model.groups(frame="arrow").to_pylist() if group["workers"]]
    means = {line.get_label(): line.get_xdata() for line in ax.lines if not line.get_label().startswith("_")}
    np.testing.assert_allclose(means["hit rate"], [100 * group["hit_rate"] for group in groups])
    np.testing.assert_allclose(means["false-alarm rate"], [100 * group["false_alarm_rate"] for group in groups])
    assert len(ax.get_yticklabels()) == len(groups)


def test_replays_show_the_mean_of_their_runs():
    share = np.array([0.1, 0.5, 1.0])
    runs = [Curve(share, share, np.array(each), end="all") for each in ([0.5, 0.7, 0.8], [0.7, 0.9, 0.8])]
    ax = plot_replay({"voi": Replay(runs, [0.8, 0.8]), "uniform": Replay(runs[:1], [0.8])})
    mean = ax.lines[0]
    np.testing.assert_allclose(
        np.interp([10, 50, 100], mean.get_xdata(), mean.get_ydata()), [0.6, 0.8, 0.8], atol=0.002
    )  # of 101 places, none is at 50 %
    assert any("voi: " in text.get_text() for text in ax.texts)
    with pytest.raises(ParameterError, match="strategies to draw; got 0"):
        plot_replay({})


@pytest.mark.parametrize("picture", ["plot_workers", "plot_labels", "plot_groups"])
def test_pictures_are_drawn_where_they_are_wanted(model, picture):
    _, axes = plt.subplots(1, 2)
    assert getattr(model, picture)(ax=axes[1]) is axes[1]
    assert not axes[0].has_data() and axes[1].has_data()
    assert len(plt.get_fignums()) == 1


def test_a_model_that_learned_nothing_draws_nothing(truth):
    for draw in (AMCC().plot_workers, AMCC().plot_labels, AMCC().plot_groups, lambda: AMCC().plot_calibration(truth)):
        with pytest.raises(NotFittedError):
            draw()


def test_without_matplotlib_it_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'amcc\[plot\]'\.$"):
        model.plot_workers()
