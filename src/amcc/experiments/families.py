"""Means over families of cells: what one source gave counts once, however many sets it made.

Six sets of one project share their people, their labels and their mistakes. As six of twenty cells they would decide a
mean; as one family they have one voice. Families are also the units of chance: ± is over families.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from amcc.arrays import Floats, Mask
from amcc.experiments.cells import Kind
from amcc.experiments.peers import ORACLE
from amcc.experiments.summary import BASELINE, Board, Share, largest

# Means are over real families or over simulated ones: a mean of both would depend on how many crowds were simulated.
GROUPS: dict[str, set[Kind]] = {"real sets": {"independent", "own"}, "simulated crowds": {"simulated"}}
# Scores whose means over families are shown, and how people call them.
MEANS = {
    "jaccard": "Jaccard",
    "log_loss": "log-loss",
    "ece": "calibration error",
    "settled": "settled",
    "wrong_among_settled": "wrong among settled",
    "claimed_error": "claimed error",
    "true_error": "true error",
}


# Scores that are also compared with majority family by family: families differ more than methods do.
GAINS = ("jaccard", "log_loss")


class MeanWithError(NamedTuple):
    """A mean and its standard error; NaN where there is nothing, or only one, to tell it by."""

    mean: float
    error: float


def mean_and_error(values: npt.ArrayLike) -> MeanWithError:
    """Mean of the values that are not NaN, and its standard error: sd (with n − 1) / √n.

    >>> mean_and_error([1.0, 2.0, 3.0, float("nan")])
    MeanWithError(mean=2.0, error=0.5773502691896258)
    """
    # NaN is no entry, not a zero: who has none in a family is not judged by it.
    found = np.asarray(values, dtype=np.float64)
    found = found[~np.isnan(found)]
    if not found.size:
        return MeanWithError(np.nan, np.nan)
    error = float(found.std(ddof=1) / np.sqrt(found.size)) if found.size > 1 else np.nan
    return MeanWithError(float(found.mean()), error)


def in_group(board: Board, group: str) -> Mask:
    """(n_cells,) whether a cell belongs to a group, by the kind of its truth."""
    return np.array([kind in GROUPS[group] for kind in board.kinds])


def family_means(board: Board, score: str, group: str) -> tuple[list[str], Floats]:
    """Families of a group, and (n_families, n_methods) the mean of a score over the cells of each, NaN without entry.

    A method that has no entry in a cell of a family has none in the family: its mean would be of other crowds.
    """
    chosen, values = in_group(board, group), board.of(score)
    families = list(dict.fromkeys(family for family, one in zip(board.families, chosen, strict=True) if one))
    member = np.array([[one == family for one in board.families] for family in families]).reshape(len(families), -1)
    entered = ~np.isnan(board.of("jaccard"))
    means = np.full((len(families), len(board.methods)), np.nan)
    # Entries are told by Jaccard, which is always defined; other scores may be undefined in some cells.
    for row, cells in enumerate(member & chosen):
        for column in np.flatnonzero(entered[cells].all(axis=0)):
            means[row, column] = mean_and_error(values[cells, column]).mean
    return families, means


@dataclass(frozen=True)
class FamilyVerdict:
    """How one method did on a group of cells.

    n_families : those in which it has an entry.
    means : of each score of `MEANS`, over families.
    gains : of each score of `GAINS`, the difference to majority's, paired over families; NaN without majority.
    first : cells in which no competitor is better in Jaccard, or only by less than a tie; the oracle has none.
    worst_lead, worst_cell : Jaccard against majority where that is lowest, and where.
    most_wrong_among_settled, most_wrong_cell : the largest share of settled pairs that are wrong, and where.
    """

    n_families: int
    means: dict[str, MeanWithError]
    gains: dict[str, MeanWithError]
    first: Share
    worst_lead: float | None
    worst_cell: str | None
    most_wrong_among_settled: float | None
    most_wrong_cell: str | None


def family_verdict(board: Board, method: str, group: str) -> FamilyVerdict:
    """How one method did on a group of cells: `GROUPS` has their names.

    Differences to majority are paired: taken in each family, then averaged, because families differ more than methods.
    """
    column, chosen = board.methods.index(method), in_group(board, group)
    of_family = {score: family_means(board, score, group)[1] for score in MEANS}
    means = {score: values[:, column] for score, values in of_family.items()}
    # Majority against itself says nothing, and the oracle does not compete.
    compared = method not in (BASELINE, ORACLE) and BASELINE in board.methods
    before = board.methods.index(BASELINE) if compared else None
    gains = {score: means[score] - (np.nan if before is None else of_family[score][:, before]) for score in GAINS}
    # Ranks, leads and errors are by cell, not by family: a worst case is a case that somebody may meet.
    ranks = board.ranks("jaccard")[chosen, column]
    cells = [cell for cell, one in zip(board.cells, chosen, strict=True) if one]
    lead = board.lead("jaccard", method)[chosen]
    worst_lead, worst_cell = largest(-lead, cells) if compared else (None, None)
    most_wrong, most_wrong_cell = largest(board.of("wrong_among_settled")[chosen, column], cells)
    return FamilyVerdict(
        n_families=int((~np.isnan(means["jaccard"])).sum()),
        means={score: mean_and_error(values) for score, values in means.items()},
        gains={score: mean_and_error(values) for score, values in gains.items()},
        first=Share(int((ranks == 1).sum()), int((~np.isnan(ranks)).sum())),
        worst_lead=None if worst_lead is None else -worst_lead,
        worst_cell=worst_cell,
        most_wrong_among_settled=most_wrong,
        most_wrong_cell=most_wrong_cell,
    )
