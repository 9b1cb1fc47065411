"""When a pair is settled: more answers are hardly needed, and at most 5 % of the pairs called so are wrong.

Three things must hold: the model claims a small error; the votes by themselves stand behind the decision; and, where
families of workers are declared, more than one of them does. How small the claimed error must be is *measured* where
enough truth is known: by the errors that were made on known pairs, with probabilities that had not seen their truth.
Elsewhere it is *assumed*: models are surer than they are right, so much less than 5 % must be claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from amcc.arrays import AnyInts, Floats, Ints, Mask, once_per_pair
from amcc.special import betainc, betaincinv

VoteCounts = AnyInts | Floats  # whole votes, or votes weighted by worker
Basis = Literal["measured", "assumed"]

# What `settled` promises: at most this share of the settled pairs is wrong. One in twenty is what readers of a 95 %
# interval are used to.
SETTLED_ERROR = 0.05

# The largest error that a model may claim where nothing is known to measure it by: two fifths of what is promised,
# since models are surer than they are right.
ASSUMED_CLAIM = 0.02

# The same where votes are shown to repeat each other, and nobody said who does: agreement then proves little. On sets
# with language models that are not declared as such, 3 to 7 % of the pairs that claim 1 to 2 % are wrong.
DEPENDENT_CLAIM = 0.005

# What a model may be asked to claim where truth is known, most useful first. No pair claims more than is promised.
# Steps get finer downwards, as the number of settled pairs falls.
CLAIMS = (0.05, 0.04, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005, 0.003)

# A claim that no model makes: nothing is settled but what is known.
NOTHING = -1.0

# Probability with which a measured rule keeps the promise. With 0.8 or 0.95 hardly anything changes on real sets.
CONFIDENCE = 0.9

# Correlation of errors on pairs of one item, for the bound: the usual order of cluster effects in surveys.
ITEM_CORRELATION = 0.1

# What is wrong among pairs that are settled on an assumption, by experience with real sets (`amcc board`: 0 to 4 %,
# more where workers share errors), and the known pairs that this experience counts as.
EXPERIENCED_ERROR, EXPERIENCE = 0.03, 20

# Parts of a vote that `stands_behind` tells apart: votes that others repeat count for less than one, and hundredths
# decide nothing.
PARTS = 100

# Rows that are looked at together: enough that calls take no time beside them, and so few that memory is no matter.
PIECE = 1 << 17

# Declared families that must stand behind a settled pair: within a family, errors are shared.
MIN_FAMILIES = 2


def stands_behind(n_agree: VoteCounts, n_differ: VoteCounts, error: float = SETTLED_ERROR) -> Mask:
    """Where the votes by themselves stand behind a decision that so many agree with, and so many do not.

    If workers are equals, most of all who could be asked would side with the decision, except with a probability of
    `error` (Jeffreys' prior). At 5 % it takes 3 votes that agree, 5 against 1, 7 against 2.

    >>> stands_behind(np.array([2, 3, 4, 5]), np.array([0, 0, 1, 1])).tolist()
    [False, True, False, True]
    """
    agree, differ = (np.rint(PARTS * count).astype(np.int64) for count in (n_agree, n_differ))

    def enough(agreeing: Ints, differing: Ints) -> Mask:
        return np.asarray(betainc(agreeing / PARTS + 0.5, differing / PARTS + 0.5, 0.5) <= error)

    return once_per_pair(enough, agree, differ)


def settled(
    proba: Floats,
    n_yes: VoteCounts,
    n_votes: VoteCounts,
    *,
    claim: float = ASSUMED_CLAIM,
    n_families: VoteCounts | None = None,
) -> Mask:
    """Where more answers are hardly needed: both the model and the votes by themselves stand behind the decision.

    The model: the less likely of present and absent has at most `claim`. The votes: see `stands_behind`; no model
    settles a pair on one vote, or on an even split. `n_families`: how many declared families are among the workers who
    agree with the decision; one alone settles nothing. All arrays have the same shape; a pair without votes is open.
    """
    result = (proba <= claim) | (proba >= 1 - claim)
    if n_families is not None:
        result &= n_families >= MIN_FAMILIES
    for first in range(0, len(proba), PIECE):  # what is made on the way would take several times as much as the result
        here = slice(first, first + PIECE)
        sure = result[here].copy()  # only for these the votes are looked at
        agree = np.where(proba[here] > 0.5, n_yes[here], n_votes[here] - n_yes[here])[sure]
        result[here][sure] = stands_behind(agree, n_votes[here][sure] - agree)
    return result


@dataclass(frozen=True)
class Settling:
    """The rule by which pairs are settled.

    basis : whether known truth says that the rule keeps its promise.
    claim : the largest error that the model may claim of a settled pair; below 0 nothing is settled.
    n_checked, n_wrong : known pairs that the rule would settle were their truth unknown, and how many it gets wrong.
    """

    basis: Basis
    claim: float
    n_checked: int = 0
    n_wrong: int = 0

    def of(self, proba: Floats, n_yes: VoteCounts, n_votes: VoteCounts, n_families: VoteCounts | None = None) -> Mask:
        """Where pairs are settled, see `settled`."""
        return settled(proba, n_yes, n_votes, claim=self.claim, n_families=n_families)

    def sentence(self) -> str:
        """What settled pairs rest on, in words.

        >>> Settling("measured", 0.03, 80, 1).sentence()
        'settled is measured: of 80 known pairs that would count as settled, 1 is wrong'
        >>> ASSUMED.sentence()
        'settled is assumed, not measured: no truth is known to check it by; it asks for claimed errors up to 2 %'
        """
        wrong = f"{self.n_wrong:,} {'is' if self.n_wrong == 1 else 'are'} wrong"
        checked = f"of {self.n_checked:,} known pairs that would count as settled, {wrong}"
        if self.claim < 0:
            return f"nothing is settled but what is known: {checked}, and at most {100 * SETTLED_ERROR:g} % may be"
        if self.basis == "measured":
            return f"settled is measured: {checked}"
        known = f"too little truth is known ({checked})" if self.n_checked else "no truth is known to check it by"
        return f"settled is assumed, not measured: {known}; it asks for claimed errors up to {100 * self.claim:.2g} %"


# The rule where no truth is known.
ASSUMED = Settling("assumed", ASSUMED_CLAIM)


def assumed_settling(dependent: float, claim: float = ASSUMED_CLAIM) -> Settling:
    """The rule where no truth is known, and votes are shown to repeat each other, from 0 (not at all) to 1.

    claim : the largest error that may be claimed at 0; at 1 it is a quarter (`DEPENDENT_CLAIM` of `ASSUMED_CLAIM`)

    >>> assumed_settling(0.5).claim
    0.0125
    """
    return Settling("assumed", claim * (1 - dependent + dependent * DEPENDENT_CLAIM / ASSUMED_CLAIM))


def measured_settling(
    proba: Floats,
    n_yes: VoteCounts,
    n_votes: VoteCounts,
    present: Mask,
    item: AnyInts,
    otherwise: Settling = ASSUMED,
    n_families: VoteCounts | None = None,
) -> Settling:
    """The rule that the known truth of some pairs supports.

    proba : (n,) of the known pairs, as they would be were their truth not known; item : whose pairs they are.
    otherwise : what is assumed without truth; n_yes, n_votes, n_families : as in `settled`.

    The largest of `CLAIMS` by which so few known pairs are settled wrongly that the error among all settled pairs is
    below `SETTLED_ERROR` with probability `CONFIDENCE`. Where the truth is too scarce to say that of any, what is
    assumed without truth stands, unless the known pairs that it settles say otherwise: with them, more than the
    promised share is expected to be wrong. Then nothing is settled.
    """
    claimed, wrong = np.minimum(proba, 1 - proba), (proba > 0.5) != present
    # Every claim is below one half, so that the votes alone decide here.
    candidate = settled(proba, n_yes, n_votes, claim=0.5, n_families=n_families)
    for claim in CLAIMS:
        chosen = candidate & (claimed <= claim)
        if error_bound(wrong[chosen], item[chosen]) <= SETTLED_ERROR:
            return Settling("measured", claim, int(chosen.sum()), int(wrong[chosen].sum()))
    chosen = candidate & (claimed <= otherwise.claim)
    n_checked, n_wrong = int(chosen.sum()), int(wrong[chosen].sum())
    # Expected share of wrong pairs, with experience as a prior, against what is promised.
    if EXPERIENCE * EXPERIENCED_ERROR + n_wrong > SETTLED_ERROR * (EXPERIENCE + n_checked):
        return Settling("measured", NOTHING, n_checked, n_wrong)
    return Settling("assumed", otherwise.claim, n_checked, n_wrong)


def error_bound(wrong: Mask, item: AnyInts) -> float:
    """Upper bound of the share that is wrong, by a sample of pairs (Jeffreys' prior); 1 without any.

    Pairs of an item tend to be wrong together, so that n pairs of k items count as n / (1 + (n/k − 1) ρ) single ones,
    with ρ = `ITEM_CORRELATION`.
    """
    n_pairs = len(wrong)
    if not n_pairs:
        return 1.0
    per_item = n_pairs / len(np.unique(item))
    n_single = n_pairs / (1 + (per_item - 1) * ITEM_CORRELATION)
    n_wrong = wrong.mean() * n_single
    return float(betaincinv(n_wrong + 0.5, n_single - n_wrong + 0.5, CONFIDENCE))
