from __future__ import annotations

from dataclasses import fields
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import brier_score_loss, f1_score, jaccard_score, label_ranking_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from amcc import metrics
from amcc.errors import ParameterError

EXACT = {"rtol": 0, "atol": 1e-12}  # two routes to one number, apart from the order of summation

SET_METRICS = ["jaccard", "precision", "recall", "f1", "hamming", "subset"]
EVALUATE_KEYS = [*SET_METRICS, "one_minus_rl", "one_minus_oe", "ece", "brier", "log_loss"]
SCORE_METRICS = ["ranking_loss", "one_error", "expected_calibration_error", "brier", "log_loss"]


# The worked example of BASELINES.md, section 2.3.
SCORES = np.array([[0.9, 0.6, 0.6, 0.1], [0.5, 0.5, 0.2, 0.5]])
TRUTH = np.array([[1, 0, 1, 0], [0, 1, 0, 0]], dtype=bool)
PREDICTED = SCORES > 0.5


def random_case(seed, n_items=300, n_labels=7, known_share=0.6):
    """Truth, predictions, scores with many ties, and a mask; all extremes (empty, full, unknown) occur."""
    rng = np.random.default_rng(seed)
    shape = n_items, n_labels
    truth = rng.random(shape) < rng.choice([0, 0.3, 0.7, 1], size=(n_items, 1))
    scores = rng.integers(0, 5, size=shape) / 4
    predicted = rng.random(shape) < rng.choice([0, 0.3, 0.7], size=(n_items, 1))
    known = rng.random(shape) < rng.choice([0, known_share, 1], size=(n_items, 1))
    return truth, predicted, scores, known


def known_items(*tables, known):
    """One tuple of short rows per item with a known pair: only its known labels."""
    return [tuple(table[i][known[i]] for table in tables) for i in range(len(known)) if known[i].any()]


def loop_set_metrics(truth, predicted, known):
    values = {name: [] for name in SET_METRICS}
    for true_row, predicted_row in known_items(truth, predicted, known=known):
        T, P = set(np.flatnonzero(true_row)), set(np.flatnonzero(predicted_row))
        if P:
            values["precision"].append(len(T & P) / len(P))
        if T:
            values["recall"].append(len(T & P) / len(T))
        values["jaccard"].append(len(T & P) / len(T | P) if T | P else 1)
        values["f1"].append(2 * len(T & P) / (len(T) + len(P)) if T | P else 1)
        values["hamming"].append(1 - len(T ^ P) / len(true_row))
        values["subset"].append(T == P)
    return {name: np.mean(per_item) for name, per_item in values.items()}


def loop_ranking_loss(truth, scores, known, tie_cost):
    losses = []
    for true_row, score_row in known_items(truth, scores, known=known):
        costs = [
            1 if below < above else tie_cost if below == above else 0
            for below in score_row[true_row]
            for above in score_row[~true_row]
        ]
        if costs:
            losses.append(np.mean(costs))
    return np.mean(losses)


def loop_one_error(truth, scores, known, ties):
    errors = []
    for true_row, score_row in known_items(truth, scores, known=known):
        if true_row.any() and not true_row.all():
            at_top = true_row[score_row == score_row.max()]
            errors.append({"expected": 1 - at_top.mean(), "any": not at_top.any(), "first": not at_top[0]}[ties])
    return np.mean(errors)


