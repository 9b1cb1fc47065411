"""Averages by label, worker or pair that stay sensible where there is little to average.

A label with three votes has no trustworthy share of yes. Such averages lean on the average of all labels, as if that
were one more observation. So a label without any has the average of all, and one with a thousand hardly notices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from amcc.arrays import AnyInts, Floats, weight_per_code


def cautious_share(part: float, whole: float) -> float:
    """Share of a part in a whole, with one observation of each kind added: never 0 or 1, nor a division by zero.

    >>> cautious_share(0, 0), cautious_share(2, 2)
    (0.5, 0.75)
    """
    return (part + 1) / (whole + 2)


def leaning_mean(total: npt.NDArray[Any], count: npt.NDArray[Any], overall: float) -> Floats:
    """Means from sums and counts, each with one more observation of the `overall` mean.

    >>> leaning_mean(np.array([3.0, 0.0]), np.array([3, 0]), 0.6).round(2).tolist()
    [0.9, 0.6]
    """
    # One more observation, not more: it is to help where there are none, and not to pull where there are ten.
    return np.asarray((total + overall) / (count + 1))


def mean_per_code(code: AnyInts, value: npt.NDArray[Any], n_codes: int, overall: float | None = None) -> Floats:
    """(n_codes,) mean of the values that carry each code; codes with few values lean on the mean of all.

    `overall` replaces the mean of all, where that might be 0, 1 or not a number.
    """
    overall = value.mean() if overall is None else overall
    return leaning_mean(weight_per_code(code, value, n_codes), np.bincount(code, minlength=n_codes), overall)


class RunningMean:
    """Means by code of values that come in parts.

    >>> mean = RunningMean(3)
    >>> mean.add(np.array([0, 0, 2]), np.array([1.0, 2.0, 5.0]))
    >>> mean.result(otherwise=np.zeros(3)).tolist()
    [1.5, 0.0, 5.0]
    """

    def __init__(self, n_codes: int) -> None:
        # Sums and counts, not means: parts of different size then weigh as they should.
        self.total: Floats = np.zeros(n_codes)
        self.count: Floats = np.zeros(n_codes)

    def add(self, code: AnyInts, value: Floats) -> None:
        """Take in more values."""
        self.total += weight_per_code(code, value, len(self.total))
        self.count += np.bincount(code, minlength=len(self.count))

    def result(self, otherwise: Floats) -> Floats:
        """(n_codes,) the means; `otherwise` where no value came."""
        return np.divide(self.total, self.count, out=otherwise.copy(), where=self.count > 0)
