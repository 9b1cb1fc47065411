"""The compiled loops of `coins`; imported only where there are many, for numba takes a third of a second to import.

Coins are handled in chunks, group by group: first the votes of those whose workers belong to the group are put side by
side, then log-gamma functions are computed, several at a time since nothing in them branches, then these are added up.
"""

import numpy as np
from numba import njit

from amcc.consensus.amcc.coins import LEAST
from amcc.vote_loops import bits_of, number_of

CHUNK = 256
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
LN_2 = np.log(2)
SHIFT = 8.0
"""How far arguments are taken to where the asymptotic series are exact to double precision. Always, also those that are
there already: that is faster than to ask."""

ROOT_OF_HALF = np.float64(np.sqrt(0.5)).view(np.int64).item()
"""Its bits."""

loop = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})  # divisors need not be looked at
formula = njit(inline="always", error_model="numpy")


@formula
def log(x):  # type: ignore[no-untyped-def]
    """Logarithm of a positive number, exact to the last digit but one; a library's takes one at a time.

    x = 2ⁿ m with m from √½ to √2, by its bits; log m = 2 artanh s with s = (m − 1) / (m + 1), by Taylor's series.
    """
    bits = bits_of(x)  # type: ignore[call-arg, var-annotated]  # numba fills in the first
    n = (bits - ROOT_OF_HALF) >> 52
    m = number_of(bits - (n << 52))
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1 / 15 + z * (1 / 17 + z * (1 / 19 + z * (1 / 21)))
    series = 1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * series)))
    return n * LN_2 + 2.0 * s * (1.0 + z * (1 / 3 + z * (1 / 5 + z * series)))


@formula
def _stirling(x):  # type: ignore[no-untyped-def]
    """Log-gamma of a number from SHIFT on."""
    inverse = 1.0 / x
    square = inverse * inverse
    series = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360))
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * series))
    return (x - 0.5) * log(x) - x + HALF_LOG_2PI + inverse * series


@formula
def _rising(x):  # type: ignore[no-untyped-def]
    """x (x + 1) … (x + 7), by which Γ(x + SHIFT) is larger than Γ(x); the factors are taken from both ends."""
    ends = x * (x + 7.0)
    return ends * (ends + 6.0) * (ends + 10.0) * (ends + 12.0)


@formula
def _log_beta(yes, no):  # type: ignore[no-untyped-def]
    total = yes + no
    far = _stirling(yes + SHIFT) + _stirling(no + SHIFT) - _stirling(total + SHIFT)
    return far - log(_rising(yes) / _rising(total) * _rising(no))


@formula
def _digamma(x):  # type: ignore[no-untyped-def]
    ends = x * (x + 7.0)
    low, high = ends * (ends + 6.0), (ends + 10.0) * (ends + 12.0)
    before = (
        (2.0 * x + 7.0) * ((2.0 * ends + 6.0) * high + (2.0 * ends + 22.0) * low) / (low * high)
    )  # 1/x + 1/(x+1) + …
    inverse = 1.0 / (x + SHIFT)
    square = inverse * inverse
    series = 1 / 240 - square * (1 / 132 - square * (691 / 32760 - square / 12))
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * series)))
    return log(x + SHIFT) - 0.5 * inverse - series - before


@loop
def log_beta(yes, no, result):  # type: ignore[no-untyped-def]
    """Fill `result` with the log of the beta function, for positive arguments."""
    for index in range(len(yes)):
        result[index] = _log_beta(yes[index], no[index])


@loop
def digamma(x, result):  # type: ignore[no-untyped-def]
    """Fill `result` with the derivative of log-gamma, for positive arguments."""
    for index in range(len(x)):
        result[index] = _digamma(x[index])


@loop
def members_of(group, begin, end, worker, label, yes, no, usual_yes, usual_no, member, coins, all_yes, all_no):  # type: ignore[no-untyped-def]
    """Fill `coins` with those whose workers belong to the group, and all_… with their votes; how many they are."""
    n_coins = 0
    for coin in range(begin, end):
        if member[worker[coin], group] >= LEAST:
            coins[n_coins] = coin
            all_yes[n_coins] = usual_yes[label[coin], group] + yes[coin]
            all_no[n_coins] = usual_no[label[coin], group] + no[coin]
            n_coins += 1
    return n_coins


@loop
def group_fit(first, last, worker, label, yes, no, usual_yes, usual_no, without_votes, member, fit):  # type: ignore[no-untyped-def]
    """Add to fit[worker, group] what the coins from `first` to `last` say."""
    coins, a, b, value = np.empty(CHUNK, np.int64), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        for group in range(fit.shape[1]):
            n = members_of(group, begin, end, worker, label, yes, no, usual_yes, usual_no, member, coins, a, b)
            log_beta(a[:n], b[:n], value)
            for index in range(n):
                coin = coins[index]
                fit[worker[coin], group] += value[index] - without_votes[label[coin], group]


@loop
def effective_votes(first, last, worker, label, yes, no, usual_yes, usual_no, rest_yes, rest_no, member, effective):  # type: ignore[no-untyped-def]
    """Add to effective[yes or no, label, group]."""
    coins, a, b = np.empty(CHUNK, np.int64), np.empty(CHUNK), np.empty(CHUNK)
    of_yes, of_no = np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        for group in range(member.shape[1]):
            n = members_of(group, begin, end, worker, label, yes, no, usual_yes, usual_no, member, coins, a, b)
            digamma(a[:n], of_yes)
            digamma(b[:n], of_no)
            for index in range(n):
                coin = coins[index]
                weight, of_label = member[worker[coin], group], label[coin]
                effective[0, of_label, group] += weight * (of_yes[index] - rest_yes[of_label, group])
                effective[1, of_label, group] += weight * (of_no[index] - rest_no[of_label, group])


@loop
def expected_log_rates(first, last, worker, label, yes, no, usual_yes, usual_no, member, log_rates):  # type: ignore[no-untyped-def]
    """Fill log_rates[yes or no, coin]."""
    coins, a, b = np.empty(CHUNK, np.int64), np.empty(CHUNK), np.empty(CHUNK)
    of_yes, of_no, of_both = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        for group in range(member.shape[1]):
            n = members_of(group, begin, end, worker, label, yes, no, usual_yes, usual_no, member, coins, a, b)
            digamma(a[:n], of_yes)
            digamma(b[:n], of_no)
            for index in range(n):
                a[index] += b[index]
            digamma(a[:n], of_both)
            for index in range(n):
                weight = member[worker[coins[index]], group]
                log_rates[0, coins[index]] += weight * (of_yes[index] - of_both[index])
                log_rates[1, coins[index]] += weight * (of_no[index] - of_both[index])
