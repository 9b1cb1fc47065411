"""Why people disagree about a pair: kinds of disagreement, decided by which explanation fits its votes best.

Four explanations compete for the votes on a pair (i, l); in each, votes are independent of one another:

    present   worker w says yes at their hit rate on the label
    absent    worker w says yes at their false-alarm rate on the label
    hard      everybody says yes at one rate q near 1/2, whoever they are: nobody sees clearly
    split     worker w says yes at side[w], or everybody the other way round: the same people against the same people

    P(explanation | votes) ∝ share[l, explanation] · P(votes | explanation)

Shares and rates are learned by EM, from the consensus of any model as the start: all that is asked of a model is the
probability of each pair. Items are dealt into `FOLDS`, and the sides that are used in a fold are learned from the
others, so that a pair never helps to find the sides by which it is called split. And a label has the explanation
`split` at all only where it predicts held-out votes better than the others do, by more than `GATE` standard errors:
noise has no sides that last.

Where to read: `asked` (the votes), `explanations` (their likelihoods), `learning` (EM), `sides` (who stands with whom),
`kinds` (the words that people see).
"""

from __future__ import annotations

from amcc.consensus.disagreement.asked import AskedPairs, asked_of
from amcc.consensus.disagreement.explanations import HARD, SPLIT, Explanations
from amcc.consensus.disagreement.kinds import (
    ADVICE,
    HARD_ITEM,
    KINDS,
    LIKELY_SLIP,
    NOT_ASKED,
    SPLIT_CROWD,
    Kind,
    kinds_of,
    why,
)  # fmt: skip
from amcc.consensus.disagreement.learning import learn

__all__ = [
    "ADVICE", "HARD", "HARD_ITEM", "KINDS", "LIKELY_SLIP", "NOT_ASKED", "SPLIT", "SPLIT_CROWD", "AskedPairs",
    "Explanations", "Kind", "asked_of", "kinds_of", "learn", "why",
]  # fmt: skip
