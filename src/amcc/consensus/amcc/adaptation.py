"""How votes become probabilities, and how the data choose it: by foretelling answers that were held out.

Three questions have different answers on different data, and no truth is needed to ask them:

- do labels of an item tell about each other (`correlation`)?
- do votes on a pair repeat each other, so that each counts for less (`tempers`)?
- is presence a matter of degree rather than of yes or no (`graded`)?

Each possible answer is weighted by the probability it gives to answers of workers that the fit has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logit, logsumexp

from amcc.consensus.amcc import graded
from amcc.consensus.amcc.coins import Counts
from amcc.consensus.amcc.correlation import SAMPLE as SAMPLE_PAIRS
from amcc.consensus.amcc.correlation import LabelSets, fit_label_sets, kinds_of_items, label_set_step
from amcc.consensus.amcc.likelihood import CoinCounts, LikelihoodFit, coin_rates
from amcc.consensus.families import effective_counts
from amcc.consensus.rounds import evidence_of_pairs
from amcc.consensus.signature import Signatures
from amcc.engine.base import Block, Engine, WholeBlock, as_engine, gather
from amcc.fields import ROUNDING
from amcc.kernels import Floats, Ints, sigmoid
from amcc.tables import Codes
from amcc.votes import Pairs, Votes

TEMPERS = (0.7, 0.85, 1.0)
"""What a vote's evidence may be scaled by."""

BENEFIT_OF_DOUBT = 8.0
"""Log-odds for the graded reading before the data speak: it decides as majority does, and nobody should fall below
majority because the data were too few to tell."""

MOST_GRADED = 0.8
"""The largest weight of the graded reading; the rest breaks its many ties."""

ENOUGH = 20_000
"""Held-out votes after which no further fold is needed."""

N_FOLDS = 5
SAMPLE = 1_000_000
"""Votes that suffice to choose."""

HEDGE = 0.4
"""Share of the reading by degrees, whatever held-out votes say: they cannot tell agreement on presence from agreement
for other reasons, so neither reading is ever ruled out (`benchmarks/trust.py` shows what that is worth)."""

IGNORED = 1e-3
"""Answers with less weight than this are not computed."""


@dataclass(frozen=True)
class Blend:
    """Weights of the answers: how far labels inform each other, (n_tempers,) scales of evidence, graded presence.

    degrees : share of the reading by degrees (`degrees`) in the result; the others share the rest.
    """

    correlation: float = 0.0
    tempers: tuple[float, ...] = (0.0,) * (len(TEMPERS) - 1) + (1.0,)
    graded: float = 0.0
    degrees: float = 0.0

    def __post_init__(self) -> None:
        weights = (self.correlation, *self.tempers, self.graded, self.degrees)
        if len(self.tempers) != len(TEMPERS) or not all(map(_is_weight, weights)):
            raise ValueError(f"must have weights of correlation, {len(TEMPERS)} scales of evidence and graded presence")
        if not max(*self.tempers, self.graded) >= IGNORED:
            raise ValueError("must give some answer a weight")


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 + ROUNDING


