"""The board: every method on every cell, kept in a cache.

A *cell* is a crowd to compare on (`cells.py`), an *entrant* who competes (`entrants.py`). A *result* is one entrant on
one draw of one cell: scores, or None where the entrant cannot run there. `summary.py` reads results.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from amcc import metrics
from amcc.arrays import Floats, Mask
from amcc.consensus import METHODS, ConsensusModel
from amcc.errors import ConvergenceWarning, EmptyInputError, TooLargeError
from amcc.experiments import cache, peers
from amcc.experiments.cache import Count, Progress, kept, place, silent
from amcc.experiments.cells import Cell, Draw, Kind, with_known_items
from amcc.experiments.entrants import Entrant, Variant, entrants_of
from amcc.experiments.peers import ORACLE, PEERS
from amcc.files import make_folder
from amcc.truth import Truth

# Those of `metrics.evaluate`, those of `trust_scores`, and the time.
SCORES = (
    "jaccard", "f1", "hamming", "one_minus_rl", "one_minus_oe",
    "ece", "log_loss", "settled", "wrong_among_settled", "claimed_error", "true_error", "seconds",
)  # fmt: skip
HIGHER_IS_BETTER = SCORES[:5]
# More of it is good only if it is right, which other scores tell.
NEITHER_IS_BETTER = ("settled", "claimed_error")


@dataclass(frozen=True)
class Result:
    """The scores of one entrant on one draw of one cell.

    scores : by name, one of `SCORES`, None where one is undefined; None altogether where the entrant has no entry.
    family : of the cell. known : of how many items the entrant was given the truth.
    """

    cell: str
    kind: Kind
    seed: int
    method: str
    scores: Mapping[str, float | None] | None
    family: str = ""
    known: int = 0


# -- running --------------------------------------------------------------------------------------------------------


def run_board(
    cells: Sequence[Cell],
    methods: Iterable[str],
    folder: Path,
    *,
    variants: Mapping[str, Variant] | None = None,
    known: Iterable[int] = (),
    known_draws: int = 1,
    n_processes: int = 1,
    progress: Progress = silent,
) -> list[Result]:
    """Results of every entrant on every draw, those in the cache of `folder` first.

    `variants` are further entrants: name → (method, arguments of its constructor). `known` are numbers of items whose
    truth the default is given; on a set that is used whole they are drawn `known_draws` times.
    """
    entrants = entrants_of(methods, variants or {}, known)
    if not cells:
        raise EmptyInputError("there must be a crowd to compare on; neither data nor a simulated size was chosen.")
    make_folder(folder)
    tasks: list[tuple[Path, tuple[Cell, int, Entrant]]] = []
    for cell in cells:
        for seed in range(max(n_draws(cell, entrant, known_draws) for entrant in entrants)):
            # Drawn here once more than needed: what a draw is belongs into the name of its results.
            drawn = cell.draw(seed).fingerprint()
            running = [entrant for entrant in entrants if seed < n_draws(cell, entrant, known_draws)]
            tasks += [(place(folder, _depends_on(drawn, seed, entrant)), (cell, seed, entrant)) for entrant in running]
    found = kept(evaluate_method, tasks, n_processes=n_processes, count=Count(len(tasks), progress))
    return [
        Result(cell.name, cell.kind, seed, entrant.name, scores, cell.family or cell.name, entrant.known)
        for (_, (cell, seed, entrant)), scores in zip(tasks, found, strict=True)
    ]


def n_draws(cell: Cell, entrant: Entrant, known_draws: int) -> int:
    """How often an entrant is run on a cell: a set that is used whole has one draw, but many of its items to know."""
    is_whole = cell.folder is not None and cell.answers is None
    return known_draws if entrant.known and is_whole else cell.n_seeds


def _depends_on(drawn: str, seed: int, entrant: Entrant) -> list[Any]:
    """What the scores of an entrant on a draw depend on; SCORES, because a file without a new score will not do."""
    # Which items are known is drawn by the seed; without them, the draw says all about it.
    truth = [entrant.known, seed] if entrant.known else None
    return [drawn, entrant.method, dict(entrant.params), _version(entrant.method), truth, SCORES]


def _version(method: str) -> list[str | None]:
    """The code that a result depends on. Peers and oracle are slow or settled: amcc's models do not concern them."""
    if method in METHODS:
        return [cache.code_version()]
    ours = cache.file_hash(peers.__file__, metrics.__file__)
    return [peers.crowdkit_version() if method in PEERS else None, ours]