class TestWorkedExample:
    @pytest.mark.parametrize(("ties", "expected"), [("error", 11 / 24), ("half", 11 / 48), ("free", 0)])
    def test_ranking_loss(self, ties, expected):
        assert_allclose(metrics.ranking_loss(TRUTH, SCORES, ties=ties), expected, **EXACT)

    @pytest.mark.parametrize(("ties", "expected"), [("any", 0), ("expected", 1 / 3), ("first", 1 / 2)])
    def test_one_error(self, ties, expected):
        assert_allclose(metrics.one_error(TRUTH, SCORES, ties=ties), expected, **EXACT)

    @pytest.mark.parametrize(("empty", "expected"), [("skip", 2 / 3), (0, 1 / 3), (1, 5 / 6)])
    def test_precision(self, empty, expected):
        assert_allclose(metrics.precision(TRUTH, PREDICTED, empty=empty), expected, **EXACT)

    @pytest.mark.parametrize(
        ("metric", "expected"),
        [("jaccard", 1 / 3), ("recall", 1 / 2), ("f1", 2 / 5), ("hamming", 3 / 4), ("subset", 0)],
    )
    def test_set_metrics(self, metric, expected):
        assert_allclose(getattr(metrics, metric)(TRUTH, PREDICTED), expected, **EXACT)

    def test_default_ties_are_errors_and_expected(self):
        assert metrics.ranking_loss(TRUTH, SCORES) == metrics.ranking_loss(TRUTH, SCORES, ties="error")
        assert metrics.one_error(TRUTH, SCORES) == metrics.one_error(TRUTH, SCORES, ties="expected")

    def test_evaluate(self):
        # Scores .1 .2 .5 .6 .9 fall in five of 15 bins, (count, true): (1,0) (1,0) (3,1) (2,1) (1,1).
        ece = (0.1 + 0.2 + 3 * abs(1 / 2 - 1 / 3) + 2 * abs(0.6 - 1 / 2) + 0.1) / 8
        brier = (0.1**2 + 0.6**2 + 0.4**2 + 0.1**2 + 3 * 0.5**2 + 0.2**2) / 8
        log_loss = -(2 * np.log(0.9) + np.log(0.4) + np.log(0.6) + 3 * np.log(0.5) + np.log(0.8)) / 8
        expected = [1 / 3, 2 / 3, 1 / 2, 2 / 5, 3 / 4, 0, 13 / 24, 2 / 3, ece, brier, log_loss]
        result = metrics.evaluate(TRUTH, PREDICTED, SCORES)
        assert list(result) == EVALUATE_KEYS
        assert all(type(value) is float for value in result.values())
        assert_allclose(list(result.values()), expected, **EXACT)


class TestPartialTruth:
    #                known labels        T      P      precision recall jaccard f1  hamming subset
    # item 0         0, 1                {0}    {0,1}  1/2       1      1/2     2/3 1/2     0
    # item 1         none                dropped
    # item 2         2                   {}     {}     -         -      1       1   1       1
    # item 3         all                 {1}    {}     -         0      0       0   2/3     0
    truth = np.array([[1, 0, 1], [1, 1, 1], [1, 1, 0], [0, 1, 0]], dtype=bool)
    predicted = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=bool)
    known = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=bool)

    def test_items_by_hand(self):
        nan = np.nan
        scores = metrics.item_scores(self.truth, self.predicted, self.known)
        assert_allclose(scores.precision, [1 / 2, nan, nan, nan], **EXACT)
        assert_allclose(scores.recall, [1, nan, nan, 0], **EXACT)
        assert_allclose(scores.jaccard, [1 / 2, nan, 1, 0], **EXACT)
        assert_allclose(scores.f1, [2 / 3, nan, 1, 0], **EXACT)
        assert_allclose(scores.hamming, [1 / 2, nan, 1, 2 / 3], **EXACT)
        assert_allclose(scores.subset, [0, nan, 1, 0], **EXACT)
        assert_array_equal(scores.n_known, [2, 0, 1, 3])

    def test_labels_by_hand(self):
        nan = np.nan
        scores = metrics.label_scores(self.truth, self.predicted, self.known)
        assert_allclose(scores.precision, [1, 0, nan], **EXACT)
        assert_allclose(scores.recall, [1, 0, nan], **EXACT)
        assert_allclose(scores.f1, [1, 0, nan], **EXACT)
        assert_array_equal(scores.support, [1, 1, 0])
        assert_array_equal(scores.n_known, [2, 2, 2])

    @pytest.mark.parametrize(("empty", "expected"), [("skip", 1 / 2), (0, 1 / 6), (1, 5 / 6)])
    def test_precision_fills_only_items_with_a_known_pair(self, empty, expected):
        value = metrics.precision(self.truth, self.predicted, self.known, empty=empty)
        assert_allclose(value, expected, **EXACT)

    def test_scores_of_unknown_pairs_may_be_anything(self):
        # Item 0 ranks its false label first, item 3 (tied true label, one of two false) is half wrong.
        scores = np.array([[0.2, 0.4, np.nan], [np.nan, 7, -1], [5, np.nan, 0.5], [0.3, 0.3, 0.1]])
        assert_allclose(metrics.ranking_loss(self.truth, scores, self.known), (1 + 1 / 2) / 2, **EXACT)
        assert_allclose(metrics.one_error(self.truth, scores, self.known), (1 + 1 / 2) / 2, **EXACT)
        squares = [0.8**2, 0.4**2, 0.5**2, 0.3**2, 0.7**2, 0.1**2]
        assert_allclose(metrics.brier(self.truth, scores, self.known), np.mean(squares), **EXACT)

    def test_an_unknown_label_never_takes_part_in_a_tie_at_the_top(self):
        truth = np.array([[1, 1, 0]], dtype=bool)
        known = np.array([[0, 1, 1]], dtype=bool)
        for scores in (np.array([[1.0, 1.0, 1.0]]), np.full((1, 3), -np.inf)):
            assert metrics.one_error(truth, scores, known, ties="expected") == 0.5
            assert metrics.one_error(truth, scores, known, ties="first") == 0

    @pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3)])
    def test_nothing_known_gives_nan(self, shape):
        nothing = np.zeros(shape, dtype=bool)
        result = metrics.evaluate(nothing, nothing, np.zeros(shape), nothing)
        assert list(result) == EVALUATE_KEYS
        assert all(isnan(value) for value in result.values())
        assert all(isnan(metrics.precision(nothing, nothing, nothing, empty=empty)) for empty in (0, 1))

    def test_only_extreme_truths_leave_no_ranking(self):
        truth = np.array([[0, 0], [1, 1]], dtype=bool)
        scores = np.array([[0.1, 0.9], [0.1, 0.9]])
        assert isnan(metrics.ranking_loss(truth, scores))
        assert isnan(metrics.one_error(truth, scores))


