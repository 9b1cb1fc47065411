"""What groups of workers have in common, C_m of eq1, and its integration over groups, C of eq8.

The paper's own model fits its matrices; they are taken as they are. Other models have none, so they get what the text
says that C_m means: C_m(g, l) is the probability that workers of the group give label l where g is true, counted from
the answers and the consensus. A model without groups has one, of everybody.
"""

from __future__ import annotations

import numpy as np
import scipy

from amcc.active import scores
from amcc.arrays import Floats
from amcc.consensus.base import ConsensusModel
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.models.paper import PaperAMCC
from amcc.votes import Votes

# r of eq5 where a model has no such parameter. 2, because the paper chose it (its figure "rm"), and `PaperAMCC` has it.
WEIGHT_EXPONENT = 2.0


def integrated_commonality(model: ConsensusModel, votes: Votes, proba: Floats) -> Floats:
    """(n_labels, n_labels) C of eq8 by a model that was just fitted to these votes.

    proba : (n_items, n_labels) its consensus.
    """
    if isinstance(model, PaperAMCC):
        fitted = model.commonality_matrices_, model.group_weights_
        return scores.integrated_correlation(*fitted, model.weight_exponent)
    if isinstance(model, GroupedModel):
        membership, weights = model.worker_membership_, model.group_weights_
    else:
        membership, weights = np.ones((votes.n_workers, 1)), np.ones(1)
    matrices = np.stack([counted_commonality(votes, proba, share) for share in membership.T])
    return scores.integrated_correlation(matrices, weights, WEIGHT_EXPONENT)


def counted_commonality(votes: Votes, proba: Floats, share: Floats) -> Floats:
    """(n_labels, n_labels) how often a group gives label l (columns) where label g is true (rows).

    share : (n_workers,) how much of each worker belongs to the group. One more vote at the crowd's rate of l keeps
    what hardly occurs from being 0 or 1.

    >>> votes = Votes.from_dense([[[1, 1], [1, -1], [-1, 1]]])
    >>> counted_commonality(votes, np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(1)).round(2).tolist()
    [[0.87, 0.53], [0.53, 0.87]]
    """
    shape, weight = (votes.n_items, votes.n_labels), share[votes.worker]
    yes, asked = (
        scipy.sparse.csr_array((weight * kind, (votes.item, votes.label)), shape=shape)
        for kind in (votes.value > 0, 1.0)
    )
    n_yes, n_asked = (np.bincount(votes.label, kind, votes.n_labels) for kind in (votes.value > 0, None))
    crowd = (n_yes + 1.0) / (n_asked + 2.0)
    return np.asarray((proba.T @ yes + crowd) / (proba.T @ asked + 1.0))
