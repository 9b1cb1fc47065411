"""The compiled loops of `coins`; imported only where there are many, for numba takes a third of a second to import."""

import numpy as np
from numba import njit

from amcc.consensus.amcc.coins import LEAST

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
SHIFT = 8.0
"""How far arguments are taken to where the asymptotic series are exact to double precision. Always, also those that are
there already: that is faster than to ask."""


@njit(nogil=True, cache=True)
def _stirling(x):  # type: ignore[no-untyped-def]
    """Log-gamma of a number from SHIFT on."""
    inverse = 1.0 / x
    square = inverse * inverse
    series = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360))
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * series))
    return (x - 0.5) * np.log(x) - x + HALF_LOG_2PI + inverse * series


@njit(nogil=True, cache=True)
def _rising(x):  # type: ignore[no-untyped-def]
    """x (x + 1) … (x + 7), by which Γ(x + SHIFT) is larger than Γ(x); the factors are taken from both ends."""
    ends = x * (x + 7.0)
    return ends * (ends + 6.0) * (ends + 10.0) * (ends + 12.0)


@njit(nogil=True, cache=True)
def log_beta(yes, no):  # type: ignore[no-untyped-def]
    """Log of the beta function, for positive arguments."""
    total = yes + no
    far = _stirling(yes + SHIFT) + _stirling(no + SHIFT) - _stirling(total + SHIFT)
    return far - np.log(_rising(yes) / _rising(total) * _rising(no))


@njit(nogil=True, cache=True)
def digamma(x):  # type: ignore[no-untyped-def]
    """Derivative of log-gamma, for positive arguments."""
    ends = x * (x + 7.0)
    low, high = ends * (ends + 6.0), (ends + 10.0) * (ends + 12.0)
    before = (
        (2.0 * x + 7.0) * ((2.0 * ends + 6.0) * high + (2.0 * ends + 22.0) * low) / (low * high)
    )  # 1/x + 1/(x+1) + …
    inverse = 1.0 / (x + SHIFT)
    square = inverse * inverse
    series = 1 / 240 - square * (1 / 132 - square * (691 / 32760 - square / 12))
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * series)))
    return np.log(x + SHIFT) - 0.5 * inverse - series - before


@njit(nogil=True, cache=True)
def group_fit(first, last, worker, label, yes, no, usual_yes, usual_no, without_votes, member, fit):  # type: ignore[no-untyped-def]
    """Add to fit[worker, group] what the coins from `first` to `last` say."""
    for coin in range(first, last):
        w, label_of_coin = worker[coin], label[coin]
        for group in range(fit.shape[1]):
            if member[w, group] >= LEAST:
                a = usual_yes[label_of_coin, group] + yes[coin]
                b = usual_no[label_of_coin, group] + no[coin]
                fit[w, group] += log_beta(a, b) - without_votes[label_of_coin, group]


@njit(nogil=True, cache=True)
def effective_votes(first, last, worker, label, yes, no, usual_yes, usual_no, rest_yes, rest_no, member, effective):  # type: ignore[no-untyped-def]
    """Add to effective[yes or no, label, group]."""
    for coin in range(first, last):
        w, label_of_coin = worker[coin], label[coin]
        for group in range(member.shape[1]):
            weight = member[w, group]
            if weight >= LEAST:
                a, b = usual_yes[label_of_coin, group], usual_no[label_of_coin, group]
                effective[0, label_of_coin, group] += weight * (digamma(a + yes[coin]) - rest_yes[label_of_coin, group])
                effective[1, label_of_coin, group] += weight * (digamma(b + no[coin]) - rest_no[label_of_coin, group])


@njit(nogil=True, cache=True)
def expected_log_rates(first, last, worker, label, yes, no, usual_yes, usual_no, member, log_rates):  # type: ignore[no-untyped-def]
    """Fill log_rates[yes or no, coin]."""
    for coin in range(first, last):
        w, label_of_coin = worker[coin], label[coin]
        for group in range(member.shape[1]):
            weight = member[w, group]
            if weight >= LEAST:
                a = usual_yes[label_of_coin, group] + yes[coin]
                b = usual_no[label_of_coin, group] + no[coin]
                total = digamma(a + b)
                log_rates[0, coin] += weight * (digamma(a) - total)
                log_rates[1, coin] += weight * (digamma(b) - total)
