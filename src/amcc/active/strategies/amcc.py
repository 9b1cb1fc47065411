"""The paper's strategy, and its ablations, which leave one part of it to chance or out.

The paper asks for the best (item, label, worker) of all by eq13; here a batch of them is asked at a time. c is whatever
prices the requester has; with `prices="eq12"` it is the paper's own (docs/deviations.md, D11).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from amcc.active import scores
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.classifier import Predictor, presence_of
from amcc.active.picking import best_places, pick_batch, questions_about
from amcc.active.questions import Questions, Triplets
from amcc.active.search import best_triplets
from amcc.active.strategies.common import (
    check_count,
    check_share,
    credibility_of,
    credibility_on,
    most_credible,
    queried,
)
from amcc.active.strategy import UsualStrategy, register
from amcc.arrays import Floats, Mask
from amcc.consensus.parameters import check_choice

LabelMatrix = Literal["commonality", "presence"]

# The paper fixes η of eq9 at 0.3 "according to the experiments"; `amcc reproduce active-eta` varies it.
CORRELATION_MIX = 0.3

# k of eq11. The paper prints no value: few enough to be alike, enough that one odd item does not decide.
N_NEIGHBORS = 10


@register("amcc")
@dataclass(frozen=True)
class PaperCriterion(UsualStrategy):
    """The paper's criterion, eq13: uncertain pairs, credible workers, low prices.

    Parameters
    ----------
    correlation_mix : η of eq9, how much the correlation with unqueried labels counts; 0 is AMCC(nLC).
    n_neighbors : k of eq11, answered items that tell how credible a worker is.
    correlation : the matrix of eq8. "commonality" is the paper's, what groups of workers have in common; "presence" is
        ours, how the presence of labels goes together in the consensus.
    shortlist : look only at so many pairs, those with the highest u (eq10); at all of them unless it is given. For
        large crowds: the best triplet may be missed.
    predictor : who says p of eq7, see `Predictor`.
    """

    correlation_mix: float = CORRELATION_MIX
    n_neighbors: int = N_NEIGHBORS
    correlation: LabelMatrix = "commonality"
    shortlist: int | None = None
    predictor: Predictor = "consensus"
    uses_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_share("correlation_mix", self.correlation_mix)
        check_count("n_neighbors", self.n_neighbors)
        check_choice("correlation", self.correlation, LabelMatrix)
        if self.shortlist is not None:
            check_count("shortlist", self.shortlist)
        check_choice("predictor", self.predictor, Predictor)

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        known = queried(beliefs.votes)
        matrix = beliefs.commonality if self.correlation == "commonality" else beliefs.correlation
        pair_parts = uncertainty_parts(
            beliefs, candidates.open_pairs(), known, matrix, self.correlation_mix, self.predictor
        )
        u = pair_parts["u"]
        if self.shortlist is not None:
            shut = np.ones(u.size, dtype=bool)
            shut[best_places(u, max(batch, self.shortlist), rng)] = False
            u = np.where(shut.reshape(u.shape), np.nan, u)
        chosen = best_triplets(
            u,
            lambda item: scores.per_price(credibility_on(beliefs, item, known, self.n_neighbors), prices),
            scores.per_price(most_credible(beliefs), prices),
            candidates,
            batch,
            rng,
        )
        asked = chosen.asked
        parts = at_pairs(pair_parts, asked)
        parts |= {"q": credibility_of(beliefs, asked, known, self.n_neighbors), "c": prices[asked.worker]}
        return Questions(asked, scores.triplet_utility(parts["u"], parts["q"], parts["c"]), parts)  # eq13


@register("amcc-paper")
@dataclass(frozen=True)
class PaperThroughout(PaperCriterion):
    """The paper's criterion with the paper's consensus: C_m of eq8 and D_w of eq12 as they are fitted."""

    model: ClassVar[str] = "amcc-frobenius"


@register("amcc-rw")
@dataclass(frozen=True)
class RandomWorkers(UsualStrategy):
    """AMCC(rW): the most useful pairs by eq10, each asked of a random worker."""

    correlation_mix: float = CORRELATION_MIX

    def __post_init__(self) -> None:
        check_share("correlation_mix", self.correlation_mix)

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        known = queried(beliefs.votes)
        matrix = beliefs.commonality
        pair_parts = uncertainty_parts(beliefs, candidates.open_pairs(), known, matrix, self.correlation_mix)
        asked = questions_about(pair_parts["u"], candidates, batch, len(prices), rng)
        parts = at_pairs(pair_parts, asked) | {"c": prices[asked.worker]}
        # Workers of a pair have equal utilities here, and equals come in random order: eq10, and chance decides who.
        return pick_batch(asked, parts["u"], batch, rng, parts=parts)


@register("amcc-rsl")
@dataclass(frozen=True)
class RandomPairs(UsualStrategy):
    """AMCC(rSL): random pairs, each asked of the worker who is most credible for their price."""

    n_neighbors: int = N_NEIGHBORS
    uses_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("n_neighbors", self.n_neighbors)

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        anything = np.where(candidates.open_pairs(), 1.0, np.nan)
        # Only as many pairs as are wanted: of more, the choice of workers would choose some, and not chance.
        item, label = np.divmod(best_places(anything, batch, rng), beliefs.votes.n_labels)
        asked = candidates.of_pairs(item, label)
        known = queried(beliefs.votes)
        parts = {"q": credibility_of(beliefs, asked, known, self.n_neighbors), "c": prices[asked.worker]}
        return pick_batch(asked, scores.triplet_utility(np.ones(1), parts["q"], parts["c"]), batch, rng, parts=parts)


# AMCC(nLC): eq7 alone. The paper says that it "only uses eq8", which is what the ablation is meant to remove.
register("amcc-nlc", correlation_mix=0.0)(PaperCriterion)

# Our own matrix in eq8.
register("amcc-presence", correlation="presence")(PaperCriterion)

# For crowds of 100,000 items, where looking for the neighbours of all takes minutes. As many pairs as were looked at
# before the search was exact: on SONYC-UST, with 7,130 open pairs, the questions then cost a third more.
register("amcc-short", shortlist=1000)(PaperCriterion)


# p of eq7 by a predictor that looks at the item, where nobody was asked; without features it is `amcc`.
register("amcc-classifier", predictor="classifier")(PaperCriterion)


def uncertainty_parts(
    beliefs: CurrentBeliefs,
    allowed: Mask,
    known: Mask,
    correlation: Floats,
    correlation_mix: float,
    predictor: Predictor = "consensus",
) -> dict[str, Floats]:
    """(n_items, n_labels) u1, u2 and u of eq7, eq8 and eq9.

    allowed : pairs that may be asked. known : those that anybody was asked about. correlation : the matrix of eq8.
    """
    u1 = scores.pair_uncertainty(presence_of(beliefs, known, predictor), allowed)
    u2 = scores.correlation_gain(correlation, ~known)
    return {"u1": u1, "u2": u2, "u": scores.pair_utility(u1, u2, correlation_mix)}


def at_pairs(parts: Mapping[str, Floats], asked: Triplets) -> dict[str, Floats]:
    """Scores of pairs, for each question."""
    return {name: part[asked.item, asked.label] for name, part in parts.items()}
