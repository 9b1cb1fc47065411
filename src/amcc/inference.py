"""Shares and means with intervals, measured on a random slice of a larger set: one equation, one function.

The target is always the whole set from which the slice was drawn, not what else might come later, so a slice that is
the whole set has no error. Rows of one cluster (pairs of one item) may err together. Intervals of shares are Wilson's
with an effective number of rows, which hold their level for rare labels and small slices, where estimate ± 2 standard
errors does not; docs/audit.md derives them, and benchmarks/audit_coverage.py measures them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from amcc.arrays import AnyInts, Floats
from amcc.errors import ParameterError
from amcc.special import ndtri, stdtrit

# Sums of squares that are added to those of the answers and of the predictions of a slice: as if a quarter of an item
# had been seen that the consensus knows nothing about. Otherwise a slice that happens to show no error would promise
# that there is none, and predictions that hardly differ would be stretched. It matters below about five items with the
# rarer answer. With half of it, intervals of rare labels cover 1 point less; with .25 for both, those of 20 items 1
# more.
SURPRISE, FLAT = 0.25, 0.05

# Correlation of errors within a cluster that is expected before the slice shows any; it weighs as much as one error.
# With 0.1, intervals cover 2 points less where clusters err together (correlation 0.4) and errors are rare.
SHARED_ERRORS = 0.2

# Share of intervals that hold what they promise, where nobody asks for another; as in the paper.
LEVEL = 0.95
# Two runs tell too little about how much there is to vary: no interval, no test.
FEWEST_UNITS = 3
# Values that differ by less are equal except for rounding.
EQUAL = 1e-12

# A chance agreement nearer to 1 is 1: the rest is rounding, and would be divided by.
ALWAYS = 1e-12


@dataclass(frozen=True)
class SliceShares:
    """Estimates with intervals; numbers, or arrays with one entry per group. NaN where nothing was measured.

    n : rows behind each. clusters : how many clusters these come from. effective : how many independent rows of an
    endless set would say as much.
    """

    estimate: Floats
    low: Floats
    high: Floats
    n: AnyInts
    clusters: AnyInts
    effective: Floats

    def at(self, group: int) -> SliceEstimate:
        """One of them."""
        estimate, low, high = (float(each[group]) for each in (self.estimate, self.low, self.high))
        return SliceEstimate(estimate, low, high, int(self.n[group]))


@dataclass(frozen=True)
class SliceEstimate:
    """A number with its interval, from `n` rows; NaN where nothing was measured."""

    estimate: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Corrected:
    """What a slice makes of a prediction for everything.

    estimate, low, high : the corrected number. slice : that of the slice alone. predicted : mean of the predictions.
    power : how far the predictions are used, 0 for not at all. n, n_all : size of slice and set.
    """

    estimate: float
    low: float
    high: float
    slice: SliceEstimate
    predicted: float
    power: float
    n: int
    n_all: int


def check_level(level: float) -> None:
    """Raise ParameterError unless it is a share of intervals that one can ask for."""
    if not 0.5 <= level < 1:
        raise ParameterError(f"level must be at least 0.5 and below 1, like 0.95; got {level!r}.")


def normal_quantile(level: float) -> float:
    """Standard errors on each side of an interval.

    >>> round(normal_quantile(0.95), 2)
    1.96
    """
    return float(ndtri((1 + level) / 2))


def student_quantile(level: float, degrees: float) -> float:
    """The same where the standard error itself was estimated, with so many degrees of freedom.

    >>> round(student_quantile(0.95, 10), 2)
    2.23
    """
    return float(stdtrit(max(degrees, 1), (1 + level) / 2))


def mean_interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Student's interval of the mean of independent values; NaN where they are too few.

    Of differences between pairs it says what the paired t-test does: 0 is outside where the test finds a difference.

    >>> [round(bound, 3) for bound in mean_interval(np.array([1.0, 2.0, 3.0]))]
    [-0.484, 4.484]
    """
    if values.size < FEWEST_UNITS:
        return np.nan, np.nan
    reach = student_quantile(level, values.size - 1) * float(values.std(ddof=1)) / values.size**0.5
    return float(values.mean()) - reach, float(values.mean()) + reach


