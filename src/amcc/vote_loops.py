"""The compiled loops of `kernels`; imported only for many votes, since numba takes a third of a second to import.

Pairs are handled in chunks: first all evidence is gathered, then all probabilities are computed, then all are given to
the coins. So no loop waits for what it has just looked up, the exponentials need no branches and are computed several
at a time, and what one step leaves for the next stays in the nearest cache.

Codes are unsigned here: they cannot count from the end of an array, and so need not be asked whether they do.
"""

import numpy as np
from numba import njit

CHUNK = 256
"""Pairs of a chunk. A product of as many numbers from 1 to 2 is far from overflow."""

LOG2_E = 1.4426950408889634
LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 as a number with few digits, whose multiples are exact, and the rest."""

MOST_NEGATIVE = -1000.0
"""Where exponentials have long been zero."""

loop = njit(nogil=True, cache=True, error_model="numpy")  # divisors need not be looked at: none is zero
summing = njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})  # several sums at a time, then theirs
contracted = njit(nogil=True, cache=True, fastmath={"contract"})  # products may be added without rounding them first


# -- steps of a chunk ----------------------------------------------------------------------------------------------


@loop
def copy(source, target):  # type: ignore[no-untyped-def]
    """As `target[:] = source`, which takes seconds to compile."""
    for index in range(len(source)):
        target[index] = source[index]


@loop
def add_evidence(slot, start, evidence, log_odds):  # type: ignore[no-untyped-def]
    """Add the evidence of its votes to each pair's log-odds; `start` is that of these pairs, `slot` of all votes."""
    for pair in range(len(log_odds)):
        total = log_odds[pair]
        for vote in range(start[pair], start[pair + 1]):
            total += evidence[slot[vote]]
        log_odds[pair] = total


@loop
def add_to_slots(slot, start, proba, present):  # type: ignore[no-untyped-def]
    """Add each pair's probability to the slots of its votes."""
    for pair in range(len(proba)):
        q = proba[pair]
        for vote in range(start[pair], start[pair + 1]):
            present[slot[vote]] += q


@contracted
def exp_minus(log_odds, power, tail):  # type: ignore[no-untyped-def]
    """Fill `tail` with exp(−|log-odds|), exact to the last digit but one; `power` is room for as many whole numbers.

    exp(x) = 2ⁿ exp(x − n ln 2) with the whole number n nearest to x / ln 2: the first factor is made of the bits of n,
    the second is Taylor's polynomial, exact for |x − n ln 2| ≤ ln 2 / 2. A library's exp, one at a time, takes three
    times as long.
    """
    for index in range(len(log_odds)):
        x = -abs(log_odds[index])
        n = np.floor(LOG2_E * (MOST_NEGATIVE if x < MOST_NEGATIVE else x) + 0.5)
        power[index] = np.int64(1023.0 + (-1023.0 if n < -1023.0 else n)) << 52
    two_to_n = power.view(np.float64)
    for index in range(len(log_odds)):
        x = -abs(log_odds[index])
        x = MOST_NEGATIVE if x < MOST_NEGATIVE else x
        n = np.floor(LOG2_E * x + 0.5)
        r = (x - n * LN_2_HIGH) - n * LN_2_LOW
        series = 1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800))
        series = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * series))
        series = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * series))
        series = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * series))))
        tail[index] = series * two_to_n[index]


@loop
def probabilities(log_odds, power, tail, proba):  # type: ignore[no-untyped-def]
    """Fill `proba`, and `tail` with exp(−|log-odds|)."""
    exp_minus(log_odds, power, tail)
    for index in range(len(log_odds)):
        larger = 1.0 / (1.0 + tail[index])
        proba[index] = larger if log_odds[index] >= 0.0 else tail[index] * larger


@summing
def sum_of_log_odds(log_odds, tail):  # type: ignore[no-untyped-def]
    """Sum of log(1 + exp(log-odds)), for `tail` as above; one logarithm of a product is as good as many."""
    total, product = 0.0, 1.0
    for index in range(len(log_odds)):
        total += max(log_odds[index], 0.0)
        product *= 1.0 + tail[index]
    return total + np.log(product)


@loop
def difference(proba, before):  # type: ignore[no-untyped-def]
    """Sum of squared differences, and the largest difference."""
    squares, change = 0.0, 0.0
    for index in range(len(proba)):
        moved = abs(proba[index] - before[index])
        squares += moved * moved
        change = max(change, moved)
    return squares, change


@loop
def priors(label, known, log_odds, certain, prior):  # type: ignore[no-untyped-def]
    """Fill `prior` with the pairs' log-odds before any vote."""
    for pair in range(len(label)):
        prior[pair] = log_odds[label[pair]]
    for pair in range(len(known)):
        if known[pair] != 0:
            prior[pair] = certain * known[pair]


@loop
def shares_of_yes(slot, start, known, share):  # type: ignore[no-untyped-def]
    """Fill `share` with the probabilities of the very start."""
    for pair in range(len(share)):
        n_yes = 0
        for vote in range(start[pair], start[pair + 1]):
            n_yes += slot[vote] & 1
        share[pair] = n_yes / (start[pair + 1] - start[pair])
    for pair in range(len(known)):
        if known[pair] != 0:
            share[pair] = 1.0 if known[pair] > 0 else 0.0


