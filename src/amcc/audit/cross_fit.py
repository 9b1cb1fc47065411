"""A consensus that has learned from a slice, and can be measured by it all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints, Mask
from amcc.audit.slices import People, as_truth, named
from amcc.consensus.base import ConsensusModel
from amcc.errors import EmptyInputError, ParameterError
from amcc.roster import Roster
from amcc.truth import TOLD, PairList, Truth, positions
from amcc.votes import Votes

# Each fit knows four fifths of the slice, nearly all; more would only take longer.
SLICE_FOLDS = 5


def cross_fitted(
    make: Callable[[], ConsensusModel], votes: Votes, people: People, *, folds: int = SLICE_FOLDS, seed: int = 0,
    all_labels: bool = False, workers: Roster | None = None,
) -> pa.Table:  # fmt: skip
    """The consensus of a model that learns from the slice, fit to be audited by the same slice.

    The items of the slice are dealt into folds. What is said about the items of one fold comes from a fit to which the
    answers to the other folds are known; about other items, it is the mean over the fits, and settled is what most of
    them call so. No answer is measured by a fit that has seen it.

    Parameters
    ----------
    make : callable
        Gives a new model for each fold.
    votes, people : Votes; Truth or Votes
        As for `audit`. What most people say is what the fits are told.
    folds, seed : int
        How many fits there are, and the chance by which items are dealt.
    all_labels, workers
        As for `ConsensusModel.pairs` and `ConsensusModel.fit`.

    Returns
    -------
    Table item, label, probability, present, settled, which `audit` and `amcc.evaluate` take. A column told is there
    only where a fit was told about the pairs that it speaks of.
    """
    if folds < 2:
        raise ParameterError(f"folds must be at least 2; got {folds!r}.")
    truth = people if isinstance(people, Truth) else as_truth(people)
    present, known = truth.on_pairs(votes)
    items = np.unique(votes.pairs.item[known])
    if len(items) < folds:
        raise EmptyInputError(
            f"to learn from a slice and be measured by it takes at least {folds} of its items with votes; there are "
            f"{len(items)}. Leave cross-fitting out."
        )
    fold = np.full(votes.n_items, -1)  # −1: not in the slice, so that no fit has seen answers to it
    fold[items] = np.random.default_rng(seed).permutation(np.arange(len(items)) % folds)
    fits = []
    for number in range(folds):
        taught = known & (fold[votes.pairs.item] != number)
        model = make().fit(votes, truth=_truth_of(votes, present, taught), roster=workers)
        fits.append(model.pairs(all_labels=all_labels, frame="arrow"))
    return _held_out(fits, fold[positions(fits[0]["item"].combine_chunks(), votes.item_names)])


def _truth_of(votes: Votes, present: Mask, known: Mask) -> Truth:
    """What is true of the known pairs of these votes, (n_pairs,), by name."""
    pairs = PairList(*named(votes, votes.pairs.item, votes.pairs.label))
    return Truth(pairs.where(present & known), known_pairs=pairs.where(known))


def _held_out(fits: list[pa.Table], fold: Ints) -> pa.Table:
    """One table of the fits' tables: at each row the fit that did not know it, or where all did not, all of them."""
    # All fits are of the same votes, so that their rows are of the same pairs, in the same order.
    columns: Mapping[str, Floats] = {
        name: np.stack([table[name].to_numpy().astype(np.float64) for table in fits])
        for name in ("probability", "settled")
    }
    zeros = np.zeros(len(fold), np.int8)
    told = np.stack([table[TOLD].to_numpy() if TOLD in table.column_names else zeros for table in fits])
    rows = np.arange(len(fold))
    mine = {name: np.where(fold < 0, each.mean(axis=0), each[fold, rows]) for name, each in columns.items()}
    mine_told = np.where(fold < 0, told.max(axis=0), told[fold, rows])
    return pa.table(
        {
            "item": fits[0]["item"],
            "label": fits[0]["label"],
            "probability": mine["probability"],
            "present": (mine["probability"] > 0.5).astype(np.int8),
            "settled": (mine["settled"] > 0.5).astype(np.int8),
            **({TOLD: mine_told} if mine_told.any() else {}),
        }
    )
