"""What models with coins ask of the votes, block by block: the start, a round, a judgement of every vote, counts.

Each function looks at one block of whole items and returns what adds up over blocks, see `amcc.engine.base`. A block
has coins of its own: `block.of_slots` brings what is known of all slots to the block, `block.spread` brings sums back.
Models that have all votes in memory find the same sums in `amcc.consensus.coins`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Protocol

import numpy as np

from amcc import passes
from amcc.arrays import Floats, Ints, sigmoid, weight_per_code
from amcc.engine.base import Block, Largest
from amcc.fields import Each
from amcc.passes import Belief, Judgement
from amcc.special import logit


class Start(NamedTuple):
    """What is known before the first round.

    slot_votes, present : (n_slots,) votes, and expected votes that met a present label
    asked, label_present : (n_labels,) pairs of each label, and expected pairs where it is present
    n_checked : pairs whose votes can be checked: by another vote, or by known truth
    """

    slot_votes: Annotated[Floats, Each("slot")]
    asked: Floats
    present: Annotated[Floats, Each("slot")]
    label_present: Floats
    n_checked: float


def first_look(block: Block, start: Belief | None, sharpness: float | None = None) -> Start:
    """Count votes and pairs; probabilities are the shares of yes unless there is a belief to start from.

    sharpness : factor of the log-odds of the expected shares of yes; None for the shares as they are
    """
    slot, pairs = block.coins.slot, block.pairs
    if start is None:
        proba = passes.share_of_yes(slot, pairs.start, block.known)
        if sharpness is not None:
            # With half a yes and half a no beforehand, so that no share is 0 or 1.
            expected = (proba * pairs.n_votes + 0.5) / (pairs.n_votes + 1)
            sharp = sigmoid(sharpness * logit(expected))
            proba = np.where(block.known != 0, proba, sharp) if len(block.known) else sharp
    else:
        proba = sigmoid(LabelPrior(start.log_odds).of(block) + evidence_of_pairs(block, start.evidence))
    n_slots = 2 * len(block.coins)
    checked = pairs.n_votes > 1
    if len(block.known):
        checked = checked | (block.known != 0)
    return Start(
        block.spread(np.bincount(slot, minlength=n_slots).astype(np.float64)),
        weight_per_code(pairs.label, np.ones(len(pairs)), block.n_labels),
        met_present(block, proba),
        weight_per_code(pairs.label, proba, block.n_labels),
        float(checked.sum()),
    )


class Step(NamedTuple):
    """What one round adds up to, see `passes.RoundResult`.

    evidence_sum : sum over pairs of probability times the evidence of their votes
    """

    present: Annotated[Floats, Each("slot")]
    label_present: Floats
    log_odds_sum: float
    prior_sum: float
    evidence_sum: float
    squares: float
    change: Largest


def one_round(block: Block, now: Belief, before: Belief | None) -> Step:
    """Posterior of the block's pairs by what is believed now, and how far it is from what was believed before."""

    def here(belief: Belief) -> Belief:
        return Belief(block.of_slots(belief.evidence), belief.log_odds)

    # A block that still has its probabilities of the round before need not compute them again.
    kept = None if before is None else block.recall(before)
    earlier = kept if kept is not None else None if before is None else here(before)
    pairs = block.pairs
    mine = here(now)
    step = passes.round_pass(block.coins.slot, pairs.start, pairs.label, block.known, mine, earlier)
    block.remember(now, step.proba)
    # Of all pairs by slots: equal votes have equal evidence.
    evidence_sum = float((step.present * mine.evidence).sum())
    sums = step.log_odds_sum, step.prior_sum, evidence_sum, step.squares, Largest(step.change)
    return Step(block.spread(step.present), step.label_present, *sums)


def entropy_of(step: Step) -> float:
    """Entropy of the presence of all pairs, from what the round already summed up."""
    # Σ log(1 + odds) − Σ p · log-odds, and the log-odds are prior plus evidence.
    return step.log_odds_sum - step.prior_sum - step.evidence_sum


# Log-odds beyond which nobody is more certain: the exponential of 709 is the last that is a number, and what is added
# to the evidence must fit in, too.
MOST_CERTAIN = 500.0


def evidence_of_pairs(block: Block, slot_evidence: Floats) -> Floats:
    """(n_pairs,) evidence of all votes on each pair."""
    total = passes.sum_over_votes(block.coins.slot, block.pairs.start, block.of_slots(slot_evidence))
    return np.clip(total, -MOST_CERTAIN, MOST_CERTAIN)


def met_present(block: Block, proba: Floats) -> Floats:
    """(n_slots,) expected votes that met a present label, from the (n_pairs,) probabilities."""
    present = passes.sum_over_slots(block.coins.slot, block.pairs.start, proba, 2 * len(block.coins))
    return block.spread(present)


def with_truth(block: Block, log_odds: Floats, certain: float = passes.CERTAIN) -> Floats:
    """(n_pairs,) the log-odds, certain where truth is known."""
    return np.where(block.known != 0, certain * block.known, log_odds) if len(block.known) else log_odds


class Prior(Protocol):
    """Log-odds of pairs before their votes."""

    def of(self, block: Block) -> Floats:
        """(n_pairs,) those of the block's pairs."""


class LabelPrior(NamedTuple):
    """Pairs are as likely as their labels: (n_labels,) log-odds."""

    log_odds: Floats

    def of(self, block: Block) -> Floats:
        """(n_pairs,) those of the block's pairs."""
        return with_truth(block, self.log_odds[block.pairs.label])


def judge_votes(block: Block, evidence: Floats, prior: Prior) -> Judgement:
    """Judge every vote by the prior and the other votes on its pair."""
    judged = passes.others_pass(block.coins.slot, block.pairs.start, block.of_slots(evidence), prior.of(block))
    return Judgement(block.spread(judged.weight), block.spread(judged.square))


class Counted(NamedTuple):
    """Whole numbers about workers.

    slot_votes : (n_slots,) votes; answers, ticked : (n_workers,) answers, and those with a yes in them
    """

    slot_votes: Ints
    answers: Ints
    ticked: Ints


def count_votes(block: Block) -> Counted:
    """How much each worker answered, and what."""
    votes = block.votes()
    yes = votes.value > 0
    # An answer without any yes may be that of somebody who skips the question: spam is looked for there.
    ticked = passes.count_answers(votes.item[yes], votes.worker[yes], votes.n_items, votes.n_workers)[1]
    slot_votes = np.bincount(block.coins.slot, minlength=2 * len(block.coins))
    return Counted(block.spread(slot_votes), votes.answers_per_worker.copy(), ticked)
