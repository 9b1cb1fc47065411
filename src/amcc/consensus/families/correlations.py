"""How far votes of different sources go together on the same pairs: what the votes themselves show."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.families.tree import ViewTree
from amcc.votes import Votes

SAMPLE = 2_000_000
"""Votes that are enough to see correlations by."""


class VoteCorrelations(NamedTuple):
    """How votes of sources go together.

    correlation : (n_sources, n_sources) of votes of different workers on the same pair, within labels
    shared : (n_sources, n_sources) how many such pairs of votes there are
    together : (n_sources, n_sources) votes of other workers of the second, per vote of the first, on the same pair
    """

    correlation: Floats
    shared: Floats
    together: Floats


def vote_correlations(votes: Votes, tree: ViewTree, present: Mask, known: Mask) -> VoteCorrelations:
    """Correlations between sources; several votes of one worker on a pair count as one, with their share of yes.

    present, known : (n_pairs,) truth, where it is known
    """
    pair, source, apart, n_votes = centred_votes(votes, tree, present, known)
    shape = len(votes.pairs), tree.n_sources
    total = coo_array((apart, (pair, source)), shape=shape).tocsr()
    count = coo_array((np.ones(len(pair)), (pair, source)), shape=shape).tocsr()
    product, shared = (total.T @ total).toarray(), (count.T @ count).toarray()
    squares = np.bincount(source, apart**2, tree.n_sources)
    on_diagonal = np.diag_indices(tree.n_sources)
    product[on_diagonal] -= squares  # a worker's votes beside themselves
    shared[on_diagonal] -= n_votes
    variance = squares / np.maximum(n_votes, 1)
    scale = np.sqrt(np.outer(variance, variance))
    correlation = product / np.maximum(shared, 1) / np.maximum(scale, 1e-12)
    return VoteCorrelations(np.clip(correlation, -0.99, 0.99), shared, shared / np.maximum(n_votes, 1)[:, None])


def centred_votes(votes: Votes, tree: ViewTree, present: Mask, known: Mask) -> tuple[Ints, Ints, Floats, Ints]:
    """Pair, source and vote of every worker on every pair, less the source's mean on the label; and votes by source."""
    pair, worker, share = worker_shares(votes)
    source, label = tree.source[worker], votes.pairs.label[pair]
    if tree.is_truth.any():
        told = np.flatnonzero(known)
        pair, share = np.append(pair, told), np.append(share, present[told])
        source = np.append(source, np.full(len(told), tree.n_sources - 1))
        label = np.append(label, votes.pairs.label[told])
    key = source * votes.n_labels + label
    size = tree.n_sources * votes.n_labels
    mean = np.bincount(key, share, size) / np.maximum(np.bincount(key, minlength=size), 1)
    return pair, source, share - mean[key], np.bincount(source, minlength=tree.n_sources)


def worker_shares(votes: Votes) -> tuple[Ints, Ints, Floats]:
    """Pair, worker and share of yes of all votes of one worker on one pair; of a random part beyond `SAMPLE` votes."""
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    worker, yes = votes.worker.astype(np.int64), (votes.value > 0).astype(np.float64)
    if len(votes) > SAMPLE:
        chosen = np.random.default_rng(0).random(len(votes.pairs)) < SAMPLE / len(votes)
        here = chosen[pair]
        pair, worker, yes = pair[here], worker[here], yes[here]
    new = np.append(True, (np.diff(pair) != 0) | (np.diff(worker) != 0))[: len(pair)]
    first = np.flatnonzero(new)
    n_samples = np.diff(np.append(first, len(pair)))
    return pair[first], worker[first], np.add.reduceat(yes, first) / n_samples if len(first) else yes
