"""The consensus, eq6: for each label present against absent (D8), or as printed.

Printed, eq6 is the arg max over labels g of Σ_m λ_m^r Π_w Π_l (C_m + D_w)(g, l)^[A_w(i, l) = 1]: entries may be
negative, denials count for nothing, every group explains every worker, and the result is one label. With D8, each
label of an item has log-odds: its prior, plus every vote, yes or no, by its worker's weight and by the hit and
false-alarm rate that their response D_w + C_m stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc import passes
from amcc.arrays import Floats, Ints, weight_per_code
from amcc.consensus.learned import Gold
from amcc.consensus.matching import known_or_mean
from amcc.consensus.models.dawid_skene import slot_evidence
from amcc.consensus.models.paper.problem import RESIDUAL_FLOOR, PaperProblem, PaperState
from amcc.votes import Votes

# Nobody is believed to hit or miss with more certainty than this (D8): D_w + C_m is no probability by itself and may
# lie outside [0, 1], and a single vote must not outweigh all others.
RATE_FLOOR = 0.02
# Answers' worth of the group's rate in a worker's own rate (D8).
RATE_PRIOR = 1.0
# What an entry of C_m + D_w that is not positive counts as in print: its logarithm must be a number.
LEAST_ENTRY = 1e-10
# Largest share of a label on an item without a yes, in print: products of nothing are no evidence.
IGNORANCE = 0.5


@dataclass(frozen=True)
class AnswerRates:
    """Chances of a yes: [0] where the label is present (hits), [1] where it is absent (false alarms).

    crowd : (2, n_labels). group : (2, n_groups, n_labels). worker : (2, n_workers, n_labels).
    """

    crowd: Floats
    group: Floats
    worker: Floats


class Verdict(NamedTuple):
    """What eq6 says about every pair, and from what.

    rates : what was read from the response (in print, which needs no rates: votes against the consensus).
    vote_weight : (n_workers,) what a vote counted.
    evidence : (2 · n_coins,) log-odds that a no and a yes of each coin add to "present", weights included.
    prior : (n_pairs,) log-odds before any vote; certain where truth is known. Both as `passes.others_pass` wants them.
    label_prior : (n_labels,) how often labels are present.
    pair_proba : (n_pairs,) aligned with `votes.pairs`.
    """

    rates: AnswerRates
    vote_weight: Floats
    evidence: Floats
    prior: Floats
    label_prior: Floats
    pair_proba: Floats


def judge_pairs(votes: Votes, gold: Gold, state: PaperState, problem: PaperProblem, proba: Floats) -> Verdict:
    """eq6, with D8 or as printed, and known truth in its place; `proba` are the probabilities of the anchor."""
    settings = problem.settings
    if settings.printed:
        matrices = state.individuality, state.commonality, state.group_weights
        proba = np.where(gold.known, gold.present, printed_consensus(votes, *matrices, settings.weight_exponent))
        rates = vote_rates(votes, state, proba)
    else:
        rates = answer_rates(state, problem)
    weights, label_prior = vote_weights(state, settings.weight_exponent), mean_presence(votes, proba)
    evidence, prior = coin_evidence(votes, rates, weights), pair_priors(votes, label_prior, gold)
    if not settings.printed:
        proba = np.where(gold.known, gold.present, consensus(votes, evidence, prior))
    return Verdict(rates, weights, evidence, prior, label_prior, proba)


# -- rates ----------------------------------------------------------------------------------------------------------


def answer_rates(state: PaperState, problem: PaperProblem) -> AnswerRates:
    """Hit and false-alarm rates under the response, by label: of each worker, each group and the crowd.

    For an item with anchor row y, the model's chance of a yes on l is y · response[:, l]. The hit rate is its mean
    over the items they answered with y_l set to one, weighted by y_l; the false-alarm rate that with y_l set to zero,
    weighted by 1 − y_l. Both need nothing but the statistics: setting y_l to one adds response[l, l] · (1 − y_l).
    """
    response, n_labels, data = state.response, problem.n_labels, problem.data
    # One matrix for all columns or one for each: after broadcasting, the same.
    gram = np.broadcast_to(data.gram, (problem.n_workers, n_labels, n_labels, n_labels))
    anchor_sum = np.broadcast_to(data.anchor_sum, (problem.n_workers, n_labels, n_labels))
    present = np.einsum("wll->wl", anchor_sum)  # Σ y_l
    square = np.einsum("wlll->wl", gram)  # Σ y_l²
    own = np.einsum("wll->wl", response)
    yes = np.einsum("wlg,wgl->wl", anchor_sum, response)  # Σ y · response[:, l]
    hits = np.einsum("wlg,wgl->wl", np.einsum("wllg->wlg", gram), response) + own * (present - square)
    absent = np.maximum(data.n_asked - present, 0.0)
    return pooled_rates(np.stack([hits, yes - hits]), np.stack([present, absent]), state)


def vote_rates(votes: Votes, state: PaperState, proba: Floats) -> AnswerRates:
    """The same from the votes themselves and the probabilities of their pairs, (n_pairs,)."""
    present = np.repeat(proba, votes.pairs.n_votes)
    weight = np.stack([present, 1.0 - present])
    cell = votes.worker.astype(np.int64) * votes.n_labels + votes.label

    def by_cell(parts: Floats) -> Floats:
        sums = [weight_per_code(cell, part, votes.n_workers * votes.n_labels) for part in parts]
        return np.stack(sums).reshape(2, votes.n_workers, votes.n_labels)

    return pooled_rates(by_cell(weight * (votes.value > 0)), by_cell(weight), state)


def pooled_rates(count: Floats, weight: Floats, state: PaperState) -> AnswerRates:
    """Ratios of expected yeses to expected votes, (2, n_workers, n_labels) each, in floors.

    A worker leans by `RATE_PRIOR` votes on their group, the group on the crowd, the crowd's rate on a label on that on
    all labels: who has no votes is like the others.
    """
    overall = count.sum(axis=(1, 2)) / np.maximum(weight.sum(axis=(1, 2)), RESIDUAL_FLOOR)
    crowd = _leaning(count.sum(axis=1), weight.sum(axis=1), overall[:, None])
    group = _leaning(state.members @ count, state.members @ weight, crowd[:, None])
    worker = _leaning(count, weight, group[:, state.worker_group])
    return AnswerRates(*(np.clip(rate, RATE_FLOOR, 1.0 - RATE_FLOOR) for rate in (crowd, group, worker)))


def _leaning(count: Floats, weight: Floats, on: Floats) -> Floats:
    """Ratio, as if there were `RATE_PRIOR` more votes at the rate `on`."""
    return (count + RATE_PRIOR * on) / np.maximum(weight + RATE_PRIOR, RESIDUAL_FLOOR)


# -- present against absent -----------------------------------------------------------------------------------------


def consensus(votes: Votes, evidence: Floats, prior: Floats) -> Floats:
    """eq6 with D8: (n_pairs,) probability that the label is present."""
    return passes.posterior_pass(votes.coins.slot, votes.pairs.start, evidence, prior).proba


def vote_weights(state: PaperState, weight_exponent: float) -> Floats:
    """(n_workers,) what a vote counts in eq6: λ_m^r relative to equal weights, and no more than one vote (D8).

    Weights about a mean of one, some above it, did worse: votes of the best group then counted more than once.
    """
    return np.minimum(1.0, state.n_groups * state.group_weights[state.worker_group]) ** weight_exponent


def coin_evidence(votes: Votes, rates: AnswerRates, weights: Floats) -> Floats:
    """(2 · n_coins,) log-odds that a no and a yes of each coin add to "present": eq6 with D8."""
    coins = votes.coins
    hit, false_alarm = rates.worker[:, coins.worker, coins.label]
    return slot_evidence(hit, false_alarm) * np.repeat(weights[coins.worker], 2)


def new_evidence(
    votes: Votes, worker: Ints, label: Ints, worker_rates: Floats, crowd_rates: Floats, vote_weight: Floats
) -> Floats:
    """The same for new votes; their workers and labels have these learned codes (−1: newcomers).

    worker_rates, crowd_rates : as in `AnswerRates`. A newcomer has the rates of the crowd and the mean weight; a new
    label the mean of all labels.
    """
    # A worker who was there but never met the label has rates on it too: those of their group.
    who, what = worker[votes.coins.worker], label[votes.coins.label]
    met = (who >= 0) & (what >= 0)
    hit, false_alarm = (
        np.where(met, own[who, what], known_or_mean(crowd, what))
        for own, crowd in zip(worker_rates, crowd_rates, strict=True)
    )
    return slot_evidence(hit, false_alarm) * np.repeat(known_or_mean(vote_weight, who), 2)


def mean_presence(votes: Votes, proba: Floats) -> Floats:
    """(n_labels,) how often each label is present; leans by one pair on all labels, so it is never 0 nor 1."""
    asked = np.bincount(votes.pairs.label, minlength=votes.n_labels)
    present = weight_per_code(votes.pairs.label, proba, votes.n_labels)
    overall = (present.sum() + 1.0) / (asked.sum() + 2.0)
    return np.asarray((present + overall) / (asked + 1.0))


def pair_priors(votes: Votes, label_prior: Floats, gold: Gold) -> Floats:
    """(n_pairs,) log-odds before any vote; certain where truth is known."""
    return gold.log_odds(np.log(label_prior / (1.0 - label_prior))[votes.pairs.label])


# -- as printed -----------------------------------------------------------------------------------------------------


def printed_consensus(
    votes: Votes, individuality: Floats, commonality: Floats, group_weights: Floats, weight_exponent: float
) -> Floats:
    """eq6 as printed, in logs: (n_pairs,) share of each label in its item's sum over labels.

    The arg max names one label per item, so the shares of an item's labels sum to one (or less, where not all were
    asked). Where nobody said yes, every product is empty and every label has the same share; of a single label that
    would be 1, a certain yes from denials alone, so ignorance is at most ½.
    """
    yes = votes.value > 0
    worker, label = votes.worker[yes], votes.label[yes]
    answered, first = np.unique(votes.item[yes], return_index=True)  # votes are sorted by item
    with np.errstate(divide="ignore"):  # a group without weight adds exp(−∞) = 0
        log_weights = weight_exponent * np.log(group_weights)
    score = np.full((votes.n_items, votes.n_labels), -np.inf)
    for common, log_weight in zip(commonality, log_weights, strict=True):
        response = np.log(np.maximum(individuality + common, LEAST_ENTRY))
        term = np.full(score.shape, log_weight)
        if len(answered):
            # Row g of what a yes on l adds, for all g at once, summed over the yeses of each item.
            term[answered] += np.add.reduceat(response[worker, :, label], first, axis=0)
        score = np.logaddexp(score, term)
    share = np.exp(score - np.logaddexp.reduce(score, axis=1, keepdims=True))
    without_yes = np.setdiff1d(np.arange(votes.n_items), answered)
    share[without_yes] = np.minimum(share[without_yes], IGNORANCE)
    return np.asarray(share[votes.pairs.item, votes.pairs.label])


def for_new_votes(matrices: Floats, label: Ints) -> Floats:
    """D_w or C_m on the labels of new votes, by their learned codes: (n, n_new, n_new).

    A new label (−1) is given in its own place as the others are in theirs, on average, and instead of others likewise.
    """
    n_labels, same = matrices.shape[-1], np.eye(len(label), dtype=bool)
    diagonal = np.einsum("...gg->...", matrices)
    beside = (matrices.sum(axis=(-2, -1)) - diagonal) / max(n_labels * (n_labels - 1), 1)
    average = np.where(same, diagonal[..., None, None] / n_labels, beside[..., None, None])
    known = (label[:, None] >= 0) & (label >= 0)
    return np.where(known, matrices[:, label[:, None], label], average)
