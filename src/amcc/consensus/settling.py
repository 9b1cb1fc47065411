"""When a pair is settled: more answers are hardly needed, and at most 5 % of the pairs called so are wrong.

Three things must hold: the model claims an error of at most 5 %; two votes or more agree with the decision, and more
than differ from it; and, where families of workers are declared, more than one of them agrees. So it is *assumed* as
long as no truth is known, and a mistake that the whole crowd shares cannot be seen in its votes. Where truth is known,
the error among settled pairs is *measured*: by known pairs, with probabilities that had not seen their truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from amcc.arrays import ROUNDING, AnyInts, Floats, Ints, Mask
from amcc.consensus.families import families_behind
from amcc.roster import Seats
from amcc.special import betaincinv
from amcc.votes import Votes

VoteCounts = AnyInts | Floats  # whole votes, or votes weighted by worker
Basis = Literal["measured", "assumed"]

# What `settled` promises: at most this share of the settled pairs is wrong. One in twenty is what readers of a 95 %
# interval are used to. So much may be claimed of a pair where no truth is known.
SETTLED_ERROR = 0.05

# What a model may be asked to claim where truth is known, most useful first. Steps get finer downwards, as the number
# of settled pairs falls.
CLAIMS = (0.05, 0.04, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005, 0.003)

# A claim that no model makes: nothing is settled but what is known.
NOTHING = -1.0

# Probability with which a measured rule keeps the promise. With 0.8 or 0.95 hardly anything changes on real sets.
CONFIDENCE = 0.9

# Correlation of errors on pairs of one item, for the bound: the usual order of cluster effects in surveys.
ITEM_CORRELATION = 0.1

# What is wrong among pairs that are settled on an assumption, by experience with real sets (`amcc board`), and the
# known pairs that this experience counts as.
EXPERIENCED_ERROR, EXPERIENCE = 0.03, 20

# Votes that must agree with a settled decision: one alone may be anybody's slip.
MIN_VOTES = 2

# Declared families that must be among those who agree: within a family, errors are shared.
MIN_FAMILIES = 2


def settled(
    proba: Floats,
    n_yes: VoteCounts,
    n_votes: VoteCounts,
    *,
    claim: float = SETTLED_ERROR,
    n_families: VoteCounts | None = None,
) -> Mask:
    """Where more answers are hardly needed, see above; a pair without votes is open. All arrays have the same shape.

    n_yes, n_votes : votes on the pair, one for each worker
    n_families : how many declared families are among the workers who agree with the decision

    >>> settled(np.array([0.98, 0.98, 0.98, 0.9]), np.array([2, 1, 2, 5]), np.array([2, 1, 4, 5])).tolist()
    [True, False, False, False]
    """
    agree = np.where(proba > 0.5, n_yes, n_votes - n_yes)
    result = (np.minimum(proba, 1 - proba) <= claim + ROUNDING) & (agree >= MIN_VOTES) & (2 * agree > n_votes)
    return result if n_families is None else result & (n_families >= MIN_FAMILIES)


class Support(NamedTuple):
    """(n_pairs,) what stands behind the decisions: votes that say yes, and all, one of each worker.

    n_families : how many declared families agree with the decision; None where nobody says who the workers are
    """

    n_yes: Ints
    n_votes: Ints
    n_families: Ints | None


def support(votes: Votes, proba: Floats, seats: Seats | None) -> Support:
    """What stands behind the decisions on the pairs of `votes`; (n_pairs,) `proba` decides."""
    counted = votes.one_per_worker()  # several samples of one worker are one opinion
    behind = None if seats is None else families_behind(counted, seats, proba)
    return Support(counted.n_yes.astype(np.int64), counted.pairs.n_votes.astype(np.int64), behind)


class SettledCounts(NamedTuple):
    """Pairs that are called present and absent, and how many of each are settled."""

    present: int
    settled_present: int
    absent: int
    settled_absent: int

    @classmethod
    def of(cls, present: Mask, settled: Mask) -> SettledCounts:
        """(n_pairs,) what pairs are called, and which are settled."""
        each = (present, present & settled, ~present, ~present & settled)
        return cls(*(int(np.count_nonzero(kind)) for kind in each))

    @property
    def settled(self) -> int:
        """Settled pairs, of either kind."""
        return self.settled_present + self.settled_absent

    def shares(self) -> dict[str, float | None]:
        """Settled shares of the pairs called present and of those called absent; None where there is no such pair.

        >>> SettledCounts(10, 4, 0, 0).shares()
        {'settled_present': 0.4, 'settled_absent': None}
        """
        counts = {"settled_present": (self.settled_present, self.present)}
        counts["settled_absent"] = (self.settled_absent, self.absent)
        return {name: n / n_all if n_all else None for name, (n, n_all) in counts.items()}

    def sentence(self) -> str:
        """Both shares in words.

        >>> SettledCounts(10, 4, 2000, 1500).sentence()
        'of the 10 asked pairs called present 40 % are settled, of the 2,000 called absent 75 %'
        """
        shares = {name: "none" if share is None else f"{share:.0%}".replace("%", " %")
                  for name, share in self.shares().items()}  # fmt: skip
        return (
            f"of the {self.present:,} asked pairs called present {shares['settled_present']} are settled, of the "
            f"{self.absent:,} called absent {shares['settled_absent']}"
        )


# Of nothing that was asked.
NO_PAIRS = SettledCounts(0, 0, 0, 0)


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

    def of_votes(self, votes: Votes, proba: Floats, seats: Seats | None) -> Mask:
        """(n_pairs,) which pairs of `votes` are settled. Whoever says so of votes asks here: it is one rule for all."""
        return self.of(proba, *support(votes, proba, seats))

    def sentence(self) -> str:
        """What settled pairs rest on, in words.

        >>> Settling("measured", 0.03, 80, 1).sentence()
        'settled is measured: of 80 known pairs that would count as settled, 1 is wrong'
        >>> ASSUMED.sentence()
        'settled is assumed, not measured: a mistake that all share cannot be seen in votes; a few known items show it'
        """
        wrong = f"{self.n_wrong:,} {'is' if self.n_wrong == 1 else 'are'} wrong"
        checked = f"of {self.n_checked:,} known pairs that would count as settled, {wrong}"
        if self.claim < 0:
            return f"nothing is settled but what is known: {checked}, and at most {100 * SETTLED_ERROR:g} % may be"
        if self.basis == "measured":
            return f"settled is measured: {checked}"
        if self.n_checked:
            return f"settled is assumed, not measured: too little truth is known ({checked})"
        return (
            "settled is assumed, not measured: a mistake that all share cannot be seen in votes; a few known items "
            "show it"
        )


# The rule where no truth is known.
ASSUMED = Settling("assumed", SETTLED_ERROR)


def measured_settling(
    proba: Floats,
    n_yes: VoteCounts,
    n_votes: VoteCounts,
    present: Mask,
    item: AnyInts,
    n_families: VoteCounts | None = None,
) -> Settling:
    """The rule that the known truth of some pairs supports.

    proba : (n,) of the known pairs, as they would be were their truth not known; item : whose pairs they are.
    n_yes, n_votes, n_families : as in `settled`.

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
    chosen = candidate & (claimed <= SETTLED_ERROR)
    n_checked, n_wrong = int(chosen.sum()), int(wrong[chosen].sum())
    # Expected share of wrong pairs, with experience as a prior, against what is promised.
    if EXPERIENCE * EXPERIENCED_ERROR + n_wrong > SETTLED_ERROR * (EXPERIENCE + n_checked):
        return Settling("measured", NOTHING, n_checked, n_wrong)
    return Settling("assumed", SETTLED_ERROR, n_checked, n_wrong)


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
