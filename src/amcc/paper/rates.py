"""Hit and false-alarm rates that a response D_w + C_m stands for: what eq6 needs for each label alone (D8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from amcc.arrays import Floats, weight_per_code
from amcc.paper.problem import RESIDUAL_FLOOR, PaperProblem, PaperState
from amcc.votes import Votes

# Nobody is believed to hit or miss with more certainty than this (D8): D_w + C_m is no probability by itself and may
# lie outside [0, 1], and a single vote must not outweigh all others.
RATE_FLOOR = 0.02
# Answers' worth of the group's rate in a worker's own rate (D8).
RATE_PRIOR = 1.0


@dataclass(frozen=True)
class AnswerRates:
    """Chances of a yes: [0] where the label is present (hits), [1] where it is absent (false alarms).

    crowd : (2, n_labels). group : (2, n_groups, n_labels). worker : (2, n_workers, n_labels).
    """

    crowd: Floats
    group: Floats
    worker: Floats


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
