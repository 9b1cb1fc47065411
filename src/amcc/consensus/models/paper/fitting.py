"""The fit: rounds of updates until eq5 settles.

Falling. No round ends above the one before. The updates of commonality, weights and groups are exact; the ADMM step of
the individuality goes only as far as it does not raise the function, and so does the anchor when it follows the
consensus. The print (`printed`) promises nothing of the kind.

Cost per round: O(answers · labels²) for the statistics (· labels if answers are partial) and
O((workers + groups) · labels³) for the updates (· labels likewise); memory workers · labels² (· labels), and
(answers + items) · labels. A worker's matrices cannot be kept on the labels met only: the consensus on the items they
answered has an expected value for every label, the rows of D_w share their sum over all of them, and HSIC compares
whole matrices. Beyond 2 GB the fit is refused before anything is made; `AMCC` has no such limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Floats, Ints
from amcc.consensus.learned import Gold
from amcc.consensus.models.paper.anchor import Observed, Place, follow_consensus
from amcc.consensus.models.paper.answers import gather_answers
from amcc.consensus.models.paper.consensus import Verdict
from amcc.consensus.models.paper.objective import objective
from amcc.consensus.models.paper.problem import PaperSettings, PaperState
from amcc.consensus.models.paper.start import start_groups, start_state
from amcc.consensus.models.paper.updates import update_all
from amcc.consensus.monitor import Monitor
from amcc.errors import TooLargeError
from amcc.votes import Votes

AnyArray = npt.NDArray[Any]

# Numbers held at a time beyond which the fit is refused: 2 GB, which a small machine has.
MAX_NUMBERS = 250_000_000


@dataclass(frozen=True)
class PaperFit:
    """Result of `fit_paper`. Groups are in the order of their weight, the best first.

    state : D_w, C_m, λ and W_m. verdict : what eq6 says about every pair by them.
    label_similarity : (n_labels, n_labels) cosines, B of eq4.
    monitor : objective of eq5 after each round, and its last change.
    """

    state: PaperState
    verdict: Verdict
    label_similarity: Floats
    monitor: Monitor


def fit_paper(votes: Votes, gold: Gold | None = None, settings: PaperSettings | None = None) -> PaperFit:
    """Minimise eq5 in turns (eq15 to eq23) and take the consensus of eq6.

    gold : pairs whose truth is known. They keep it in the consensus and, where that is the anchor, workers are judged
        by it from the start. A worker who represents themselves cannot be.

    Workers who said nothing are no part of eq5: there is no A_w to represent. They come out as newcomers do.

    Raises
    ------
    TooLargeError
        If workers × labels² (× labels, where answers leave labels out) numbers are more than fit; see the top.
    """
    settings = settings or PaperSettings()
    settings.check()
    heard = np.flatnonzero(votes.answers_per_worker)
    if 0 < len(heard) < votes.n_workers:
        return with_newcomers(fit_paper(of_workers(votes, heard), gold, settings), heard, votes.n_workers)
    check_paper_size(votes, settings)
    # Only now that it is known to fit: gathering answers takes items × labels numbers already.
    answers = gather_answers(votes, all_cells=settings.all_cells)
    observed = Observed(votes, gold or Gold.nothing(len(votes.pairs)), answers, settings)
    place, monitor = first_place(observed), Monitor(settings.tol, settings.max_iter)
    for _ in monitor.rounds():
        before, place = place.value, next_place(place, observed)
        monitor.report(place.value, abs(before - place.value))
    # In the order of weights for those who read them; eq6 does not care.
    place = place._replace(state=by_weight(place.state))
    return PaperFit(place.state, place.verdict(observed), observed.label_similarity, monitor)


def first_place(observed: Observed) -> Place:
    """Where the rounds start: majority as anchor, and groups by what it says about workers."""
    proba = observed.first_proba
    problem = observed.problem(proba)
    state = start_state(problem, start_groups(observed.votes, observed.gold, observed.settings))
    return Place(state, problem, proba, objective(state, problem))


def next_place(place: Place, observed: Observed) -> Place:
    """One round: all estimates by the anchor as it is, then the anchor by the estimates."""
    place = place._replace(state=update_all(place.state, place.problem))
    if observed.settings.by_itself:
        return place._replace(value=objective(place.state, place.problem))  # eq5
    return follow_consensus(place, place.verdict(observed).pair_proba, observed.statistics)  # eq6, D1


def of_workers(votes: Votes, worker: Ints) -> Votes:
    """The same votes with the names of these workers only, who gave all of them."""
    place = np.zeros(votes.n_workers, dtype=np.int32)
    place[worker] = np.arange(len(worker))
    return replace(votes, worker=place[votes.worker], worker_names=votes.worker_names.take(pa.array(worker)))


def with_newcomers(fit: PaperFit, heard: Ints, n_workers: int) -> PaperFit:
    """The fit of the workers who were `heard`, and for all others what is usual: mean D_w, rates of the crowd.

    Their group is the largest.
    """

    def filled(of_heard: AnyArray, usual: AnyArray) -> AnyArray:
        """(n_workers, ...) what was learned, and what is usual for the others."""
        every = np.repeat(np.asarray(usual, of_heard.dtype)[None], n_workers, axis=0)
        every[heard] = of_heard
        return every

    state, rates = fit.state, fit.verdict.rates
    largest = np.asarray(np.bincount(state.worker_group).argmax())
    state = replace(
        state,
        individuality=filled(state.individuality, state.individuality.mean(axis=0)),
        admm_dual=filled(state.admm_dual, np.zeros(state.admm_dual.shape[1:])),
        worker_group=filled(state.worker_group, largest),
    )
    of_workers = np.stack([filled(own, crowd) for own, crowd in zip(rates.worker, rates.crowd, strict=True)])
    weight = filled(fit.verdict.vote_weight, fit.verdict.vote_weight.mean())
    verdict = fit.verdict._replace(rates=replace(rates, worker=of_workers), vote_weight=weight)
    return replace(fit, state=state, verdict=verdict)


def by_weight(state: PaperState) -> PaperState:
    """Groups in the order of their weight, the best first."""
    order = np.argsort(-state.group_weights, kind="stable")
    return replace(
        state,
        commonality=state.commonality[order],
        group_weights=state.group_weights[order],
        worker_group=np.argsort(order)[state.worker_group],
    )


def check_paper_size(votes: Votes, settings: PaperSettings) -> None:
    """Refuse what would not fit, before anything of that size is made."""
    n_workers, n_labels = votes.n_workers, votes.n_labels
    n_answers = int(votes.answers_per_worker.sum())
    columns = 1 if settings.all_cells or len(votes) == n_answers * n_labels else n_labels
    # Sums of three anchors (now, tried, tried before), some ten matrices a worker, some five numbers a cell.
    numbers = n_workers * n_labels**2 * (3 * columns + 10) + 5 * n_labels * (n_answers + votes.n_items)
    if numbers > MAX_NUMBERS:
        partial = f" × {n_labels} (not every answer covers all labels)" if columns > 1 else ""
        raise TooLargeError(
            f"PaperAMCC must fit into {8 * MAX_NUMBERS / 1e9:.1f} GB; {n_workers} workers × {n_labels} × "
            f"{n_labels} labels{partial} need {8 * numbers / 1e9:.1f} GB. Use AMCC, or fewer labels."
        )