@dataclass(frozen=True)
class Evidence:
    """What votes say about pairs, before they are blended.

    log_odds : (n_pairs,) sum of the evidence of the votes
    n_yes, n_votes : (n_pairs,) votes, counted as far as they are not repeated by others
    prior : (n_labels,) probability of a pair without votes
    sets : kinds of label sets
    """

    pairs: Pairs
    log_odds: Floats
    n_yes: Floats
    n_votes: Floats
    prior: Floats
    sets: LabelSets

    def crisp(self, correlation: float, temper: float) -> Floats:
        """(n_pairs,) probability that the label is present, if presence is a matter of yes or no."""
        log_odds = temper * self.log_odds
        independent = sigmoid(logit(self.prior)[self.pairs.label] + log_odds)
        if correlation < IGNORED:
            return independent
        correlated = label_set_step(self.pairs, log_odds, self.sets).proba
        return (1 - correlation) * independent + correlation * correlated

    def blended(self, blend: Blend) -> Floats:
        """(n_pairs,) probability that the label is present."""
        proba = np.zeros(len(self.pairs))
        for weight, temper in zip(blend.tempers, TEMPERS, strict=True):
            if weight >= IGNORED:
                proba += weight * self.crisp(blend.correlation, temper)
        if blend.graded >= IGNORED:
            proba += blend.graded * graded.presence(self.n_yes, self.n_votes)
        return proba / sum(weight for weight in (*blend.tempers, blend.graded) if weight >= IGNORED)

    def unasked(self, item: Codes, label: Codes, correlation: float, n_items: int) -> Floats:
        """Probability of some pairs that nobody was asked about."""
        independent = self.prior[label]
        if correlation < IGNORED:
            return independent
        correlated = (self.kinds(n_items)[item] * self.sets.frequency.T[label]).sum(axis=1)
        return (1 - correlation) * independent + correlation * np.asarray(correlated)

    def kinds(self, n_items: int) -> Floats:
        """(n_items, n_kinds) probability of each kind of label set."""
        return kinds_of_items(self.pairs, self.log_odds, self.sets, n_items)


def evidence_of(
    votes: Votes, slot_evidence: Floats, prior: Floats, sets: LabelSets, weight: Floats | None = None
) -> Evidence:
    """Sum up the evidence of all votes on each pair; `weight` (n_workers,) is how much a vote of each worker counts."""
    log_odds = evidence_of_pairs(WholeBlock(votes), slot_evidence)
    return Evidence(votes.pairs, log_odds, *effective_counts(votes, weight), prior, sets)


def learn_label_sets(votes: Votes | Engine, fit: LikelihoodFit, lot: Floats) -> LabelSets:
    """Kinds of label sets, in the light of a crowd that was fitted without them; `lot` is chance by item."""
    engine = as_engine(votes)
    items = np.flatnonzero(lot < SAMPLE_PAIRS / max(engine.n_pairs, 1))
    parts = list(engine.each(said_about, items, fit.evidence))
    item, label, log_odds = (np.concatenate(column) for column in zip(*parts, strict=True))
    return fit_label_sets(Pairs(item, label, NO_START), log_odds, fit.frequency, lot[items])


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


NO_START = np.zeros(1, np.int64)
"""For pairs without votes."""


def choose_blend(
    votes: Votes | Engine, chance: Signatures, fit: Callable[[Votes], LikelihoodFit], *, correlation: bool = True
) -> Blend | None:
    """Weigh all answers by the log-probability of held-out answers, one per item, averaged over folds.

    None where no item has several answers: nothing can be held out, so there is no choice that may be kept.
    """
    engine = as_engine(votes)
    items = np.flatnonzero(chance.lot < SAMPLE / max(engine.n_votes, 1))
    votes, chance = gather(engine, items), chance.of_items(items)
    no_correlation, with_correlation = 0.0, 0.0
    folds = []
    for train, test in held_out_answers(votes, chance):
        fold = _Fold(train, test, fit(train), chance)
        no_correlation += fold.log_likelihood(fold.crisp(0.0, 1.0))
        with_correlation += fold.log_likelihood(fold.crisp(1.0, 1.0))
        folds.append(fold)
    if not folds:
        return None
    gain = (with_correlation - no_correlation) / len(folds)
    weight = float(np.exp(-np.logaddexp(0.0, -gain))) if correlation else 0.0
    foretold = [np.mean([fold.log_likelihood(fold.crisp(weight, temper)) for fold in folds]) for temper in TEMPERS]
    graded_foretold = np.mean([fold.log_likelihood(fold.graded()) for fold in folds]) + BENEFIT_OF_DOUBT
    is_graded = 1 / (1 + np.exp(np.clip(max(foretold) - graded_foretold, -50, 50)))
    graded_weight = MOST_GRADED * float(is_graded)
    tempers = (1 - graded_weight) * np.exp(foretold - logsumexp(foretold))
    return Blend(weight, tuple(tempers.tolist()), graded_weight, HEDGE)