class TestAgainstLoops:
    @pytest.mark.parametrize("seed", range(3))
    def test_set_metrics(self, seed):
        truth, predicted, _, known = random_case(seed)
        expected = loop_set_metrics(truth, predicted, known)
        for name in SET_METRICS:
            assert_allclose(getattr(metrics, name)(truth, predicted, known), expected[name], **EXACT)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(("ties", "cost"), [("error", 1), ("half", 0.5), ("free", 0)])
    def test_ranking_loss(self, seed, ties, cost):
        truth, _, scores, known = random_case(seed)
        expected = loop_ranking_loss(truth, scores, known, cost)
        assert_allclose(metrics.ranking_loss(truth, scores, known, ties=ties), expected, **EXACT)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("ties", ["expected", "any", "first"])
    def test_one_error(self, seed, ties):
        truth, _, scores, known = random_case(seed)
        expected = loop_one_error(truth, scores, known, ties)
        assert_allclose(metrics.one_error(truth, scores, known, ties=ties), expected, **EXACT)

    @pytest.mark.parametrize("seed", range(3))
    def test_label_scores_are_item_scores_of_the_transpose(self, seed):
        truth, predicted, _, known = random_case(seed)
        by_item = metrics.item_scores(truth, predicted, known)
        by_label = metrics.label_scores(truth.T, predicted.T, known.T)
        assert_allclose(by_label.precision, by_item.precision, **EXACT)
        assert_allclose(by_label.recall, by_item.recall, **EXACT)
        used = ((truth | predicted) & known).any(axis=1)
        assert 0 < used.sum() < len(used)
        assert_allclose(by_label.f1, np.where(used, by_item.f1, np.nan), **EXACT)
        assert_array_equal(by_label.support, (truth & known).sum(axis=1))
        assert_array_equal(by_label.n_known, by_item.n_known)


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("seed", range(3))
    def test_jaccard_and_f1(self, seed):
        truth, predicted, _, _ = random_case(seed)
        for ours, theirs in ((metrics.jaccard, jaccard_score), (metrics.f1, f1_score)):
            expected = theirs(truth, predicted, average="samples", zero_division=1.0)
            assert_allclose(ours(truth, predicted), expected, **EXACT)

    @pytest.mark.parametrize("seed", range(3))
    def test_label_f1(self, seed):
        truth, predicted, _, _ = random_case(seed)
        expected = f1_score(truth, predicted, average=None, zero_division=np.nan)
        assert_allclose(metrics.label_scores(truth, predicted).f1, expected, **EXACT)

    @pytest.mark.parametrize("seed", range(3))
    def test_ranking_loss(self, seed):
        truth, _, scores, _ = random_case(seed)
        rankable = truth.any(axis=1) & ~truth.all(axis=1)  # scikit-learn scores the others 0, we leave them out
        expected = label_ranking_loss(truth[rankable], scores[rankable])
        assert_allclose(metrics.ranking_loss(truth, scores), expected, **EXACT)

    def test_log_loss(self):
        truth, _, scores, known = random_case(0)
        expected = sklearn_log_loss(truth[known], np.clip(scores[known], metrics.NEVER, 1 - metrics.NEVER))
        assert_allclose(metrics.log_loss(truth, scores, known), expected, **EXACT)

    def test_brier(self):
        truth, _, scores, known = random_case(0)
        expected = brier_score_loss(truth[known], scores[known])
        assert_allclose(metrics.brier(truth, scores, known), expected, **EXACT)