@loop
def add_labels(label, prior, proba, label_present):  # type: ignore[no-untyped-def]
    """Add the probabilities to those of their labels; the sum of probability times log-odds before any vote."""
    prior_sum = 0.0
    for pair in range(len(label)):
        label_present[label[pair]] += proba[pair]
        prior_sum += proba[pair] * prior[pair]
    return prior_sum


# -- passes over all pairs from `first` to `last` ------------------------------------------------------------------


@loop
def posterior(slot, start, evidence, prior, first, last, before, proba, present):  # type: ignore[no-untyped-def]
    """Fill `proba` and add to `present`; sum of log(1 + exp(log-odds)), the largest change, sum of their squares."""
    log_odds_sum, change, squares = 0.0, 0.0, 0.0
    log_odds, tail, power = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        here, starts, now = log_odds[: end - begin], start[begin : end + 1], proba[begin:end]
        copy(prior[begin:end], here)
        add_evidence(slot, starts, evidence, here)
        probabilities(here, power, tail, now)
        log_odds_sum += sum_of_log_odds(here, tail)
        moved = difference(now, before[begin:end])
        squares, change = squares + moved[0], max(change, moved[1])
        add_to_slots(slot, starts, now, present)
    return log_odds_sum, change, squares


@loop
def one_round(  # type: ignore[no-untyped-def]
    slot, start, label, known, evidence, log_odds_of_label, old_evidence, old_log_odds, starting, kept, certain,
    first, last, proba, present, label_present,
):  # fmt: skip
    """Fill `proba` and add to `present` and `label_present`; the sums of `kernels.Round`."""
    log_odds_sum, prior_sum, squares, change = 0.0, 0.0, 0.0, 0.0
    log_odds, tail, prior, share = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    power = np.empty(CHUNK, np.int64)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        here, starts, labels, now = log_odds[: end - begin], start[begin : end + 1], label[begin:end], proba[begin:end]
        before, truth = share[: end - begin], known[begin:end]  # stays empty where nothing is known
        if starting:
            shares_of_yes(slot, starts, truth, before)
        elif len(kept):
            copy(kept[begin:end], before)
        else:
            priors(labels, truth, old_log_odds, certain, here)
            add_evidence(slot, starts, old_evidence, here)
            probabilities(here, power, tail, before)
        priors(labels, truth, log_odds_of_label, certain, prior)
        copy(prior[: end - begin], here)
        add_evidence(slot, starts, evidence, here)
        probabilities(here, power, tail, now)
        log_odds_sum += sum_of_log_odds(here, tail)
        prior_sum += add_labels(labels, prior, now, label_present)
        moved = difference(now, before)
        squares, change = squares + moved[0], max(change, moved[1])
        add_to_slots(slot, starts, now, present)
    return log_odds_sum, prior_sum, squares, change


@loop
def sum_over_votes(slot, start, evidence, first, last, total):  # type: ignore[no-untyped-def]
    """Add to `total` the evidence of the votes on each pair."""
    add_evidence(slot, start[first : last + 1], evidence, total[first:last])


@loop
def sum_over_slots(slot, start, proba, first, last, present):  # type: ignore[no-untyped-def]
    """Add to `present` the probabilities of the pairs that each slot met."""
    add_to_slots(slot, start[first : last + 1], proba[first:last], present)


@loop
def judge_by_others(slot, start, evidence, prior, first, last, weight, square):  # type: ignore[no-untyped-def]
    """Add to `weight` and `square` what the prior and the other votes on its pair say about each vote."""
    log_odds, without = np.empty(CHUNK), np.empty(CHUNK)
    tail, proba, power = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        here, starts = log_odds[: end - begin], start[begin : end + 1]
        copy(prior[begin:end], here)
        add_evidence(slot, starts, evidence, here)
        pair = 0
        for lowest in range(starts[0], starts[end - begin], CHUNK):  # votes are more than pairs: chunks of their own
            n_votes = min(CHUNK, starts[end - begin] - lowest)
            slots = slot[lowest : lowest + n_votes]
            for vote in range(n_votes):
                while lowest + vote >= starts[pair + 1]:
                    pair += 1
                without[vote] = here[pair] - evidence[slots[vote]]
            probabilities(without[:n_votes], power, tail, proba)
            for vote in range(n_votes):
                q = proba[vote]
                weight[slots[vote]] += q
                square[slots[vote]] += q * q


@loop
def count_answers(item, worker, per_item, per_worker, latest_item):  # type: ignore[no-untyped-def]
    """Add to the counts; `latest_item` of each worker is -1 at first."""
    for vote in range(len(item)):
        if latest_item[worker[vote]] != item[vote]:
            latest_item[worker[vote]] = item[vote]
            per_item[item[vote]] += 1
            per_worker[worker[vote]] += 1


@loop
def unpack_votes(keys, label_bits, worker_bits, first, last, item, worker, label, value):  # type: ignore[no-untyped-def]
    """Fill item, worker, label and value."""
    for vote in range(first, last):
        key = keys[vote]
        value[vote] = (key & 1) * 2 - 1
        worker[vote] = (key >> 1) & ((1 << worker_bits) - 1)
        label[vote] = (key >> (worker_bits + 1)) & ((1 << label_bits) - 1)
        item[vote] = key >> (worker_bits + 1 + label_bits)
