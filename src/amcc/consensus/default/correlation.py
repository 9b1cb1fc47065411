"""Label correlation as a prior on label sets: items are of a few kinds, and each kind has its own label frequencies.

A mixture of Bernoulli classes. Given what the votes say about each pair (log-odds of present), kinds are learned by
expectation-maximisation; the prior of a pair is then what the *other* labels of its item say about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, Protocol

import numpy as np

from amcc.arrays import Codes, Floats, Ints, clipped, sigmoid
from amcc.consensus.default.bayes import posterior
from amcc.consensus.default.settings import Settings
from amcc.consensus.rounds import evidence_of_pairs
from amcc.engine.base import Block, Engine, as_engine
from amcc.fields import Each
from amcc.special import logit
from amcc.sums import sum_per_code, sum_runs
from amcc.threads import in_threads
from amcc.votes import Pairs, Votes

# Pairs up to which numpy is the faster choice in a fresh process: all rounds over so many take it half a second, and so
# long do compiled loops take to load.
FEW_PAIRS = 20_000

# Pairs handled at a time, about; items stay whole. Tables of pairs × kinds then stay in the processor's cache.
BLOCK = 50_000

# Pairs that numpy handles at a time: it goes over its tables again and again, so that they must stay in a nearer cache.
CHUNK = 4096

# Kinds of items, at most: one for each of the usual labels and one like everything. Half or twice as many change
# nothing that matters (log-loss by less than .0005), and each costs time.
N_KINDS = 12

# Pairs that suffice to learn them: a dozen kinds of a hundred labels have about a thousand numbers.
SAMPLE_PAIRS = 100_000

# For pairs whose votes are not needed any more: a field of `Pairs` that nobody will look at.
NO_START: Ints = np.zeros(1, np.int64)

# Rounds of expectation and maximisation. They end by number: kinds that still move after these are alike.
LABEL_SET_ROUNDS = 20

# No kind excludes a label, nor insists on it: votes must be able to say otherwise. At the start even less so: a
# kind that starts at certainty can hardly leave it.
FLOOR, START_FLOOR = 1e-4, 0.01


@dataclass(frozen=True)
class LabelSets:
    """Kinds of items: (n_kinds,) share of items, (n_kinds, n_labels) frequency of each label."""

    share: Annotated[Floats, Each("kind")]
    frequency: Annotated[Floats, Each("kind", "label")]

    def correlation(self) -> Floats:
        """(n_labels, n_labels) correlation of labels over items."""
        mean = self.share @ self.frequency
        covariance = (self.frequency.T * self.share) @ self.frequency - np.outer(mean, mean)
        scale = np.sqrt(mean * (1 - mean))
        correlation: Floats = covariance / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        return correlation


class Coins(Protocol):
    """What a fit of coins says: the evidence of slots, and how often labels are present."""

    @property
    def evidence(self) -> Floats: ...  # noqa: D102

    @property
    def frequency(self) -> Floats: ...  # noqa: D102


@dataclass(frozen=True)
class SetStep:
    """What one look at all items yields.

    proba : (n_pairs,) probability that the label is present, by its votes and the other labels of the item
    share : (n_kinds,) expected items of each kind; present, asked : (n_kinds, n_labels) expected pairs in them
    log_evidence : log-probability of what the votes say
    """

    proba: Floats
    share: Floats
    present: Floats
    asked: Floats
    log_evidence: float


def label_set_step(pairs: Pairs, log_odds: Floats, sets: LabelSets) -> SetStep:
    """Expectation: kinds of items and presence of labels, given what the votes say about each pair."""
    return _stepper(pairs, log_odds, sets.frequency.shape[1])(sets)


def _stepper(pairs: Pairs, log_odds: Floats, n_labels: int) -> Callable[[LabelSets], SetStep]:
    """What makes a step from any sets; what is the same in all steps is computed here, once."""
    small = len(pairs) <= FEW_PAIRS
    # A step makes tables of all labels; with a pair for each label, they take no more than the pairs.
    blocks = [slice(*bounds) for bounds in _bounds(pairs.item, max(CHUNK if small else BLOCK, n_labels))]
    of_blocks = [(pairs.item[block], pairs.label[block], log_odds[block]) for block in blocks]
    if small:
        said = [Said.of(*each) for each in of_blocks]
        return lambda sets: _added([_step_numpy(each, sets) for each in said], sets)
    return lambda sets: _added(
        in_threads(lambda number: _step_compiled(*of_blocks[number], sets), len(of_blocks)), sets
    )


def _added(steps: list[SetStep], sets: LabelSets) -> SetStep:
    """What the steps of all blocks add up to."""
    if len(steps) == 1:  # nothing to add up
        return replace(steps[0], proba=clipped(steps[0].proba, 0.0, 1.0))
    steps = [SetStep(np.empty(0), 0 * sets.share, 0 * sets.frequency, 0 * sets.frequency, 0.0), *steps]
    return SetStep(
        clipped(np.concatenate([step.proba for step in steps]), 0.0, 1.0),
        np.sum([step.share for step in steps], axis=0),
        np.sum([step.present for step in steps], axis=0),
        np.sum([step.asked for step in steps], axis=0),
        sum(step.log_evidence for step in steps),
    )


class Said(NamedTuple):
    """What the votes say about the pairs of some whole items.

    label, place : (n_pairs,) label of each pair, and the place of its item among these
    start : (n_items + 1,) where the pairs of each item begin
    present, absent : (n_pairs,) probability of each by the votes alone
    log_total : by what both are less than what the votes say: `present` is not exp(log_odds), which may overflow
    """

    label: Codes
    place: Codes
    start: Codes
    present: Floats
    absent: Floats
    log_total: float

    @classmethod
    def of(cls, item: Codes, label: Codes, log_odds: Floats) -> Said:
        """From pairs sorted by item, and the log-odds of what the votes say about each."""
        new = np.diff(item, prepend=-1) != 0
        start = np.append(np.flatnonzero(new), len(item)).astype(np.int32)
        present = sigmoid(log_odds)
        log_total = float(np.logaddexp(0.0, log_odds).sum())
        return cls(label, np.cumsum(new, dtype=np.int32) - 1, start, present, 1 - present, log_total)

    def kinds(self, sets: LabelSets) -> tuple[Floats, Floats, Floats, Floats]:
        """Frequency and agreement, (n_kinds, n_pairs) each; kinds (n_kinds, n_items), and log-probability of items."""
        frequency = sets.frequency.take(self.label, axis=1)
        agrees = frequency * (self.present - self.absent)
        agrees += self.absent
        log_joint = sum_runs(self.start, np.log(agrees))
        log_joint += np.log(sets.share)[:, None]
        return frequency, agrees, *posterior(log_joint)


def _step_numpy(said: Said, sets: LabelSets) -> SetStep:
    """The step for a block of whole items."""
    frequency, agrees, member, log_evidence = said.kinds(sets)
    weight = member.take(said.place, axis=1)
    frequency *= weight
    frequency *= said.present
    frequency /= agrees  # which is that of present pairs now: Bayes within the kind
    n_labels = sets.frequency.shape[1]
    present_of, asked_of = (sum_per_code(said.label, each, n_labels) for each in (frequency, weight))
    log_total = float(log_evidence.sum()) + said.log_total
    return SetStep(frequency.sum(axis=0), member.sum(axis=1), present_of, asked_of, log_total)


def _step_compiled(item: Codes, label: Codes, log_odds: Floats, sets: LabelSets) -> SetStep:
    """The same for large input."""
    from amcc.loops import sets as set_loops

    proba = np.empty(len(item))
    share, present, asked = np.zeros_like(sets.share), *np.zeros((2, *sets.frequency.T.shape))
    frequency = np.ascontiguousarray(sets.frequency.T)
    log_evidence = set_loops.step(item, label, log_odds, sets.share, frequency, proba, share, present, asked)
    return SetStep(proba, share, present.T, asked.T, log_evidence)


class KindCounts(Protocol):
    """Expected items of each kind, and pairs in them, as in `SetStep`."""

    @property
    def share(self) -> Floats: ...  # noqa: D102

    @property
    def present(self) -> Floats: ...  # noqa: D102

    @property
    def asked(self) -> Floats: ...  # noqa: D102


def update_label_sets(step: KindCounts, frequency: Floats, settings: Settings) -> LabelSets:
    """Maximisation: shares with one pseudo-item per kind; frequencies held to those of all items by pseudo-pairs.

    Half as many as elsewhere: kinds are there to differ.
    """
    share, lent = (step.share + 1) / (step.share.sum() + len(step.share)), settings.pseudo_votes / 2
    held = (step.present + lent * frequency) / (step.asked + lent)
    return LabelSets(share, clipped(held, FLOOR, 1 - FLOOR))


def fit_label_sets(pairs: Pairs, log_odds: Floats, frequency: Floats, settings: Settings) -> LabelSets:
    """Learn kinds of items, by expectation-maximisation.

    pairs : the asked pairs, sorted by item
    log_odds : (n_pairs,) what the votes say about each pair, without any prior
    frequency : (n_labels,) how often each label is present
    """
    sets = _start(pairs, log_odds, frequency)
    step = _stepper(pairs, log_odds, len(frequency))
    for _ in range(LABEL_SET_ROUNDS):
        sets = update_label_sets(step(sets), frequency, settings)
    return sets


def learn_label_sets(votes: Votes | Engine, fit: Coins, lot: Floats, settings: Settings) -> LabelSets:
    """Kinds of label sets, in the light of a crowd that was fitted without them; `lot` is chance by item."""
    engine = as_engine(votes)
    items = np.flatnonzero(lot < SAMPLE_PAIRS / max(engine.n_pairs, 1))
    parts = list(engine.each(said_about, items, fit.evidence))
    item, label, log_odds = (np.concatenate(column) for column in zip(*parts, strict=True))
    return fit_label_sets(Pairs(item, label, NO_START), log_odds, fit.frequency, settings)


class SaidAbout(NamedTuple):
    """What votes say about some pairs: item, label, log-odds."""

    item: Codes
    label: Codes
    log_odds: Floats


def said_about(block: Block, items: Ints, evidence: Floats) -> SaidAbout:
    """What the votes say about the pairs of those items of the block that are among `items`, numbered by place."""
    place = block.places_among(items)[block.pairs.item]
    mine = place >= 0
    return SaidAbout(place[mine], block.pairs.label[mine], evidence_of_pairs(block, evidence)[mine])


def kinds_of_items(pairs: Pairs, log_odds: Floats, sets: LabelSets, n_items: int) -> Floats:
    """(n_items, n_kinds) probability of each kind; the shares for items without votes."""
    member = np.tile(sets.share / sets.share.sum(), (n_items, 1))

    def fill(number: int) -> None:
        block = slice(*bounds[number])
        item = pairs.item[block]
        member[np.unique(item)] = Said.of(item, pairs.label[block], log_odds[block]).kinds(sets)[2].T

    bounds = _bounds(pairs.item, BLOCK)
    in_threads(fill, len(bounds))
    return member


def _start(pairs: Pairs, log_odds: Floats, frequency: Floats) -> LabelSets:
    """The first kind is like all items, each further one half like the items that have one of the usual labels.

    Half, because a kind that is exactly like them would keep no other item.
    """
    present = sigmoid(logit(frequency)[pairs.label] + log_odds)
    usual = np.argsort(-sum_per_code(pairs.label, present, len(frequency)), kind="stable")[: N_KINDS - 1]
    kind = np.full(len(frequency), -1)
    kind[usual] = np.arange(len(usual))
    mine = kind[pairs.label] >= 0
    has_label = np.zeros((len(usual), int(pairs.item.max(initial=-1)) + 1))
    has_label[kind[pairs.label[mine]], pairs.item[mine]] = present[mine]
    weight = has_label.take(pairs.item, axis=1)
    with_label, asked = (sum_per_code(pairs.label, each, len(frequency)) for each in (weight * present, weight))
    profile = np.tile(frequency, (len(usual) + 1, 1))
    profile[1:] = 0.5 * (frequency + (with_label + frequency) / (asked + 1))
    return LabelSets(np.full(len(profile), 1 / len(profile)), np.clip(profile, START_FLOOR, 1 - START_FLOOR))


def _bounds(item: Codes, size: int) -> list[tuple[int, int]]:
    """First and last pair of blocks that do not cut an item."""
    bounds: list[tuple[int, int]] = []
    while (first := bounds[-1][1] if bounds else 0) < len(item):
        end = min(first + size, len(item))
        bounds.append((first, int(np.searchsorted(item, item[end - 1], side="right"))))
    return bounds
