"""The compiled loops of `default.coins`; imported only where coins are many, since numba takes time to import.

Coins are handled in chunks, group by group: first the votes of all coins of its members are put side by side,
then log-gamma functions are computed, several at a time since nothing in them branches, then these are added up.
Tables have one row per group, and codes are unsigned, as in `amcc.loops.votes`: so places are found quickly.

Log-gamma and its derivative, the digamma function, come from Stirling's series. These series do not converge, but their
error is smaller than the first term that is left out, and that term falls with a high power of the argument. So every
argument x is first taken to x + 8, by Γ(x + 8) = x (x + 1) … (x + 7) Γ(x), and the bounds below hold for all x > 0.
"""

from typing import Any

import numpy as np
from numba import njit

from amcc.loops import LEAST_MEMBERSHIP
from amcc.loops.compiling import Compile, machine_code
from amcc.loops.votes import bits_of, number_of

# Coins of a chunk: the few arrays of 8-byte numbers stay in the nearest cache, as in `amcc.loops.votes`.
CHUNK = 256

# Of Stirling's series.
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
LN_2 = np.log(2)

# How far arguments are taken to where Stirling's series are good enough. Always, also those that are there already:
# that is faster than to ask. Eight factors pair up evenly in `_rising`.
SHIFT = 8.0

# The bits of √½. What is above them is taken for the power of two, so what is left of a number is from √½ to √2.
ROOT_OF_HALF = np.float64(np.sqrt(0.5)).view(np.int64).item()

loop: Compile = machine_code(error_model="numpy", fastmath={"contract"})  # divisors need not be looked at
formula: Compile = njit(inline="always", error_model="numpy")


@formula
def log(x: Any) -> Any:
    """Logarithm of a positive number, exact to the last digit but one; a library's takes one at a time.

    x = 2ⁿ m with m from √½ to √2, by its bits; log m = 2 artanh s with s = (m − 1) / (m + 1), by Taylor's series in
    z = s², up to z⁹.

    Error: |s| ≤ (√2 − 1) / (√2 + 1) < 0.1716, so z < 0.0295, and what is left out is at most z¹⁰ / 21 / (1 − z) <
    2.5e-17 of the result, less than a quarter of the rounding of one operation. Near x = 1 nothing cancels, since n is
    0 there and s is exact to its last digit.
    """
    bits = bits_of(x)  # type: ignore[call-arg, var-annotated]  # numba fills in the first
    n = (bits - ROOT_OF_HALF) >> 52
    m = number_of(bits - (n << 52))
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1 / 15 + z * (1 / 17 + z * (1 / 19))
    series = 1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * series)))
    return n * LN_2 + 2.0 * s * (1.0 + z * (1 / 3 + z * (1 / 5 + z * series)))


@formula
def _stirling(x):  # type: ignore[no-untyped-def]
    """Log-gamma of a number from SHIFT on, except for −x + ½ log 2π.

    (x − ½) log x + Σ B₂ₖ / (2k (2k − 1) x²ᵏ⁻¹), with Bernoulli's numbers, up to k = 6. Error: less than the next term,
    1 / (156 x¹³) ≤ 1.2e-14 at x = 8 and 1.5e-18 at x = 16. Terms that all arguments share cancel in `log_beta`.
    """
    inverse = 1.0 / x
    square = inverse * inverse
    series = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360))
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * series))
    return (x - 0.5) * log(x) + inverse * series


@formula
def _rising(x):  # type: ignore[no-untyped-def]
    """x (x + 1) … (x + 7), by which Γ(x + SHIFT) is larger than Γ(x).

    Factors are taken from both ends: (x + i)(x + 7 − i) = x (x + 7) + i (7 − i), with 0, 6, 10 and 12 for the second.
    """
    ends = x * (x + 7.0)
    return ends * (ends + 6.0) * (ends + 10.0) * (ends + 12.0)


@loop
def log_beta(yes, no, result):  # type: ignore[no-untyped-def]
    """Fill `result` with log Γ(yes) + log Γ(no) − log Γ(yes + no), for positive arguments.

    Rounding: terms as large as n log n for n = yes + no nearly cancel, so about 2e-16 n log n is lost: 3e-9 for a coin
    with a million votes, nothing that one could see for a thousand.
    """
    for index in range(len(yes)):
        a, b = yes[index], no[index]
        total = a + b
        # −x of Stirling: −(a + 8) − (b + 8) + (total + 8) = −8. ½ log 2π is there twice and taken off once.
        far = _stirling(a + SHIFT) + _stirling(b + SHIFT) - _stirling(total + SHIFT)
        # One logarithm for all three shifts; divided before it is multiplied, so that large counts do not overflow.
        result[index] = far - log(_rising(a) / _rising(total) * _rising(b)) + (HALF_LOG_2PI - SHIFT)