def held_out_answers(votes: Votes, chance: Signatures) -> Iterator[tuple[Votes, Votes]]:
    """Votes without one answer per item, and these answers; items with a single answer keep it."""
    if len(votes) > SAMPLE:
        votes = votes.select((chance.lot < SAMPLE / len(votes))[votes.item])
    answer = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    distinct, answer_of_vote = np.unique(answer, return_inverse=True)
    item, worker = np.divmod(distinct, max(votes.n_workers, 1))
    place = np.empty(len(distinct), dtype=np.int64)
    order = np.lexsort((chance.of_answers(item, worker), item))
    place[order] = np.arange(len(distinct)) - np.searchsorted(item, item[order])
    several = np.bincount(item, minlength=votes.n_items)[item] > 1
    seen = 0
    for fold in range(N_FOLDS):
        out: npt.NDArray[np.bool_] = (several & (place == fold))[answer_of_vote]
        seen += int(out.sum())
        if out.any():
            yield votes.select(~out), votes.select(out)
        if seen >= ENOUGH:
            return


class _Fold:
    """A fit to some answers, asked about others."""

    def __init__(self, train: Votes, test: Votes, fit: LikelihoodFit, chance: Signatures) -> None:
        self.test = test
        sets = learn_label_sets(train, fit, chance.lot)
        self.evidence = evidence_of(train, fit.evidence, fit.frequency, sets)
        self.is_yes = test.value > 0
        self.hit, self.false_alarm = _rates_of_votes(train, test, fit)
        n_labels = max(train.n_labels, 1)
        wanted = test.item.astype(np.int64) * n_labels + test.label
        known = train.pairs.item.astype(np.int64) * n_labels + train.pairs.label
        self.place = np.searchsorted(known, wanted).clip(max=len(known) - 1)
        self.met = known[self.place] == wanted
        self.train = train

    def crisp(self, correlation: float, temper: float) -> Floats:
        """(n_test,) probability of yes."""
        present = self._by_pair(self.evidence.crisp(correlation, temper))
        new = ~self.met
        if new.any():
            item, label = self.test.item[new], self.test.label[new]
            present[new] = self.evidence.unasked(item, label, correlation, self.train.n_items)
        return present * self.hit + (1 - present) * self.false_alarm

    def graded(self) -> Floats:
        """(n_test,) probability of yes."""
        n_yes, n_votes = self._by_pair(self.train.n_yes), self._by_pair(self.train.pairs.n_votes)
        return graded.vote_probability(graded.fit_graded(self.train), self.test, n_yes * self.met, n_votes * self.met)

    def log_likelihood(self, yes: Floats) -> float:
        """Log-probability of the held-out votes."""
        return float(np.log(np.maximum(np.where(self.is_yes, yes, 1 - yes), 1e-6)).sum())

    def _by_pair(self, values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> Floats:
        return np.asarray(values[self.place], dtype=np.float64)


def _rates_of_votes(train: Votes, test: Votes, fit: LikelihoodFit) -> tuple[Floats, Floats]:
    """(n_test,) expected hit and false-alarm rate of each vote's coin."""
    coins = test.coins
    known = train.coins.worker.astype(np.int64) * train.n_labels + train.coins.label
    wanted = coins.worker.astype(np.int64) * train.n_labels + coins.label
    place = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    met = known[place] == wanted

    def seen(counts: Counts) -> Counts:
        return Counts(counts.yes[place] * met, counts.no[place] * met)

    rates = coin_rates(fit.crowd, coins, CoinCounts(seen(fit.counts.present), seen(fit.counts.absent)))
    hit, false_alarm = rates[:, coins.slot // 2]
    return hit, false_alarm