# -- one result -----------------------------------------------------------------------------------------------------


def evaluate_method(cell: Cell, seed: int, entrant: Entrant) -> dict[str, float | None] | None:
    """Run one entrant on one draw and score it; None where it has no entry.

    Runs in a process of its own, so that it draws the crowd again: votes are larger than the recipe for them.
    """
    draw = cell.draw(seed)
    truth, scored = with_known_items(draw, entrant.known, seed) if entrant.known else (None, draw)
    # A copy without what an earlier entrant has worked out and left in the votes: all pay for it.
    find_consensus = _way_to_consensus(entrant, replace(draw, votes=replace(draw.votes)), truth)
    if find_consensus is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        try:
            consensus = find_consensus()
        except TooLargeError:  # the paper's matrices of labels, where there are hundreds
            return None
        seconds = time.perf_counter() - start
    return {**scores_of(consensus, scored), "seconds": seconds}


class Consensus(NamedTuple):
    """Label sets, probabilities and what is called settled, all (n_items, n_labels); peers call nothing settled."""

    predicted: Mask
    proba: Floats
    settled: Mask | None = None


def scores_of(consensus: Consensus, draw: Draw) -> dict[str, float | None]:
    """All scores but the time; None where one is undefined.

    What is said about trust is about pairs that somebody was asked about: nobody calls the others settled.
    """
    asked = np.zeros_like(draw.known)
    asked[draw.votes.item, draw.votes.label] = True
    found = metrics.evaluate(draw.truth, consensus.predicted, consensus.proba, draw.known)
    found |= trust_scores(draw.truth, consensus, draw.known & asked)
    return {name: None if np.isnan(found[name]) else found[name] for name in SCORES[:-1]}


def trust_scores(truth: Mask, consensus: Consensus, known: Mask) -> dict[str, float]:
    """How sure a consensus is of the `known` pairs, and with what right; NaN where it does not say, or of nothing.

    settled : share of the pairs that are called settled; wrong_among_settled : share of these that are decided wrongly.
    claimed_error : how many decisions should be wrong by its own probabilities; true_error : how many are, both as
    shares. All by the label sets, which are what users take.
    """
    # By the label sets, which need not be what is more likely than not.
    wrong = consensus.predicted != truth
    claimed = np.where(consensus.predicted, 1 - consensus.proba, consensus.proba)
    found = {"claimed_error": mean_at(claimed, known), "true_error": mean_at(wrong, known)}
    if consensus.settled is None:
        return {**found, "settled": np.nan, "wrong_among_settled": np.nan}
    settled, wrong_among_settled = mean_at(consensus.settled, known), mean_at(wrong, known & consensus.settled)
    return {**found, "settled": settled, "wrong_among_settled": wrong_among_settled}


def mean_at(values: Mask | Floats, chosen: Mask) -> float:
    """Mean of the chosen values, NaN of none."""
    return float(values[chosen].mean()) if chosen.any() else np.nan


def _way_to_consensus(entrant: Entrant, draw: Draw, truth: Truth | None) -> Callable[[], Consensus] | None:
    """What is timed; None where the entrant has no entry."""
    if entrant.method == ORACLE:
        if draw.rates is None:
            return None
        return partial(_decided, peers.true_rates, draw.votes, draw.rates, draw.truth.mean(axis=0))
    if entrant.method in PEERS:
        peer = PEERS[entrant.method]
        if len(draw.votes) > peer.max_votes:
            return None
        peers.load_crowdkit()  # before time counts
        return partial(_decided, peer.proba, draw.votes)
    return partial(_fitted, entrant.model(), draw, truth)


def _decided(find_proba: Callable[..., Floats], *arguments: Any) -> Consensus:
    """Label sets of those who only have probabilities."""
    proba = find_proba(*arguments)
    return Consensus(proba > 0.5, proba)


def _fitted(model: ConsensusModel, draw: Draw, truth: Truth | None) -> Consensus:
    """What a model of amcc finds, given the truth of some items or none."""
    model.fit(draw.votes, truth=truth)
    # What nobody was asked about is not settled.
    settled = np.zeros_like(draw.known)
    settled[model.pair_item_, model.pair_label_] = model.pair_settled_
    return Consensus(model.predict(), model.predict_proba(), settled)