class TestCalibration:
    def test_curve_by_hand(self):
        # Three bins: [0, 1/3), [1/3, 2/3), [2/3, 1]; the middle one stays empty.
        scores = np.array([[0.0, 0.2], [1.0, 0.7]])
        truth = np.array([[0, 1], [1, 0]], dtype=bool)
        curve = metrics.reliability_curve(truth, scores, n_bins=3)
        assert_allclose(curve.mean_predicted, [0.1, 0.85], **EXACT)
        assert_allclose(curve.observed_share, [0.5, 0.5], **EXACT)
        assert_array_equal(curve.count, [2, 2])
        error = metrics.expected_calibration_error(truth, scores, n_bins=3)
        assert_allclose(error, (0.4 + 0.35) / 2, **EXACT)

    def test_fifteen_bins_by_default(self):
        scores = (np.arange(30)[None, :] + 0.5) / 30
        curve = metrics.reliability_curve(np.zeros((1, 30), dtype=bool), scores)
        assert_array_equal(curve.count, np.full(15, 2))

    def test_true_probabilities_are_calibrated_and_overconfident_ones_are_not(self):
        rng = np.random.default_rng(0)
        scores = rng.random((20_000, 5))
        truth = rng.random(scores.shape) < scores
        # 100 000 pairs leave a sampling error of about 0.005 in each of 15 bins.
        assert metrics.expected_calibration_error(truth, scores) < 0.01
        # Pushed to 0 or 1, a score is off by its distance to the nearer end: 1/4 on average.
        overconfident = np.round(scores)
        assert_allclose(metrics.expected_calibration_error(truth, overconfident), 0.25, rtol=0, atol=0.01)

    def test_float32_scores_are_compared_in_double_precision(self):
        scores = np.full((50, 20), 0.1, dtype=np.float32)
        truth = np.zeros(scores.shape, dtype=bool)
        promised = float(np.float32(0.1))
        assert_allclose(metrics.expected_calibration_error(truth, scores), promised, **EXACT)
        assert_allclose(metrics.brier(truth, scores), promised**2, **EXACT)  # float32 squares are off by 1e-10


SHAPE = (4, 5)
bool_tables = arrays(np.bool_, SHAPE)
tied_scores = arrays(np.float64, SHAPE, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))