@loop
def digamma(numbers, result):  # type: ignore[no-untyped-def]
    """Fill `result` with the derivative of log-gamma, for positive numbers.

    log y − 1 / (2y) − Σ B₂ₖ / (2k y²ᵏ) at y = x + SHIFT, up to k = 7, less what the shift added: 1/x + … + 1/(x + 7).
    Error: less than the next term, 0.444 / y¹⁶ ≤ 1.6e-15 at y = 8.
    """
    for index in range(len(numbers)):
        x = numbers[index]
        # 1/(x + i) + 1/(x + 7 − i) = (2x + 7) / ((x + i)(x + 7 − i)): four pairs over one denominator, one division.
        ends = x * (x + 7.0)
        low, high = ends * (ends + 6.0), (ends + 10.0) * (ends + 12.0)
        before = (2.0 * x + 7.0) * ((2.0 * ends + 6.0) * high + (2.0 * ends + 22.0) * low) / (low * high)
        inverse = 1.0 / (x + SHIFT)
        square = inverse * inverse
        series = 1 / 240 - square * (1 / 132 - square * (691 / 32760 - square / 12))
        series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * series)))
        result[index] = log(x + SHIFT) - 0.5 * inverse - series - before


@loop
def members_of(worker, label, yes, no, usual_yes, usual_no, member, coins, all_yes, all_no):  # type: ignore[no-untyped-def]
    """Fill `coins` with those of the group's members, and all_… with their votes; how many they are.

    A coin that does not belong is written, too, and then overwritten: that is faster than to ask, since a processor
    cannot guess who belongs.
    """
    n_coins = np.uint64(0)
    for coin in range(len(worker)):
        coins[n_coins] = coin
        all_yes[n_coins] = usual_yes[label[coin]] + yes[coin]
        all_no[n_coins] = usual_no[label[coin]] + no[coin]
        n_coins += np.uint64(member[worker[coin]] >= LEAST_MEMBERSHIP)
    return n_coins


@loop
def group_fit(worker, label, yes, no, usual_yes, usual_no, without_votes, member, fit):  # type: ignore[no-untyped-def]
    """Add to fit[group, worker] what the coins say: log-probabilities of their votes, integrated over rates.

    worker, label, yes, no : (n_coins,) the coins and their votes
    usual_yes, usual_no, without_votes : (n_groups, n_labels) a group's pseudo-votes, and `log_beta` of these alone
    member : (n_groups, n_workers) who belongs how far
    """
    coins, a, b, value = np.empty(CHUNK, np.uint64), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(0, len(worker), CHUNK):
        here = slice(begin, begin + CHUNK)
        workers, labels, votes = worker[here], label[here], (yes[here], no[here])
        for group in range(len(fit)):
            usual = usual_yes[group], usual_no[group]
            n = members_of(workers, labels, *votes, *usual, member[group], coins, a, b)
            log_beta(a[:n], b[:n], value)
            of_worker, of_label = fit[group], without_votes[group]
            for index in range(n):
                coin = coins[index]
                of_worker[workers[coin]] += value[index] - of_label[labels[coin]]


@loop
def effective_votes(worker, label, yes, no, usual_yes, usual_no, rest_yes, rest_no, member, effective):  # type: ignore[no-untyped-def]
    """Add to effective[yes or no, group, label] the derivatives that fit pseudo-votes to votes.

    rest_yes, rest_no : (n_groups, n_labels) digamma of the pseudo-votes alone; others as in `group_fit`
    """
    coins, a, b = np.empty(CHUNK, np.uint64), np.empty(CHUNK), np.empty(CHUNK)
    of_yes, of_no = np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(0, len(worker), CHUNK):
        here = slice(begin, begin + CHUNK)
        workers, labels, votes = worker[here], label[here], (yes[here], no[here])
        for group in range(len(member)):
            usual, weight = (usual_yes[group], usual_no[group]), member[group]
            n = members_of(workers, labels, *votes, *usual, weight, coins, a, b)
            digamma(a[:n], of_yes)
            digamma(b[:n], of_no)
            no_votes, sums = (rest_yes[group], rest_no[group]), (effective[0, group], effective[1, group])
            for index in range(n):
                w, of_label = weight[workers[coins[index]]], labels[coins[index]]
                sums[0][of_label] += w * (of_yes[index] - no_votes[0][of_label])
                sums[1][of_label] += w * (of_no[index] - no_votes[1][of_label])


@loop
def expected_log_rates(worker, label, yes, no, usual_yes, usual_no, member, log_yes, log_no):  # type: ignore[no-untyped-def]
    """Add to the expected log of each coin's rate, and of one minus it, over the groups of its worker.

    For a rate with a beta distribution of a yes and b no, E log rate = digamma(a) − digamma(a + b).
    """
    coins, a, b = np.empty(CHUNK, np.uint64), np.empty(CHUNK), np.empty(CHUNK)
    of_yes, of_no, of_both = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(0, len(worker), CHUNK):
        here = slice(begin, begin + CHUNK)
        workers, labels, votes = worker[here], label[here], (yes[here], no[here])
        yes_here, no_here = log_yes[here], log_no[here]
        for group in range(len(member)):
            usual, weight = (usual_yes[group], usual_no[group]), member[group]
            n = members_of(workers, labels, *votes, *usual, weight, coins, a, b)
            digamma(a[:n], of_yes)
            digamma(b[:n], of_no)
            for index in range(n):
                a[index] += b[index]
            digamma(a[:n], of_both)
            for index in range(n):
                coin = coins[index]
                w = weight[workers[coin]]
                yes_here[coin] += w * (of_yes[index] - of_both[index])
                no_here[coin] += w * (of_no[index] - of_both[index])
