"""The compiled loops of `amcc.passes`; imported only for many votes, since numba takes a third of a second to import.

Pairs are handled in chunks: first all evidence is gathered, then all probabilities are computed, then all are given to
the coins. So no loop waits for what it has just looked up, the exponentials need no branches and are computed several
at a time, and what one step leaves for the next stays in the nearest cache.

Codes are unsigned here: they cannot count from the end of an array, and so need not be asked whether they do. Nothing
else is asked either: a code that is too large reads or writes where it must not. Who calls has checked the codes
(`Votes` when it is made, `PackedVotes` when a block is read).

Every loop over pairs takes the first pair and the one after the last; `passes.run_pieces` calls it once per piece.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from amcc.loops.compiling import Compile, machine_code

# Pairs of a chunk. Their four arrays of 8-byte numbers take 8 KB, a fraction of the nearest cache (32 KB and more), and
# a product of as many numbers from 1 to 2 is at most 2²⁵⁶, far from overflow at 2¹⁰²⁴ (see `probabilities`).
CHUNK = 256

# 1 / ln 2: exp(x) is 2 to the power of x times this.
LOG2_E = 1.4426950408889634

# ln 2 as a number with few digits, and the rest. The last 21 bits of the first are zero, and n has at most 11 bits, so
# n times it is exact: x − n ln 2 loses nothing although both are large and nearly equal.
LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10

# Where exponentials have long been zero (the smallest normal number is exp(−708.4)). Beyond, n would not fit the bits
# it is made into, and infinity minus infinity would be no number.
MOST_NEGATIVE = -1000.0

# Unsigned as the codes are: numba turns the sum of a signed and an unsigned number into a fraction.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)

# What the compiler may do to the arithmetic is said for each loop. Without a word it keeps the order as written. With
# "reassoc" it may sum several numbers side by side, as many as the processor's registers hold: the last digits may
# then depend on the kind of processor, but never on how many cores it has.
loop: Compile = machine_code(error_model="numpy")  # divisors need not be looked at: none is zero
summing: Compile = machine_code(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})  # several at a time
contracted: Compile = machine_code(fastmath={"contract"})  # products may be added without rounding them first


@intrinsic
def bits_of(_typing: Any, number: Any) -> Any:
    """The whole number with the same bits: a reading of them, not a conversion."""
    return types.int64(types.float64), lambda _context, builder, _signature, args: builder.bitcast(
        args[0], ir.IntType(64)
    )


@intrinsic
def number_of(_typing: Any, bits: Any) -> Any:
    """The number with these bits."""
    return types.float64(types.int64), lambda _context, builder, _signature, args: builder.bitcast(
        args[0], ir.DoubleType()
    )


# -- steps of a chunk ----------------------------------------------------------------------------------------------


@loop
def clear(sums):  # type: ignore[no-untyped-def]
    """As `sums[:] = 0.0`, which takes seconds to compile."""
    for index in range(len(sums)):
        sums[index] = 0.0


@loop
def add_evidence(slot, start, evidence, prior, log_odds):  # type: ignore[no-untyped-def]
    """Fill `log_odds` with each pair's prior and the evidence of its votes; `start` is that of these pairs.

    Four votes at a time, then two, then one: pairs have few votes, and a loop over them would mostly count.
    """
    vote = start[0]
    for pair in range(len(log_odds)):
        total, end = prior[pair], start[pair + 1]
        while vote + FOUR <= end:
            some = evidence[slot[vote]] + evidence[slot[vote + ONE]]
            total += some + (evidence[slot[vote + TWO]] + evidence[slot[vote + THREE]])
            vote += FOUR
        if vote + TWO <= end:
            total += evidence[slot[vote]] + evidence[slot[vote + ONE]]
            vote += TWO
        if vote < end:
            total += evidence[slot[vote]]
            vote += ONE
        log_odds[pair] = total


@loop
def add_evidence_of_both(slot, start, both, prior, old_prior, log_odds, old_log_odds):  # type: ignore[no-untyped-def]
    """The same with what is believed and what was believed, side by side in `both`: one look-up finds both."""
    vote = start[0]
    for pair in range(len(log_odds)):
        total, old_total, end = prior[pair], old_prior[pair], start[pair + 1]
        while vote < end:
            total += both[slot[vote], 0]
            old_total += both[slot[vote], 1]
            vote += ONE
        log_odds[pair], old_log_odds[pair] = total, old_total


@loop
def add_to_slots(slot, start, proba, present):  # type: ignore[no-untyped-def]
    """Add each pair's probability to the slots of its votes, likewise."""
    vote = start[0]
    for pair in range(len(proba)):
        q, end = proba[pair], start[pair + 1]
        while vote + FOUR <= end:
            present[slot[vote]] += q
            present[slot[vote + ONE]] += q
            present[slot[vote + TWO]] += q
            present[slot[vote + THREE]] += q
            vote += FOUR
        if vote + TWO <= end:
            present[slot[vote]] += q
            present[slot[vote + ONE]] += q
            vote += TWO
        if vote < end:
            present[slot[vote]] += q
            vote += ONE


