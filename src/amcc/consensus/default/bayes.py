"""Bayes' rule and Beta distributions: the few lines of maths that several files of the model need.

A *coin* says yes at an unknown rate ~ Beta(lent yes, lent no). The rate is integrated out: what is left of a coin with
n yeses and k noes is the ratio of two Beta functions (`log_evidence`). Such ratios are concave neither in the usual
rate nor in the strength, so both are improved by steps that cannot lower them: `effective_votes_of` and
`best_of_three`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from amcc import special
from amcc.arrays import Floats, clipped
from amcc.special import gammaln
from amcc.threads import in_threads, n_pieces

# Pseudo-votes beyond these change nothing: fewer than one vote, or more than anybody gives.
STRENGTH_RANGE = (0.5, 4096.0)

# Numbers from which a series in numpy is faster than scipy's function, which asks of each number how large it is (with
# that alone, fits of 10⁴ and 10⁵ votes take 6 and 13 % longer), and how many it takes at a time, so that they stay in
# the cache. With fewer, calls take longer than sums.
SOME, PIECE = 1500, 8192

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)

# Numbers from which compiled loops compute special functions, several times as fast: as many as there are in a table of
# kinds for coins that compiled loops have seen already (`coins.FEW_COINS`), so that nobody waits for them to load.
MANY = 24_000


def posterior(log_joint: Floats) -> tuple[Floats, Floats]:
    """Bayes' rule by columns: probabilities of (n_kinds, n) that sum to 1, and (n,) the log of their sums before.

    Kinds are rows, for a few long rows are many times as fast as many short ones. The largest entry of a column is
    taken out first: the others are at most 1 then, and no sum overflows.

    >>> proba, evidence = posterior(np.log([[0.1], [0.3]]))
    >>> proba[:, 0].round(2).tolist(), np.exp(evidence).round(2).tolist()
    ([0.25, 0.75], [0.4])
    """
    largest = log_joint.max(axis=0)
    proba = log_joint - largest
    np.exp(proba, out=proba)  # in place: for tables, new memory takes longer than the exponential
    total = proba.sum(axis=0)
    proba /= total
    return proba, np.asarray(largest + np.log(total))


def log_evidence(lent_yes: Floats, lent_no: Floats, yes: Floats, no: Floats) -> Floats:
    """Log-probability of votes (in one order) by coins with these pseudo-votes, rates integrated out."""
    return log_beta(lent_yes + yes, lent_no + no) - log_beta(lent_yes, lent_no)


def log_beta(yes: Floats, no: Floats, many: float = MANY) -> Floats:
    """Log of the beta function of positive numbers, of one shape; by the compiled loop where there are so many."""
    if yes.size >= many:
        return _compiled("log_beta", yes, no)
    if yes.size < SOME:
        return np.asarray(gammaln(yes) + gammaln(no) - gammaln(yes + no))
    flat, result = (yes.reshape(-1), no.reshape(-1)), np.empty(yes.size)
    for first in range(0, len(result), PIECE):
        here = slice(first, first + PIECE)
        result[here] = _log_beta_by_series(*(each[here] for each in flat))
    return result.reshape(yes.shape)


def _log_beta_by_series(yes: Floats, no: Floats) -> Floats:
    """As `loops.coins.log_beta`, which says how exact it is; nothing branches, so numpy takes several at a time."""

    def stirling(x: Floats) -> Floats:
        square = 1.0 / (x * x)
        series = square * (1 / 1188 - square * (691 / 360360)) - 1 / 1680
        series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 + square * series))
        return np.asarray((x - 0.5) * np.log(x) + series / x)

    def rising(x: Floats) -> Floats:
        ends = x * (x + 7.0)
        return np.asarray(ends * (ends + 6.0) * (ends + 10.0) * (ends + 12.0))

    total = yes + no
    far = stirling(yes + 8.0) + stirling(no + 8.0) - stirling(total + 8.0)
    return np.asarray(far - np.log(rising(yes) / rising(total) * rising(no)) + (HALF_LOG_2PI - 8.0))


def digamma(x: Floats) -> Floats:
    """The derivative of log-gamma for positive numbers, by the compiled loop where they are many."""
    return special.digamma(x) if x.size < MANY else _compiled("digamma", x)


def _compiled(name: str, *numbers: Floats) -> Floats:
    """What the loop of that name makes of arrays of one shape, on all cores."""
    from amcc.loops import coins as coin_loops  # here, for compiled loops take longer to load than small fits need

    loop, shape, result = getattr(coin_loops, name), numbers[0].shape, np.empty(numbers[0].size)
    flat = [np.ascontiguousarray(each).reshape(-1) for each in numbers]
    bounds = np.linspace(0, len(result), n_pieces(len(result)) + 1).astype(np.int64)

    def run(piece: int) -> None:
        here = slice(bounds[piece], bounds[piece + 1])
        loop(*(each[here] for each in flat), result[here])

    in_threads(run, len(bounds) - 1)
    return result.reshape(shape)


def effective_votes_of(lent: Floats, votes: Floats) -> Floats:
    """Votes as they count for what the coins have in common: x₀ · (Ψ(x₀ + n) − Ψ(x₀)), Minka's fixed point.

    Why a step that climbs with these votes climbs the evidence: log Γ(x + n) − log Γ(x), x = strength · rate, is never
    below the function constant + effective · log rate, and meets it at x₀, where we are. So what raises the function
    raises the evidence at least as much. The first vote of a coin counts for 1; the more there are, the less each adds.

    This holds for n = 0 and n ≥ 1. Expected votes may be parts of one, 0 < n < 1: then the function lies above the
    evidence, by at most 0.13 for a step of one unit, and the other coins have to make up for it. They do so in all our
    fits (`test_bound_never_falls`), yet it is no theorem there.

    >>> effective_votes_of(np.array([2.0, 2.0, 2.0]), np.array([0.0, 1.0, 10.0])).round(2).tolist()
    [0.0, 1.0, 4.04]
    """
    return np.asarray(lent * (digamma(lent + votes) - digamma(lent)))


def best_of_three(strength: Floats, value: Callable[[Floats], Floats]) -> Floats:
    """Each strength as it is, halved or doubled, whichever has the highest value; `value` is asked about all, (3, …).

    The value cannot fall, since "as it is" is among the three and comes first where they are equal. Factors of two are
    fine enough: on real crowds a strength is known to a factor of two at best.
    """
    tried = clipped(np.array([[1.0], [0.5], [2.0]]) * strength, *STRENGTH_RANGE)
    best = value(tried).argmax(axis=0)
    return np.asarray(tried[best, np.arange(len(strength))])