class TestProperties:
    @given(bool_tables, bool_tables)
    def test_a_perfect_answer_scores_one(self, truth, known):
        result = metrics.evaluate(truth, truth, truth.astype(float), known)
        for name in set(EVALUATE_KEYS) - {"ece", "brier", "log_loss"}:
            assert isnan(result[name]) or result[name] == 1
        assert isnan(result["log_loss"]) or result["log_loss"] <= 1.001 * metrics.NEVER
        for name in ("ece", "brier"):
            assert isnan(result[name]) or result[name] == 0

    @given(bool_tables, bool_tables, tied_scores, bool_tables)
    def test_every_metric_lies_between_zero_and_one(self, truth, predicted, scores, known):
        result = metrics.evaluate(truth, predicted, scores, known)
        log_loss = result.pop("log_loss")
        assert isnan(log_loss) or 0 <= log_loss <= 9.22
        values = np.array(list(result.values()))
        assert np.all(np.isnan(values) | ((values >= 0) & (values <= 1)))

    @given(bool_tables, bool_tables, tied_scores, bool_tables, bool_tables)
    def test_unknown_pairs_do_not_matter(self, truth, predicted, scores, known, noise):
        shown = metrics.evaluate(truth, predicted, scores, known)
        hidden = ~known & noise
        changed = metrics.evaluate(truth ^ hidden, predicted ^ hidden, np.where(hidden, np.nan, scores), known)
        assert_array_equal(list(shown.values()), list(changed.values()))

    @given(bool_tables, bool_tables)
    def test_jaccard_is_at_most_f1_and_subset_at_most_jaccard(self, truth, predicted):
        scores = metrics.item_scores(truth, predicted)
        assert np.all(scores.subset <= scores.jaccard)
        assert np.all(scores.jaccard <= scores.f1)

    @given(bool_tables, tied_scores, bool_tables)
    def test_reversing_the_scores_reverses_the_ranking_loss(self, truth, scores, known):
        forward = metrics.ranking_loss(truth, scores, known, ties="half")
        backward = metrics.ranking_loss(truth, -scores, known, ties="half")
        assert_allclose(forward + backward, np.nan if isnan(forward) else 1, **EXACT)

    @settings(max_examples=25)
    @given(tied_scores, bool_tables)
    def test_inputs_are_left_unchanged(self, scores, known):
        inputs = [known.copy(), ~known, scores.copy(), known.copy()]
        metrics.evaluate(*inputs)
        for after, before in zip(inputs, [known, ~known, scores, known], strict=True):
            assert_array_equal(after, before)


class TestErrors:
    @pytest.mark.parametrize("truth", [np.ones((2, 4)), np.ones(8, dtype=bool)])
    def test_truth_must_be_a_bool_table(self, truth):
        with pytest.raises(ParameterError, match=r"truth must be a bool array of shape \(n_items, n_labels\); got"):
            metrics.jaccard(truth, PREDICTED)

    @pytest.mark.parametrize("metric", [*SET_METRICS, "item_scores", "label_scores"])
    @pytest.mark.parametrize("predicted", [PREDICTED[:1], PREDICTED.T, PREDICTED.astype(int)])
    def test_predicted_must_match_truth(self, metric, predicted):
        with pytest.raises(ParameterError, match=r"predicted must be a bool array of truth's shape \(2, 4\); got"):
            getattr(metrics, metric)(TRUTH, predicted)

    @pytest.mark.parametrize("metric", SCORE_METRICS)
    @pytest.mark.parametrize("scores", [SCORES[:1], SCORES.T, PREDICTED, PREDICTED.astype(int)])
    def test_scores_must_match_truth(self, metric, scores):
        with pytest.raises(ParameterError, match=r"scores must be a float array of truth's shape \(2, 4\); got"):
            getattr(metrics, metric)(TRUTH, scores)

    @pytest.mark.parametrize("known", [TRUTH[:, :2], SCORES])
    def test_known_must_match_truth(self, known):
        with pytest.raises(ParameterError, match=r"known must be a bool array of truth's shape \(2, 4\); got"):
            metrics.evaluate(TRUTH, PREDICTED, SCORES, known)

    @pytest.mark.parametrize("metric", SCORE_METRICS)
    def test_known_pairs_need_a_score(self, metric):
        scores = np.where(PREDICTED, np.nan, SCORES)
        with pytest.raises(ParameterError, match=r"known pair; got nan at item 0, label 0 \(3 such pairs\)"):
            getattr(metrics, metric)(TRUTH, scores)

    @pytest.mark.parametrize("metric", ["expected_calibration_error", "brier", "reliability_curve"])
    @pytest.mark.parametrize("wrong", [-0.1, 1.1, np.inf])
    def test_calibration_needs_probabilities(self, metric, wrong):
        scores = SCORES.copy()
        scores[1, 2] = wrong
        with pytest.raises(ParameterError, match=rf"lie in \[0, 1\].*got {wrong} at item 1, label 2 \(1 such"):
            getattr(metrics, metric)(TRUTH, scores)

    def test_ranking_takes_any_scale(self):
        for metric in (metrics.ranking_loss, metrics.one_error):
            assert metric(TRUTH, 100 * SCORES - 50) == metric(TRUTH, SCORES)

    def test_unknown_rules(self):
        with pytest.raises(ParameterError, match="ties must be one of 'error', 'half', 'free'; got 'any'"):
            metrics.ranking_loss(TRUTH, SCORES, ties="any")
        with pytest.raises(ParameterError, match="ties must be one of 'expected', 'any', 'first'; got 'half'"):
            metrics.one_error(TRUTH, SCORES, ties="half")
        with pytest.raises(ParameterError, match=r"empty must be one of 'skip', 0, 1; got 0\.5"):
            metrics.precision(TRUTH, PREDICTED, empty=0.5)

    def test_bins(self):
        with pytest.raises(ParameterError, match="n_bins must be at least 1; got 0"):
            metrics.reliability_curve(TRUTH, SCORES, n_bins=0)


