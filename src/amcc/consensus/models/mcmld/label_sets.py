"""The label sets that are most likely as a whole in a mixture of independent labels (MCMLD eq24).

With several clusters this is not a matter of single labels: two labels may each be likely, in different clusters, while
the set of both is not. There are 2^labels sets, so they are searched, not enumerated.
"""

from __future__ import annotations

import numpy as np

from amcc.arrays import Floats, Mask, safe_log, safe_logit

# Items with sets that are searched at a time: 12 clusters × 1000 labels are then 50 MB.
ITEMS_PER_BLOCK = 512
# A change of one label must raise the log-probability by more, or rounding could turn the search in circles.
LEAST_GAIN = 1e-9


def mode_of_mixture(cluster: Floats, present: Floats) -> Mask:
    """(items, labels) sets with the largest sum over clusters of P(cluster) · P(set given cluster), MCMLD eq24.

    Starts from the best set of every cluster and from the labels more likely present than absent, changes one label at
    a time as long as that helps, and takes the best end. With one cluster, or a dominant one, this is exact.

    cluster : (items, clusters); present : (items, clusters, labels)
    """
    log_odds, log_cluster = safe_logit(present), safe_log(cluster) + safe_log(1 - present).sum(axis=2)
    starts = [np.einsum("nk,nkl->nl", cluster, present) > 0.5, *np.moveaxis(log_odds > 0, 1, 0)]
    ends, scores = zip(*(improve_sets(sets, log_cluster, log_odds) for sets in starts), strict=True)
    best = np.argmax(np.stack(scores), axis=0)
    mode: Mask = np.stack(ends)[best, np.arange(len(cluster))]
    return mode


def improve_sets(sets: Mask, log_empty: Floats, log_odds: Floats) -> tuple[Mask, Floats]:
    """Change the one label that helps most, in every item, until none does.

    sets : (items, labels); log_empty : (items, clusters) log-probability of cluster and empty set;
    log_odds : (items, clusters, labels) what a label adds to it.
    """
    sets = sets.copy()
    item = np.arange(len(sets))
    # Every turn raises the score of some item, and no set comes twice: the search ends.
    while True:
        joint = log_empty + np.einsum("nkl,nl->nk", log_odds, sets)
        score = np.logaddexp.reduce(joint, axis=1)
        flip = np.where(sets[:, None, :], -log_odds, log_odds)
        flipped = np.logaddexp.reduce(joint[:, :, None] + flip, axis=1)
        label = np.argmax(flipped, axis=1)
        better = flipped[item, label] > score + LEAST_GAIN
        if not better.any():
            return sets, score
        sets[item[better], label[better]] ^= True
