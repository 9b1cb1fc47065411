"""Known truth says how far probabilities can be trusted: a logistic correction, held to none where little is known.

    log-odds of presence = intercept + slope · log-odds by the votes + label[l]

Votes alone cannot tell what an expert counts as present, or whether workers agree because they share errors. A few
known items can: too sure probabilities get a slope below 1, a stricter expert a negative intercept, labels that are
read differently an offset of their own. Priors are centred on no correction, so nothing changes abruptly with the first
known pair. The probabilities that are compared with the truth must come from a fit that has not seen it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from amcc.arrays import AnyInts, Floats, Mask, weight_per_code
from amcc.fields import Each
from amcc.special import expit, logit

# How far the correction may lie from none before the data speak: experts differ by a factor of two in the odds, and
# labels of one expert a little less. The gain hardly depends on these three, from half to double.
INTERCEPT_SPREAD, SLOPE_SPREAD, LABEL_SPREAD = 0.7, 0.3, 0.5


class Spreads(NamedTuple):
    """The same three, as a model may have them otherwise (`AMCC(settings=…)`)."""

    intercept: float = INTERCEPT_SPREAD
    slope: float = SLOPE_SPREAD
    label: float = LABEL_SPREAD

    @classmethod
    def of(cls, intercept: float) -> Spreads:
        """All three in the usual proportion."""
        return cls(*(intercept / INTERCEPT_SPREAD * each for each in cls()))


USUAL_SPREADS = Spreads()

# Probabilities nearer to 0 or 1 count as this: beyond it log-odds are the model's imagination.
NEAREST_PROBA = 1e-3

# Parts into which known items are put, at most. With 30 known items each is left out alone; with more, each part still
# leaves 29 thirtieths of the truth to learn from.
CALIBRATION_FOLDS = 30

# Newton's steps at most, and the step at which they have arrived; a handful is usual, since the function is concave.
NEWTON_STEPS, SMALL_STEP = 50, 1e-9

# The longest step, in log-odds: far from the optimum Newton's method may leap beyond it.
LONGEST_CORRECTION = 1.0


@dataclass(frozen=True)
class Calibration:
    """The correction: intercept, slope and (n_labels,) offsets of labels, by `n_pairs` known pairs."""

    intercept: float
    slope: float
    label: Annotated[Floats, Each("label")]
    n_pairs: int

    def of(self, proba: Floats, label: AnyInts) -> Floats:
        """Probabilities of pairs with these labels (−1: a label that was not there) after the correction."""
        offset = np.where(label >= 0, self.label[label], 0.0)
        return np.asarray(expit(self.intercept + self.slope * log_odds(proba) + offset))

    def sentence(self) -> str:
        """What known truth changed, in words.

        >>> Calibration(-0.4, 0.8, np.zeros(2), 40).sentence()
        '40 known pairs correct the others: 95 % becomes 88 %, 50 % becomes 40 %'
        """
        sure, even = 100 * expit(self.intercept + self.slope * logit(np.array([0.95, 0.5])))
        changes = f"95 % becomes {sure:.0f} %, 50 % becomes {even:.0f} %"
        return f"{self.n_pairs:,} known pairs correct the others: {changes}"


def fit_calibration(
    proba: Floats, label: AnyInts, present: Mask, n_labels: int, spreads: Spreads = USUAL_SPREADS
) -> Calibration:
    """The most probable correction, given what is true of some pairs; `proba` must come from a fit without that.

    Newton's method on a concave function. No pair has two labels, so the curvature between offsets is 0, and they can
    be eliminated first: a system of two equations is solved, however many labels there are.

    proba, label, present : (n,) of the known pairs
    """
    x, centre = log_odds(proba), np.array([0.0, 1.0])  # no correction: intercept 0, slope 1
    common, offset = centre, np.zeros(n_labels)
    design = np.stack([np.ones_like(x), x])
    precision = 1 / np.array([spreads.intercept, spreads.slope]) ** 2
    for _ in range(NEWTON_STEPS):
        expected = expit(common @ design + offset[label])
        residual, weight = present - expected, expected * (1 - expected)
        slope_common = design @ residual - precision * (common - centre)
        slope_label = weight_per_code(label, residual, n_labels) - offset / spreads.label**2
        bend_label = weight_per_code(label, weight, n_labels) + 1 / spreads.label**2
        mixed = np.stack([weight_per_code(label, weight * row, n_labels) for row in design])
        # What is left of the curvature of the two common parameters when offsets follow them (a Schur complement).
        bend = (design * weight) @ design.T + np.diag(precision) - (mixed / bend_label) @ mixed.T
        step = np.linalg.solve(bend, slope_common - mixed @ (slope_label / bend_label))
        step_label = (slope_label - mixed.T @ step) / bend_label
        longest = max(float(np.abs(step).max()), float(np.abs(step_label).max()))
        scale = min(1.0, LONGEST_CORRECTION / max(longest, SMALL_STEP))
        common, offset = common + scale * step, offset + scale * step_label
        if longest < SMALL_STEP:
            break
    return Calibration(float(common[0]), float(common[1]), offset, len(x))


def held_out_calibrated(
    proba: Floats, label: AnyInts, present: Mask, item: AnyInts, n_labels: int, spreads: Spreads = USUAL_SPREADS
) -> Floats:
    """(n,) corrected probabilities of known pairs, each by the truth of other items only: how good they really are.

    Labels of an item are alike, so that an item is left out as a whole; from `CALIBRATION_FOLDS` items on,
    several at a time.
    """
    _, place = np.unique(item, return_inverse=True)
    fold, result = place % CALIBRATION_FOLDS, np.array(proba, dtype=np.float64)
    for number in range(int(fold.max(initial=-1)) + 1):
        out = fold == number
        rest = fit_calibration(proba[~out], label[~out], present[~out], n_labels, spreads)
        result[out] = rest.of(proba[out], label[out])
    return result


def log_odds(proba: Floats) -> Floats:
    """Log-odds of probabilities, those nearer to 0 or 1 than `NEAREST_PROBA` counting as that.

    >>> log_odds(np.array([0.5, 0.999, 1.0])).round(2).tolist()
    [0.0, 6.91, 6.91]
    """
    return np.asarray(logit(np.clip(proba, NEAREST_PROBA, 1 - NEAREST_PROBA)))