@contracted
def exp_minus(x):  # type: ignore[no-untyped-def]
    """exp(−|x|), exact to the last digit but one; 0 where it would be below the smallest normal number.

    exp(x) = 2ⁿ exp(r) with r = x − n ln 2 and the whole number n nearest to x / ln 2: the first factor is made of the
    bits of n, the second is Taylor's polynomial of degree 13.

    Error: |r| ≤ ln 2 / 2 < 0.347, so what Taylor leaves out is at most r¹⁴ / 14! < 4.2e-18, relative to exp(r) ≥ 0.707
    less than 6e-18: a twentieth of the rounding of one operation (1.1e-16). One degree less would leave 2e-16, which
    one would see. The rest is the rounding of the last steps; the tests allow 5e-16. A library's exp, one at a time,
    takes three times as long.
    """
    x = -abs(x)
    x = MOST_NEGATIVE if x < MOST_NEGATIVE else x
    n = np.floor(LOG2_E * x + 0.5)
    r = (x - n * LN_2_HIGH) - n * LN_2_LOW
    series = 1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800))
    series = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * series))
    series = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * series))
    series = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * series))))
    # The bits of 2ⁿ are n + 1023, twelve bits from the top. 0 there is the number 0, not 2⁻¹⁰²³: tiny results vanish.
    power = np.int64(1023.0 + (-1023.0 if n < -1023.0 else n))
    return series * number_of(power << 52)  # type: ignore[call-arg]  # numba fills in the first


@loop
def probability(log_odds, tail):  # type: ignore[no-untyped-def]
    """Probability from log-odds, for `tail` = exp(−|log-odds|).

    Both sides come from the same tail, never from 1 − p: small probabilities keep all their digits.
    """
    larger = 1.0 / (1.0 + tail)
    return larger if log_odds >= 0.0 else tail * larger


@summing
def probabilities(log_odds, proba):  # type: ignore[no-untyped-def]
    """Fill `proba`; the sum of log(1 + exp(log-odds)), for at most a chunk: one logarithm of a product of all.

    log(1 + exp(x)) = max(x, 0) + log(1 + exp(−|x|)), and the second terms of a chunk are the log of one product.

    Error: each of up to 256 factors is rounded twice, so the product is wrong by at most 512 · 1.1e-16 of itself, and
    its logarithm by 6e-14 for the chunk: 2.2e-16 for each pair, no more than a logarithm of its own would be.
    """
    total, product = 0.0, 1.0
    for index in range(len(log_odds)):
        x = log_odds[index]
        tail = exp_minus(x)
        proba[index] = probability(x, tail)
        total += max(x, 0.0)
        product *= 1.0 + tail
    return total + np.log(product)


@summing
def compared(log_odds, prior, before, proba):  # type: ignore[no-untyped-def]
    """The same, and the sum of probability times prior; the sum of squared differences to `before`, and the largest.

    In one loop, so that nothing is fetched twice. Numbers that are not negative are ordered as their bits are, and
    these are compared several at a time: a maximum of fractions is not, since one of them could be no number.
    """
    total, product, prior_sum, squares, largest = 0.0, 1.0, 0.0, 0.0, 0
    for index in range(len(log_odds)):
        x = log_odds[index]
        tail = exp_minus(x)
        q = probability(x, tail)
        proba[index] = q
        total += max(x, 0.0)
        product *= 1.0 + tail
        prior_sum += q * prior[index]
        moved = abs(q - before[index])
        squares += moved * moved
        largest = max(largest, bits_of(moved))  # type: ignore[call-arg]  # numba fills in the first
    return total + np.log(product), prior_sum, squares, number_of(largest)  # type: ignore[call-arg]


@loop
def priors(label, known, log_odds, certain, prior):  # type: ignore[no-untyped-def]
    """Fill `prior` with the pairs' log-odds before any vote; ±`certain` where the truth is known."""
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
def add_to_labels(label, proba, label_present):  # type: ignore[no-untyped-def]
    """Add the probabilities to those of their labels."""
    for pair in range(len(label)):
        label_present[label[pair]] += proba[pair]


# -- passes over all pairs from `first` to `last` ------------------------------------------------------------------


@loop
def posterior(first, last, slot, start, evidence, prior, before, proba, present):  # type: ignore[no-untyped-def]
    """Fill `proba` and `present`; sum of log(1 + exp(log-odds)), the largest change."""
    log_odds_sum, change = 0.0, 0.0
    log_odds = np.empty(CHUNK)
    clear(present)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        here, starts, now = log_odds[: end - begin], start[begin : end + 1], proba[begin:end]
        add_evidence(slot, starts, evidence, prior[begin:end], here)
        sums = compared(here, prior[begin:end], before[begin:end], now)
        log_odds_sum, change = log_odds_sum + sums[0], max(change, sums[3])
        add_to_slots(slot, starts, now, present)
    return log_odds_sum, change