@pytest.mark.parametrize("shape", [(100_000, 20), (2_000, 1_000)])
def test_large_tables_need_no_cube(shape):
    """In the second case a cube of items x labels x labels would hold two billion entries."""
    rng = np.random.default_rng(0)
    scores = rng.random(shape)
    truth = rng.random(shape) < 0.1
    # Scores that ignore the truth order half of the pairs wrongly; the sampling error is below 0.002.
    assert_allclose(metrics.ranking_loss(truth, scores), 0.5, rtol=0, atol=0.01)


def test_views_are_frozen_and_hold_one_entry_per_row():
    views = (metrics.item_scores(TRUTH, PREDICTED), 2), (metrics.label_scores(TRUTH, PREDICTED), 4)
    for view, length in views:
        assert all(getattr(view, field.name).shape == (length,) for field in fields(view))
        with pytest.raises(AttributeError):
            view.f1 = None


# --- soft truth -----------------------------------------------------------------------------------------------


def test_soft_scores_by_hand():
    share, predicted = np.array([[0.75, 0.0], [1.0, 0.5]]), np.array([[0.5, 0.1], [1.0, 0.9]])
    known = np.array([[True, True], [True, False]])
    assert metrics.manhattan(share, predicted, known) == pytest.approx((0.25 + 0.1 + 0) / 3)
    entropy = [-np.log(0.5), -np.log(0.9), -np.log(1 - metrics.NEVER)]
    assert metrics.cross_entropy(share, predicted, known) == pytest.approx(np.mean(entropy))


def test_cross_entropy_of_a_hard_truth_is_the_log_loss():
    rng = np.random.default_rng(0)
    truth, scores = rng.random((20, 3)) < 0.4, rng.random((20, 3))
    assert metrics.cross_entropy(truth.astype(float), scores) == pytest.approx(metrics.log_loss(truth, scores))


def test_cross_entropy_is_least_at_the_share():
    share = np.array([[0.3]])
    values = [metrics.cross_entropy(share, np.array([[p]])) for p in np.linspace(0.01, 0.99, 99)]
    assert np.argmin(values) == 29


@pytest.mark.parametrize("measure", [metrics.manhattan, metrics.cross_entropy])
def test_soft_scores_refuse_what_is_no_share(measure):
    half = np.array([[0.5]])
    with pytest.raises(ParameterError, match=r"share must lie in \[0, 1\]; got 1.5 at item 0, label 0"):
        measure(np.array([[1.5]]), half)
    with pytest.raises(ParameterError, match=r"predicted must lie in \[0, 1\]; got nan"):
        measure(half, np.array([[np.nan]]))
    with pytest.raises(ParameterError, match="share must be a float array"):
        measure(np.array([[True]]), half)
    with pytest.raises(ParameterError, match="predicted must be a float array of truth's shape"):
        measure(half, np.array([[0.5, 0.5]]))
    assert np.isnan(measure(half, half, np.array([[False]])))
