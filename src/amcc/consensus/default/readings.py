"""How votes become probabilities: several readings of the same votes, pooled as far as the votes themselves allow.

- *Two coins* (`likelihood`): a pair is present or absent, votes are independent given that. Right where it holds, and
  far too sure where it does not: faint and tempting items, shared tastes, judges with the same training data.
- *Two coins, softened*: the same two kinds of pairs, but what they mean is read off how many people say yes to them
  (`presence_at`). A kind that only half of the people see is not certain presence.
- *Degrees* (`degrees`): votes are independent given how many people would say yes, in `N_DEGREES` degrees.
- *Counts* (`counts`): what most workers say.

The votes are asked three questions (`dependence`), each answered by a gain over its clustered standard error, z:

1. Do two coins predict votes better than kinds of pairs do? Only where that is beyond doubt are they taken at their
   word (`Blend.crisp`). What is left is pooled.
2. Do counts predict votes as well as two coins do? Then they take the place of the softened coins (`Blend.counts`).
3. Do other labels of an item help to predict? Then they count, after the fit (`Blend.correlation`).

A weight moves as a logistic function of z: what the data cannot rule out keeps its share. The reading by degrees always
has some of what is pooled, and more where question 1 shows that votes depend on each other (`Blend.degrees`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from amcc.arrays import ROUNDING, Codes, Floats, Ints, sigmoid
from amcc.consensus.default.correlation import LabelSets, fit_label_sets, kinds_of_items, label_set_step
from amcc.consensus.default.counts import presence_by_counts
from amcc.consensus.default.dependence import Comparison, compare
from amcc.consensus.default.likelihood import LikelihoodFit
from amcc.consensus.default.presence import expected_share_of_yes, presence_at
from amcc.consensus.default.settings import Settings
from amcc.consensus.families import effective_counts
from amcc.consensus.rounds import evidence_of_pairs
from amcc.consensus.signature import Signatures
from amcc.engine.base import Block, Engine, WholeBlock, gather
from amcc.special import logit
from amcc.votes import Pairs, Votes

# Votes that suffice to answer the questions; with five times as many, no answer changes.
SAMPLE = 100_000

# Pairs that suffice to learn kinds of label sets: a dozen kinds of a hundred labels have about a thousand numbers.
SAMPLE_PAIRS = 200_000

# Readings with less weight than this are not computed: they would move no probability by more than it.
IGNORED = 1e-3

# Probabilities of the pool that are nearer to 0 or 1 count as this before other labels are asked: log-odds are finite.
NEAREST = 1e-4


def gate(z: float, middle: float) -> float:
    """A weight that moves from 0 to 1 as z, a gain over its standard error, passes `middle`, where it is one half.

    Logistic, with a width of one standard error: what the data cannot rule out keeps its share.

    >>> round(gate(3.0, 2.0), 2)
    0.73
    """
    return float(sigmoid(np.array(z - middle)))


@dataclass(frozen=True)
class Blend:
    """Answers to the three questions, from 0 to 1.

    crisp : how far two coins are used without softening
    degrees : share of the reading by degrees in what is pooled
    counts : how far counts take the place of two coins in what is pooled
    correlation : how far labels of an item inform each other
    """

    crisp: float = 1.0
    degrees: float = 0.0
    counts: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value: Any = getattr(self, each.name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1 + ROUNDING:
                raise ValueError(f"{each.name} must be a number from 0 to 1; it is {value!r}")

    @property
    def pools(self) -> bool:
        """Whether there is anything beside two coins."""
        return self.crisp < 1 - IGNORED


def blend_of_single_votes(settings: Settings) -> Blend:
    """Where no pair has a second vote, so that nothing can be asked: what one worker says is probably so, no more."""
    return Blend(crisp=0.0, degrees=settings.least_degrees, counts=1.0)


def choose_blend(
    engine: Engine,
    chance: Signatures,
    fit: LikelihoodFit,
    sets: LabelSets,
    fit_again: Callable[[Votes], LikelihoodFit],
    settings: Settings,
    *,
    correlation: bool = True,
) -> Blend | None:
    """Ask the votes, see above; `fit_again` is for a sample of large data.

    None where no pair has a second vote: nothing can be predicted from others, so there is no answer to keep.
    """
    if engine.n_votes == engine.n_pairs:  # every pair that is there has a vote, so no pair has two
        return None
    items = np.flatnonzero(chance.uniform < SAMPLE / max(engine.n_votes, 1))
    if not len(items):  # few items with very many votes each
        items = np.arange(engine.n_items)
    votes = gather(engine, items)
    if len(items) < engine.n_items:
        # Fitted to the sample alone: coins that knew all votes would predict better than kinds that know a part.
        fit = fit_again(votes)
        sets = learn_label_sets_of(votes, fit, chance.uniform[items], settings)
    return blend_from(compare(votes, fit, sets, settings), settings, correlation=correlation)


def blend_from(found: Comparison, settings: Settings, *, correlation: bool = True) -> Blend:
    """The weights that the answers give."""
    # Dependence is the opposite of the same question, so it takes the z with its sign changed.
    dependent = gate(-found.two_coins_over_kinds, settings.shown_z)
    return Blend(
        gate(found.two_coins_over_kinds, settings.independent_z),
        settings.least_degrees + (settings.most_degrees - settings.least_degrees) * dependent,
        gate(found.counts_over_two_coins, settings.counts_z),
        gate(found.labels_over_none, settings.shown_z) if correlation else 0.0,
    )


def shown_dependent(blend: Blend, settings: Settings) -> float:
    """How far votes are shown to depend on each other, from 0 to 1: read back from the weights."""
    span = settings.most_degrees - settings.least_degrees
    if span == 0:
        return 0.0
    return float(np.clip((1 - blend.crisp) * (blend.degrees - settings.least_degrees) / span, 0.0, 1.0))


def read_two_kinds(fit: LikelihoodFit, worker: Codes, settings: Settings) -> Floats:
    """(2,) probability that absent and present pairs of two coins count as present, see `presence_at`.

    By the share of yes among the votes of those who look; `worker` is that of each coin.
    """
    looks, kinds = fit.crowd.looks[worker], (fit.counts.absent, fit.counts.present)
    shares = [expected_share_of_yes(looks @ each.yes, looks @ (each.yes + each.no)) for each in kinds]
    return presence_at(np.array(shares), settings)


@dataclass(frozen=True)
class Evidence:
    """What votes say about pairs by two coins.

    log_odds : (n_pairs,) sum of the evidence of the votes
    n_yes, n_votes : (n_pairs,) votes that say yes, and all votes, as far as they are not repeated by others
    prior : (n_labels,) probability of a pair without votes
    sets : kinds of label sets
    settings : those the model was fitted with
    """

    pairs: Pairs
    log_odds: Floats
    n_yes: Floats
    n_votes: Floats
    prior: Floats
    sets: LabelSets
    settings: Settings

    def crisp(self, correlation: float) -> Floats:
        """(n_pairs,) probability that the label is present, if two coins are used without softening."""
        independent = sigmoid(logit(self.prior)[self.pairs.label] + self.log_odds)
        if correlation < IGNORED:
            return independent
        correlated = label_set_step(self.pairs, self.log_odds, self.sets).proba
        return (1 - correlation) * independent + correlation * correlated

    def pooled(self, blend: Blend, two_kinds: Floats, degrees: Floats | None) -> Floats:
        """(n_pairs,) probability that the label is present, by all readings; `degrees` is that by degrees.

        two_kinds : see `read_two_kinds`
        """
        crisp = self.crisp(blend.correlation)
        if degrees is None or not blend.pools:
            return crisp
        independent = self.crisp(0.0)
        # A pair is of either kind with the coins' probability, and each kind counts as present to some part.
        soft = two_kinds[0] + (two_kinds[1] - two_kinds[0]) * independent
        counted = presence_by_counts(self.n_yes, self.n_votes, self.settings)
        coins_or_counts = (1 - blend.counts) * soft + blend.counts * counted
        pool = (1 - blend.degrees) * coins_or_counts + blend.degrees * degrees
        pool = self._with_other_labels(pool, self.settings.most_correlation * blend.correlation)
        # Averages of probabilities, not of log-odds: one reading that is sure without reason cannot outvote the others.
        return blend.crisp * crisp + (1 - blend.crisp) * pool

    def _with_other_labels(self, proba: Floats, weight: float) -> Floats:
        """Probabilities in which the other labels of the item count with this weight."""
        if weight < IGNORED:
            return proba
        # What the pool says beyond the label's frequency takes the place of the evidence of votes: the step adds the
        # frequency itself, which would count twice.
        said = logit(np.clip(proba, NEAREST, 1 - NEAREST)) - logit(self.prior)[self.pairs.label]
        return (1 - weight) * proba + weight * label_set_step(self.pairs, said, self.sets).proba

    def kinds(self, n_items: int) -> Floats:
        """(n_items, n_kinds) probability of each kind of label set."""
        return kinds_of_items(self.pairs, self.log_odds, self.sets, n_items)


def evidence_of(
    votes: Votes,
    slot_evidence: Floats,
    prior: Floats,
    sets: LabelSets,
    settings: Settings,
    weight: Floats | None = None,
) -> Evidence:
    """Sum up the evidence of all votes on each pair; `weight` (n_workers,) is how much a vote of each worker counts."""
    log_odds = evidence_of_pairs(WholeBlock(votes), slot_evidence)
    return Evidence(votes.pairs, log_odds, *effective_counts(votes, weight), prior, sets, settings)


def learn_label_sets(engine: Engine, fit: LikelihoodFit, lot: Floats, settings: Settings) -> LabelSets:
    """Kinds of label sets, in the light of a crowd that was fitted without them; `lot` is chance by item."""
    items = np.flatnonzero(lot < SAMPLE_PAIRS / max(engine.n_pairs, 1))
    parts = list(engine.each(said_about, items, fit.evidence))
    item, label, log_odds = (np.concatenate(column) for column in zip(*parts, strict=True))
    return fit_label_sets(Pairs(item, label, NO_START), log_odds, fit.frequency, lot[items], settings)


def learn_label_sets_of(votes: Votes, fit: LikelihoodFit, lot: Floats, settings: Settings) -> LabelSets:
    """The same for all of some votes in memory."""
    said = evidence_of_pairs(WholeBlock(votes), fit.evidence)
    return fit_label_sets(votes.pairs, said, fit.frequency, lot, settings)


class Said(NamedTuple):
    """What votes say about some pairs: item, label, log-odds."""

    item: Codes
    label: Codes
    log_odds: Floats


def said_about(block: Block, items: Ints, evidence: Floats) -> Said:
    """What the votes say about the pairs of those items of the block that are among `items`, numbered by place."""
    place = block.places_among(items)[block.pairs.item]
    mine = place >= 0
    return Said(place[mine], block.pairs.label[mine], evidence_of_pairs(block, evidence)[mine])


# For pairs whose votes are not needed any more: fields of `Pairs` that nobody will look at.
NO_START: Ints = np.zeros(1, np.int64)
