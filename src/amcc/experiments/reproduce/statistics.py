"""Means, intervals and tests of what was measured in several runs.

`runs` are one value per run. Where each run draws new votes, runs are also the *units* of chance. Where all runs see
the same votes, the units are their items: what would change with other data is which items there are. Intervals and
tests are over units, as a reader expects of them; the standard deviation is over runs, as the paper prints it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats
from amcc.experiments.paper_values import BETTER, WORSE, Mark
from amcc.inference import EQUAL, FEWEST_UNITS, LEVEL, mean_interval


@dataclass(frozen=True)
class Sample:
    """One measure of one method on one crowd: (n_runs,) and (n_units,), NaN where it is not defined."""

    runs: Floats
    units: Floats


@dataclass(frozen=True)
class MeanWithInterval:
    """Mean and standard deviation over runs, and a confidence interval of the mean over units.

    low, high : NaN where there are too few units.
    """

    mean: float
    sd: float
    low: float
    high: float


def estimate(sample: Sample) -> MeanWithInterval:
    """Student's interval, where there are units enough; the deviation of a single run is 0, as the paper prints it.

    >>> values = np.array([1.0, 2.0, 3.0])
    >>> found = estimate(Sample(values, values))
    >>> found.mean, found.sd, round(found.low, 3), round(found.high, 3)
    (2.0, 1.0, -0.484, 4.484)
    """
    runs, units = _defined(sample.runs), _defined(sample.units)
    mean = float(runs.mean()) if runs.size else np.nan
    sd = float(runs.std(ddof=1)) if runs.size > 1 else 0.0
    return MeanWithInterval(mean, sd, *mean_interval(units))


def interval_note(data: pa.Table, what: str) -> str:
    """The sentence of a caption that says what intervals look like, or why there are none.

    data : with a column ci_low, blank or NaN where there is no interval. what : they are drawn as.

    >>> interval_note(pa.table({"ci_low": [0.4, None]}), "bands")
    'Bands: 95 % intervals.'
    >>> interval_note(pa.table({"ci_low": [float("nan")]}), "bands")
    'No bands: an interval takes at least 3 runs.'
    """
    if np.isfinite(np.array(data["ci_low"].to_pylist(), dtype=np.float64)).any():
        return f"{what.capitalize()}: {100 * LEVEL:.0f} % intervals."
    return f"No {what}: an interval takes at least {FEWEST_UNITS} runs."


def p_value(sample: Sample, reference: Sample) -> float:
    """Of the paired t-test over common units; NaN where they are few or do not vary against each other."""
    ours, theirs = _pairs(sample, reference)
    gap = theirs - ours
    # Gaps that are equal except for rounding have no variance to test against: t would be infinite.
    if gap.size < FEWEST_UNITS or np.ptp(gap) <= EQUAL:
        return np.nan
    from scipy.stats import ttest_rel

    return float(ttest_rel(theirs, ours).pvalue)


def mark(sample: Sample, reference: Sample) -> Mark:
    """• where the reference is significantly better, ◦ where it is worse, as the paper marks it."""
    if not p_value(sample, reference) < 1 - LEVEL:  # also where it is NaN
        return ""
    ours, theirs = _pairs(sample, reference)
    return BETTER if theirs.mean() > ours.mean() else WORSE


def _pairs(sample: Sample, reference: Sample) -> tuple[Floats, Floats]:
    """Values of the units in which both are defined."""
    both = ~np.isnan(sample.units) & ~np.isnan(reference.units)
    return sample.units[both], reference.units[both]


def _defined(values: Floats) -> Floats:
    return values[~np.isnan(values)]