@loop
def one_round(  # type: ignore[no-untyped-def]
    first, last, slot, start, label, known, evidence, log_odds_of_label, both, old_log_odds, starting, kept,
    certain, proba, present, label_present,
):  # fmt: skip
    """Fill `proba` and `present` and add to `label_present`; the sums of `passes.RoundResult`.

    starting : the probabilities before are the shares of yes; else `kept` has them; else, where it is empty, they are
        computed again from `both`, (n_slots, 2) the evidence and what it was before, and `old_log_odds`
    """
    log_odds_sum, prior_sum, squares, change = 0.0, 0.0, 0.0, 0.0
    log_odds, prior, then, made = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    clear(present)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        here, starts, labels, now = log_odds[: end - begin], start[begin : end + 1], label[begin:end], proba[begin:end]
        before, truth = made[: end - begin], known[begin:end]  # stays empty where nothing is known
        priors(labels, truth, log_odds_of_label, certain, prior)
        if len(both):
            priors(labels, truth, old_log_odds, certain, then)
            add_evidence_of_both(slot, starts, both, prior, then, here, then)
            probabilities(then[: end - begin], before)
        else:
            if starting:
                shares_of_yes(slot, starts, truth, before)
            else:
                before = kept[begin:end]
            add_evidence(slot, starts, evidence, prior, here)
        sums = compared(here, prior, before, now)
        log_odds_sum, prior_sum = log_odds_sum + sums[0], prior_sum + sums[1]
        squares, change = squares + sums[2], max(change, sums[3])
        add_to_labels(labels, now, label_present)
        add_to_slots(slot, starts, now, present)
    return log_odds_sum, prior_sum, squares, change


@loop
def sum_over_votes(first, last, slot, start, evidence, total):  # type: ignore[no-untyped-def]
    """Add to `total` the evidence of the votes on each pair: it is read as the prior, then overwritten."""
    add_evidence(slot, start[first : last + 1], evidence, total[first:last], total[first:last])


@loop
def sum_over_slots(first, last, slot, start, proba, present):  # type: ignore[no-untyped-def]
    """Add to `present` the probabilities of the pairs that each slot met."""
    add_to_slots(slot, start[first : last + 1], proba[first:last], present)


@loop
def add_at_coins(first, last, place, values, table):  # type: ignore[no-untyped-def]
    """Add two values for each coin to the two of its place in the table: no two coins have the same place."""
    for coin in range(first, last):
        here, there = TWO * np.uint64(coin), TWO * place[coin]
        table[there] += values[here]
        table[there + ONE] += values[here + ONE]


@loop
def judge_by_others(first, last, slot, start, evidence, prior, weight, square):  # type: ignore[no-untyped-def]
    """Add to `weight` and `square` what the prior and the other votes on its pair say about each vote.

    The evidence of a vote is subtracted from the log-odds of its pair: that leaves the others.
    """
    log_odds, without, proba = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        here, starts = log_odds[: end - begin], start[begin : end + 1]
        add_evidence(slot, starts, evidence, prior[begin:end], here)
        pair = 0
        for lowest in range(starts[0], starts[end - begin], CHUNK):  # votes are more than pairs: chunks of their own
            n_votes = min(CHUNK, starts[end - begin] - lowest)
            slots = slot[lowest : lowest + n_votes]
            for vote in range(n_votes):
                while lowest + vote >= starts[pair + 1]:
                    pair += 1
                without[vote] = here[pair] - evidence[slots[vote]]
            probabilities(without[:n_votes], proba)
            for vote in range(n_votes):
                q = proba[vote]
                weight[slots[vote]] += q
                square[slots[vote]] += q * q


@loop
def count_answers(item, worker, per_item, per_worker, latest_item):  # type: ignore[no-untyped-def]
    """Add to the counts; `latest_item` of each worker is -1 at first.

    Votes are sorted by item, so a worker who has an answer to this item already had it a moment ago: remembering one
    item for each worker is enough to count every answer once.
    """
    for vote in range(len(item)):
        if latest_item[worker[vote]] != item[vote]:
            latest_item[worker[vote]] = item[vote]
            per_item[item[vote]] += 1
            per_worker[worker[vote]] += 1


@loop
def unpack_votes(first, last, keys, label_bits, worker_bits, item, worker, label, value):  # type: ignore[no-untyped-def]
    """Fill item, worker, label and value; the bits of a key are item, label, worker, yes, from the top."""
    for vote in range(first, last):
        key = keys[vote]
        value[vote] = (key & 1) * 2 - 1
        worker[vote] = (key >> 1) & ((1 << worker_bits) - 1)
        label[vote] = (key >> (worker_bits + 1)) & ((1 << label_bits) - 1)
        item[vote] = key >> (worker_bits + 1 + label_bits)
