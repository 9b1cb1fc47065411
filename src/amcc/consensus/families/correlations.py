"""How far votes of different sources go together on the same pairs: what the votes themselves show.

Correlations are taken within labels. Across labels, any two workers agree because some labels are frequent and others
are rare, and that says nothing about what they share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.families.tree import ViewTree
from amcc.votes import Votes

# Votes that are looked at. Two sources that share a hundredth of them have a correlation with a standard error of
# 0.007, below `views.MISFIT`: more votes would say nothing more.
SAMPLE = 2_000_000

# No correlation is taken for larger: Fisher's z of 1 is infinite.
MOST_CORRELATED = 0.99

# What a product of standard deviations is at least: sources that always say the same would divide by zero.
SOME_SPREAD = 1e-12


class VoteCorrelations(NamedTuple):
    """How votes of sources go together; all are (n_sources, n_sources).

    correlation : of votes of different workers on the same pair, within labels
    shared : how many such pairs of votes there are
    together : votes of other workers of the second source on the same pair, per vote of the first
    """

    correlation: Floats
    shared: Floats
    together: Floats


class CentredVotes(NamedTuple):
    """One vote of each worker on each pair: (n,) its pair, its source, and its distance from the source's mean.

    The mean is that of the source on the label. n_votes : (n_sources,) how many such votes there are.
    """

    pair: Ints
    source: Ints
    value: Floats
    n_votes: Ints

    def variance(self) -> Floats:
        """(n_sources,) mean square of the votes."""
        return np.bincount(self.source, self.value**2, len(self.n_votes)) / np.maximum(self.n_votes, 1)


def vote_correlations(centred: CentredVotes, n_pairs: int) -> VoteCorrelations:
    """Correlations between sources, from votes on this many pairs."""
    pair, source, value, n_votes = centred
    shape = n_pairs, len(n_votes)
    total = scipy.sparse.coo_array((value, (pair, source)), shape=shape).tocsr()
    count = scipy.sparse.coo_array((np.ones(len(pair)), (pair, source)), shape=shape).tocsr()
    product, shared = (total.T @ total).toarray(), (count.T @ count).toarray()
    # On the diagonal, a source of several workers is compared with itself. The product of a vote with itself is not
    # agreement, so it is taken out.
    on_diagonal = np.diag_indices(len(n_votes))
    product[on_diagonal] -= np.bincount(source, value**2, len(n_votes))
    shared[on_diagonal] -= n_votes
    variance = centred.variance()
    scale = np.maximum(np.sqrt(np.outer(variance, variance)), SOME_SPREAD)
    correlation = np.clip(product / np.maximum(shared, 1) / scale, -MOST_CORRELATED, MOST_CORRELATED)
    return VoteCorrelations(correlation, shared, shared / np.maximum(n_votes, 1)[:, None])


def centred_votes(votes: Votes, tree: ViewTree, present: Mask, known: Mask) -> CentredVotes:
    """The votes less the mean of their source on their label; known truth votes as the last source of the tree.

    present, known : (n_pairs,) truth, where it is known. Several votes of one worker on a pair count as one, with their
    share of yes.
    """
    pair, worker, share = worker_shares(votes)
    source = tree.source[worker]
    if tree.is_truth.any():
        told = np.flatnonzero(known)
        pair, share = np.append(pair, told), np.append(share, present[told])
        source = np.append(source, np.full(len(told), tree.n_sources - 1))
    key = source * votes.n_labels + votes.pairs.label[pair]
    size = tree.n_sources * votes.n_labels
    mean = np.bincount(key, share, size) / np.maximum(np.bincount(key, minlength=size), 1)
    return CentredVotes(pair, source, share - mean[key], np.bincount(source, minlength=tree.n_sources))


def worker_shares(votes: Votes) -> tuple[Ints, Ints, Floats]:
    """Pair, worker and share of yes of all votes of one worker on one pair; of a random part beyond `SAMPLE` votes.

    >>> votes = Votes.from_dense([[[1]], [[-1]]])
    >>> [column.tolist() for column in worker_shares(votes)]
    [[0, 0], [0, 1], [1.0, 0.0]]
    """
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    worker, yes = votes.worker.astype(np.int64), (votes.value > 0).astype(np.float64)
    if len(votes) > SAMPLE:
        # Whole pairs are drawn: votes are compared within pairs, so half a pair would be lost.
        here = (np.random.default_rng(0).random(len(votes.pairs)) < SAMPLE / len(votes))[pair]
        pair, worker, yes = pair[here], worker[here], yes[here]
    if len(pair) == 0:
        return pair, worker, yes
    first = np.flatnonzero(np.append(True, (np.diff(pair) != 0) | (np.diff(worker) != 0)))
    return pair[first], worker[first], np.add.reduceat(yes, first) / np.diff(np.append(first, len(pair)))