def wilson(share: npt.ArrayLike, n: npt.ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval: the shares from which `share` of `n` rows is no further away than chance explains.

    n may be a fraction (an effective number) or infinite.

    >>> [round(float(bound), 3) for bound in wilson(0.0, 20, 0.95)]
    [0.0, 0.161]
    """
    # All terms over n, so that n may be infinite (in `workers.wilson_interval` it may be 0 instead).
    p, z2 = np.asarray(share, np.float64), normal_quantile(level) ** 2 / np.asarray(n, np.float64)
    centre, reach = p + z2 / 2, np.sqrt(z2 * (p * (1 - p) + z2 / 4))
    low, high = (centre - reach) / (1 + z2), (centre + reach) / (1 + z2)
    # Rounding must leave neither the share outside its interval nor the interval outside [0, 1].
    return np.clip(np.minimum(low, p), 0.0, 1.0), np.clip(np.maximum(high, p), 0.0, 1.0)


def newcombe(first: SliceShares, second: SliceShares) -> tuple[Floats, Floats]:
    """Interval of the difference of two shares, from the intervals of both (Newcombe 1998, "square and add").

    The lower end is as far below as the first share may be lower and the second higher, which hardly ever come
    together: so these distances add like the sides of a right angle.
    """
    difference = first.estimate - second.estimate
    below = np.hypot(first.estimate - first.low, second.high - second.estimate)
    above = np.hypot(first.high - first.estimate, second.estimate - second.low)
    return np.maximum(difference - below, -1.0), np.minimum(difference + above, 1.0)


# -- predictions for all, answers for some -------------------------------------------------------------------------


@dataclass(frozen=True)
class PredictionFit:
    """Answers on a slice explained by predictions, as far as the slice supports it.

    power : slope λ of answers on predictions. unexplained : share of the answers' variance that is left, at most 1.
    spread, predicted_spread : sums of squares of answers and predictions, with `SURPRISE` and `FLAT`.
    """

    power: float
    unexplained: float
    spread: float
    predicted_spread: float


def power_of(answer: Floats, predicted: Floats) -> PredictionFit:
    """How far the predictions should correct the slice (the power tuning of PPI++), never so far that it harms.

    λ = Σ(f − f̄)(y − ȳ) / (Σ(f − f̄)² + FLAT): the slope of y on f, which makes the variance of y − λ f smallest.
    What is left is 1 − r², with r² likewise, and one degree of freedom for the slope. A slope below 0 is none.

    >>> power_of(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.5, 0.5])).power
    0.0
    """
    n = len(answer)
    y, f = answer - answer.mean(), predicted - predicted.mean()
    together = max(float(y @ f), 0.0)  # predictions that go against the answers are not turned round
    spread, spread_f = float(y @ y) + SURPRISE, float(f @ f) + FLAT
    left = (1 - together**2 / (spread * spread_f)) * ((n - 1) / (n - 2) if n > 2 else 1.0)
    if left >= 1:  # they explain no more than one degree of freedom costs
        return PredictionFit(0.0, 1.0, spread, spread_f)
    return PredictionFit(together / spread_f, left, spread, spread_f)


def unseen(n: int, n_all: int) -> float:
    """Share of the set that is not in the slice, by which the variance of a mean shrinks (Cochran 1977, §2.6)."""
    return 1 - n / n_all


def _uncorrected(mean_of_all: float, n_all: int) -> Corrected:
    """Where nobody was asked, nothing was measured."""
    nothing = SliceEstimate(np.nan, np.nan, np.nan, 0)
    return Corrected(np.nan, np.nan, np.nan, nothing, mean_of_all, 0.0, 0, n_all)


def corrected_share(answer: Floats, predicted: Floats, mean_of_all: float, n_all: int, level: float) -> Corrected:
    """Share of yes in a set, from answers on a random slice and predictions for everything.

        θ = ȳ + λ (F − f̄),   Var θ = (1 − n/N) s²_y (1 − r²) / n

    answer, predicted : (n,) of the slice, from 0 to 1. mean_of_all, n_all : F and N, of the whole set, slice included.

    As many rows answered by chance would give the same variance: that is the n of Wilson's interval. Answers that are
    shares of several people vary less than yes and no, which counts, too.

    >>> y, f = np.tile([1.0, 0, 0, 0], 10), np.tile([0.9, 0.1, 0.1, 0.2], 10)
    >>> found = corrected_share(y, f, 0.4, 1000, 0.95)
    >>> round(found.slice.estimate, 2), round(found.estimate, 2), found.high - found.low < 0.2
    (0.25, 0.35, True)
    """
    n = len(answer)
    if n == 0:
        return _uncorrected(mean_of_all, n_all)
    fit, share = power_of(answer, predicted), float(answer.mean())
    theta = float(np.clip(share + fit.power * (mean_of_all - predicted.mean()), 0.0, 1.0))
    of_chance = min(1.0, fit.spread / (n * share * (1 - share) + SURPRISE))
    with np.errstate(divide="ignore"):  # a slice that is the whole set is worth infinitely many rows
        n_alone = n / np.float64(of_chance * unseen(n, n_all))
    alone = wilson(share, n_alone, level)
    low, high = wilson(theta, n_alone / fit.unexplained, level)
    slice_alone = SliceEstimate(share, float(alone[0]), float(alone[1]), n)
    return Corrected(theta, float(low), float(high), slice_alone, mean_of_all, fit.power, n, n_all)


def corrected_mean(answer: Floats, predicted: Floats, mean_of_all: float, n_all: int, level: float) -> Corrected:
    """The same for a mean of numbers that are not between 0 and 1, with Student's quantiles.

    The further the predictions on the slice lie from those of all, the more an error of the slope matters:
    the variance is multiplied by 1 + n (F − f̄)² / Σ(f − f̄)². (For shares, `SURPRISE` has room for that.)

    >>> found = corrected_mean(np.array([1.0, 2, 3, 2]), np.array([1.1, 2.0, 2.8, 2.1]), 2.2, 100, 0.95)
    >>> 2.15 < found.estimate < 2.25
    True
    """
    n = len(answer)
    if n == 0:
        return _uncorrected(mean_of_all, n_all)
    fit, mean = power_of(answer, predicted), float(answer.mean())
    theta = max(0.0, mean + fit.power * (mean_of_all - float(predicted.mean())))
    error = float(np.sqrt(unseen(n, n_all) * fit.spread / max(n - 1, 1) / n))
    alone = student_quantile(level, n - 1) * error
    off = n * (mean_of_all - float(predicted.mean())) ** 2 / fit.predicted_spread if fit.power else 0.0
    reach = student_quantile(level, n - 2) * error * float(np.sqrt(fit.unexplained * (1 + off)))
    slice_alone = SliceEstimate(mean, max(0.0, mean - alone), mean + alone, n)
    return Corrected(theta, max(0.0, theta - reach), theta + reach, slice_alone, mean_of_all, fit.power, n, n_all)


# -- shares by group, rows in clusters -----------------------------------------------------------------------------


def clustered_shares(
    value: Floats, group: AnyInts, cluster: AnyInts, n_groups: int, level: float, *, left: float = 1.0,
    weight: Floats | None = None,
) -> SliceShares:  # fmt: skip
    """Mean of values from 0 to 1 in each group, with Wilson's interval for its effective number of rows.

    value, group, cluster : (n,) of the slice; rows of one cluster may err together. left : share of the clusters that
    are not in the slice. weight : (n,) how far each row counts.

    The effective number is n / (d · left); d is the design effect, see `design_effects`.

    >>> shares = clustered_shares(np.array([1.0, 1, 0, 0]), np.array([0, 0, 0, 1]), np.array([7, 8, 8, 9]), 3, 0.95)
    >>> shares.estimate.round(2), shares.n
    (array([0.67, 0.  ,  nan]), array([3, 1, 0]))
    """
    weight = np.ones(len(value)) if weight is None else weight
    counted = weight > 0  # rows that do not count must not count as rows, either
    value, group, cluster, weight = value[counted], group[counted], cluster[counted], weight[counted]
    total, squares = (np.bincount(group, each, n_groups) for each in (weight, weight**2))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.bincount(group, weight * value, n_groups) / total
        n_even = total**2 / squares  # as many rows that count alike say as much
        effect, n_clusters = design_effects(value, weight, share, group, cluster)
        effective = n_even / (effect * left)
        low, high = wilson(share, effective, level)
    return SliceShares(share, low, high, np.bincount(group, minlength=n_groups), n_clusters, effective)


def design_effects(
    value: Floats, weight: Floats, share: Floats, group: AnyInts, cluster: AnyInts
) -> tuple[Floats, AnyInts]:
    """(n_groups,) by what factor clusters raise the variance of a share, at least 1, and the number of clusters.

        d = (k/(k − 1) Σ_c u_c² + d₀) / (Σ w² p(1 − p) + 1),   u_c = Σ_{rows of c} w (value − p)

    d₀ = 1 + SHARED_ERRORS · (rows per cluster − 1) is expected before there are errors: it weighs as much as one.

    >>> value, ones = np.array([1.0, 1, 0, 0] * 10), np.ones(40)
    >>> together = design_effects(value, ones, np.array([0.5]), np.zeros(40, int), np.arange(40) // 2)
    >>> apart = design_effects(value, ones, np.array([0.5]), np.zeros(40, int), np.arange(40))
    >>> round(float(together[0][0]), 1), round(float(apart[0][0]), 1)
    (2.0, 1.0)
    """
    # One cell for each cluster of each group: an item may have pairs in several groups.
    n_groups, span = len(share), int(cluster.max(initial=0)) + 1
    key, place = np.unique(group.astype(np.int64) * span + cluster, return_inverse=True)
    of_cluster = key // span
    deviation = np.bincount(place, weight * (value - share[group]), len(key))
    k, rows = (np.bincount(each, minlength=n_groups) for each in (of_cluster, group))
    seen = np.bincount(of_cluster, deviation**2, n_groups) * (k / np.maximum(k - 1, 1))
    squares = np.bincount(group, weight**2, n_groups)
    by_chance = squares * np.nan_to_num(share * (1 - share))
    expected = 1 + SHARED_ERRORS * np.maximum(rows / np.maximum(k, 1) - 1, 0)
    return np.maximum((seen + expected) / (by_chance + 1), 1.0), k


# -- agreement beyond chance ---------------------------------------------------------------------------------------


def kappa(agree: Floats, yes: Floats, other_yes: Floats) -> Floats:
    """Cohen's kappa from the shares of agreement and of yes by both; NaN where chance alone would agree always.

    >>> kappa(np.array([0.9]), np.array([0.5]), np.array([0.5])).round(2)
    array([0.8])
    """
    chance = yes * other_yes + (1 - yes) * (1 - other_yes)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance < 1 - ALWAYS, (agree - chance) / (1 - chance), np.nan))


def kappas(vote: Floats, answer: Floats, group: AnyInts, agreement: SliceShares, level: float) -> SliceShares:
    """Cohen's kappa between votes and answers in each group, from their agreement.

    vote : (n,) 0 or 1. answer : (n,) from 0 to 1. The interval of agreement, set against the chance agreement c of the
    slice, would be that of kappa if c were known. It is not, and errs together with agreement a, so the effective
    number of rows is divided by the ratio of the variances of

        a_i − (1 − a)/(1 − c) [(2p − 1) v_i + (2q − 1) y_i]   and   a_i,     q, p: shares of yes in votes v, answers y

    (the linear part of kappa; 1 is added to both sums of squares, as in `design_effects`). A jackknife covers 70 to
    80 % instead of 95 % where a label is rare.
    """
    n_groups = len(agreement.n)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.bincount(group, values, n_groups) / agreement.n)

    with np.errstate(invalid="ignore", divide="ignore"):
        q, p = mean(vote), mean(answer)
        chance = q * p + (1 - q) * (1 - p)
        shift = (1 - agreement.estimate) / np.where(chance < 1 - ALWAYS, 1 - chance, np.nan)
        agree = vote * answer + (1 - vote) * (1 - answer)
        linear = agree - (shift * (2 * p - 1))[group] * vote - (shift * (2 * q - 1))[group] * answer
        spread, spread_linear = (agreement.n * (mean(each**2) - mean(each) ** 2) for each in (agree, linear))
        low, high = wilson(agreement.estimate, agreement.effective * (spread + 1) / (spread_linear + 1), level)
    estimate, low, high = (np.clip(kappa(each, q, p), -1.0, 1.0) for each in (agreement.estimate, low, high))
    return replace(agreement, estimate=estimate, low=low, high=high)
