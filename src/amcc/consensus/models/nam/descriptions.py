"""How NAM describes items and answers by numbers.

An item is described by its features, or, where none are given, by what was said about it. An answer is described by its
item and by a *code*: what the same worker said about similar items. Labels that were not asked stand at their share of
yes in both, so what is kept are deviations from these shares, zero where nobody was asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from amcc.arrays import Floats, Ints
from amcc.votes import Votes

# Columns of answers that are kept; more labels than this are projected onto their main directions.
LARGEST_CODE = 24
# Largest distance by which chance, drawn from the votes, tells items apart that are equally near.
TIE_BREAK = 1e-3


class DescribedAnswers(NamedTuple):
    """What regressions of the workers see.

    description : (n_answers, n) x̂: a constant, the features of the item, the code.
    of_vote : (n_votes,) the answer of each vote.
    """

    description: Floats
    of_vote: Ints


def with_constant(*columns: Floats) -> Floats:
    """The columns side by side, after a column of ones."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def item_deviations(votes: Votes, yes_share: Floats, label: Ints) -> scipy.sparse.csr_array:
    """(n_items, n_labels) by how much each item's share of yes differs from the label's; 0 where nobody was asked."""
    pairs = votes.pairs
    return label_deviations(votes.n_yes / pairs.n_votes, pairs.item, label[pairs.label], votes.n_items, yes_share)


def label_deviations(
    entry: Floats, row: npt.NDArray[Any], column: Ints, n_rows: int, yes_share: Floats
) -> scipy.sparse.csr_array:
    """(n_rows, n_labels) sparse matrix of entries minus the share of their column; columns −1 are left out."""
    kept = column >= 0
    row, column, entry = row[kept], column[kept], entry[kept]
    return scipy.sparse.csr_array((entry - yes_share[column], (row, column)), shape=(n_rows, len(yes_share)))


def label_basis(deviations: scipy.sparse.csr_array) -> Floats:
    """(n_labels, n) coordinates of label vectors: the labels themselves if few, else their main directions.

    >>> label_basis(scipy.sparse.csr_array(np.ones((5, 2)))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n_labels = deviations.shape[1]
    if n_labels <= LARGEST_CODE:
        return np.eye(n_labels)
    # svds finds fewer directions than the smaller side has; a single item or label has none to find.
    size = min(LARGEST_CODE, *(side - 1 for side in deviations.shape))
    if size < 1:
        return np.ones((n_labels, 1))
    from scipy.sparse.linalg import svds

    begin = np.ones(min(deviations.shape))  # a fixed start makes the result repeatable
    main = svds(deviations, k=size, v0=begin, return_singular_vectors="vh")[2].T
    # Singular vectors have no sign of their own: most labels point upwards, in whatever order the items stand.
    return np.asarray(main * np.where(main.sum(axis=0) < 0, -1.0, 1.0))


def places_of_codes(code: Ints, n_codes: int) -> list[Ints]:
    """The places that carry each code; codes below 0 belong to nobody.

    >>> [places.tolist() for places in places_of_codes(np.array([1, -1, 0, 1]), 2)]
    [[2], [0, 3]]
    """
    order = np.argsort(code, kind="stable")
    return np.split(order, np.searchsorted(code[order], np.arange(n_codes + 1)))[1:-1]
