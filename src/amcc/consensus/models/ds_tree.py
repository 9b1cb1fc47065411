"""Dawid and Skene's coins on a tree of labels: what is known of one label is evidence about its neighbours.

A *node* is a label of an item. `chow_liu` finds the tree, `relevant_nodes` the nodes that votes say something about,
and `pass_messages` how likely each of them is, by one pass up the tree and one down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import scipy

from amcc.arrays import AnyInts, Floats, Ints, safe_log, safe_logit, sigmoid, weight_per_code
from amcc.consensus.answers import gather_answers
from amcc.consensus.averages import mean_per_code
from amcc.consensus.coins import (
    count_slots,
    judge_later,
    log_answers,
    met_present_labels,
    pair_evidence,
    start_from_shares,
)
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import new_code
from amcc.consensus.models.dawid_skene import DawidSkene, PseudoVotes, log_prior, slot_evidence
from amcc.consensus.monitor import Monitor
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.votes import Votes

# Pseudo-answers in every cell of two labels' table, and pseudo-pairs of present and absent under each parent. One half
# (Jeffreys) keeps logs finite, and is soon outweighed where few items have the parent.
CELL_PRIOR = 0.5
# Pseudo-pairs of present and absent of a root: as many as `CDS` gives a label, so that a tree without edges is `CDS`.
ROOT_PRIOR = 1.0
# Probabilities under a parent stay this far from 0 and 1, for their logs are taken.
LEAST_RATE = 1e-10


@dataclass(frozen=True)
class ReachedNodes:
    """(n_nodes,) items and labels that votes say something about along the tree, and their probabilities."""

    item: Annotated[Ints, Each("node", code="item")]
    label: Annotated[Ints, Each("node", least=0)]
    proba: Annotated[Floats, Each("node")]


class DSTree(DawidSkene, methods={"ds-tree": {}}):
    """Two coins per worker and label as in `DawidSkene`, and a tree that says which labels go together.

    The true labels of an item are drawn along a tree: each label is present with a probability that depends on whether
    its parent is. The tree is Chow and Liu's: the one that explains most of how labels occur together in the workers'
    answers. Truth, coins and the tree's probabilities are estimated by expectation-maximisation; the posterior of an
    item is exact, by passing messages up and down the tree. The objective is the log-likelihood of the votes plus the
    log-densities of the Beta priors.

    Parameters
    ----------
    hit_prior, false_alarm_prior : (yes, no)
        Pseudo-votes that every worker starts with on present and on absent labels, see `DawidSkene`.
    max_iter, tol
        Stop when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    parent_label_ : (n_labels,) int64
        Code of each label's parent, −1 for roots.
    present_given_parent_ : (n_labels, 2)
        Probability of each label where its parent is absent and where it is present; of roots only the first counts.
    hit_rate_, false_alarm_rate_, coin_worker_, coin_label_, average_hit_rate_, average_false_alarm_rate_
        See `DawidSkene`.
    item_state_ : ReachedNodes or None
        The pairs that the votes say something about, those that were asked and their ancestors, and how likely each is;
        None where no label has a parent.

    Notes
    -----
    RECONSTRUCTION of "ND-DS". Only its abstract was to be had: it uses a Bayesian network over labels; that it
    is a tree, how it is found and its priors are OURS. So is leaving out edges that do not pay for themselves (their
    gain in log-likelihood is below half the log of the number of answers), which makes the tree a forest. A label
    without edges is treated as by `CDS`.

    Labels that were not asked bring no evidence, but get some from their relatives: `predict_proba` gives unasked
    labels of answered items what the tree expects. Only asked labels and their ancestors enter the sums, so memory
    follows the votes. One round takes time proportional to the votes and these nodes.

    References
    ----------
    L. Duan, S. Oyama, H. Sato and M. Kurihara, Separate or joint? Estimation of multiple labels from crowdsourced
    annotations, Expert Systems with Applications 41 (2014).
    C. K. Chow and C. N. Liu, Approximating discrete probability distributions with dependence trees, IEEE Transactions
    on Information Theory 14 (1968).

    Examples
    --------
    Of ten items, five have both labels. On the last only the first was asked about.

    >>> votes = Votes.from_dense([[[1, 1]] * 5 + [[-1, -1]] * 5 + [[1, 0]]] * 3)
    >>> model = DSTree().fit(votes)
    >>> bool(model.predict_proba()[10, 1] > 0.7)
    True
    """

    learns_in_blocks = False  # unlike its parent: the tree needs all votes at once

    parent_label_: Annotated[Ints, Each("label", code="label", least=-1)]
    present_given_parent_: Annotated[Floats, Each("label", 2)]
    item_state_: Annotated[ReachedNodes | None, Each(optional=True)] = None

    def __init__(
        self, *, hit_prior: PseudoVotes = (2.0, 1.0), false_alarm_prior: PseudoVotes = (1.0, 2.0), max_iter: int = 500,
        tol: float = 1e-4,
    ) -> None:  # fmt: skip
        super().__init__(hit_prior=hit_prior, false_alarm_prior=false_alarm_prior, max_iter=max_iter, tol=tol)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        pairs, slot_votes = votes.pairs, count_slots(votes)
        tree = LabelTree(chow_liu(votes))
        nodes = relevant_nodes(tree, pairs.item, pairs.label)
        certain = gold.log_odds(np.zeros(len(pairs)))
        proba = start_from_shares(votes, gold)
        beliefs = first_beliefs(nodes, proba, votes.n_labels)
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            present = met_present_labels(votes, proba)
            hit, false_alarm = self._rates(present, slot_votes)
            table = present_given_parent(nodes, beliefs, tree.prior)
            evidence = slot_evidence(hit, false_alarm)
            of_votes = pair_evidence(votes, evidence)
            beliefs = pass_messages(nodes, table, nodes.from_pairs(of_votes + certain))
            objective = beliefs.log_likelihood + slot_votes @ log_answers(false_alarm) + tree.log_prior(table)
            objective += log_prior(hit, self.hit_prior) + log_prior(false_alarm, self.false_alarm_prior)
            before, proba = proba, beliefs.proba[nodes.of_pair]
            monitor.report(float(objective), float(np.abs(proba - before).max(initial=0.0)))
        self._publish(monitor)
        self._keep_coins(votes)
        self._set_rates(hit, false_alarm, *self._averages(votes, present, slot_votes))
        self.parent_label_, self.present_given_parent_ = tree.parent, table
        # Without any of its votes a pair still has what the item's other labels say.
        others = gold.log_odds(safe_logit(proba) - of_votes)
        nothing = np.full((1, votes.n_labels), np.nan)
        label = expected_along(tree, table, nothing)[0]
        return Learned(label, judge_later(votes, evidence, others), Inferred(proba, self._reached(nodes, beliefs)))

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        tree, table, label = self._tree_for(new_code(votes.label_names, self.label_names_), prior)
        nodes = relevant_nodes(tree, votes.pairs.item, label[votes.pairs.label])
        evidence = nodes.from_pairs(self._evidence_of_pairs(votes))
        beliefs = pass_messages(nodes, table, evidence)
        return Inferred(beliefs.proba[nodes.of_pair], self._reached(nodes, beliefs))

    def _reached(self, nodes: TreeNodes, beliefs: TreeBeliefs) -> ReachedNodes | None:
        """What the tree says about items; None where no label has a parent, and it says no more than the priors."""
        if not (self.parent_label_ >= 0).any():
            return None
        return ReachedNodes(nodes.item, nodes.label, beliefs.proba)

    def _tree_for(self, label: Ints, prior: Floats) -> tuple[LabelTree, Floats, Ints]:
        """The learned tree with its table, and places of labels in it; new labels become trees of their own."""
        unknown = label < 0
        n_learned, n_unknown = len(self.parent_label_), int(unknown.sum())
        label[unknown] = n_learned + np.arange(n_unknown)
        tree = LabelTree(np.append(self.parent_label_, np.full(n_unknown, -1)))
        table = np.concatenate([self.present_given_parent_, np.tile(prior[unknown, None], (1, 2))])
        return tree, table, label

    def _unasked(self, found: ItemResults) -> Floats:
        if self.item_state_ is None:
            return super()._unasked(found)
        tree, table, label = self._tree_for(new_code(found.label_names, self.label_names_), found.label_prior)
        dense = np.full((len(found.item_names), len(table)), np.nan)
        dense[self.item_state_.item, self.item_state_.label] = self.item_state_.proba
        return expected_along(tree, table, dense)[:, label]


# -- the tree --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTree:
    """(n_labels,) the parent of each label, −1 for roots; there may be several."""

    parent: Ints

    @cached_property
    def depth(self) -> Ints:
        """(n_labels,) steps to the root."""
        depth, above = np.zeros(len(self.parent), dtype=np.int64), self.parent
        while (above >= 0).any():
            depth += above >= 0
            above = np.where(above >= 0, self.parent[above], -1)
        return depth

    @property
    def prior(self) -> Floats:
        """(n_labels,) pseudo-pairs of present, and as many of absent."""
        return np.where(self.parent >= 0, CELL_PRIOR, ROOT_PRIOR)

    def log_prior(self, table: Floats) -> float:
        """Log-density of the Beta priors of `present_given_parent`, without its constant."""
        return float(self.prior @ (safe_log(table) + safe_log(1 - table)).sum(axis=1))


def chow_liu(votes: Votes) -> Ints:
    """(n_labels,) parents in the forest of the most telling edges between labels that were asked together."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

    n_labels = votes.n_labels
    one, other, gain = label_affinities(votes)
    paying = gain > 0
    # scipy has spanning trees of least weight only.
    edges = scipy.sparse.csr_array((-gain[paying], (one[paying], other[paying])), shape=(n_labels, n_labels))
    forest = minimum_spanning_tree(edges).tocoo()
    _, component = connected_components(forest, directed=False)
    # The root of each tree is the label with the most votes and most yes: a choice that does not depend on names.
    asked, yes = (np.bincount(votes.label[kept], minlength=n_labels) for kept in (votes.value != 0, votes.value > 0))
    order = np.lexsort((-yes, -asked))
    roots = order[np.unique(component[order], return_index=True)[1]]
    rows, columns = np.append(forest.row, np.full(len(roots), n_labels)), np.append(forest.col, roots)
    rooted = scipy.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_labels + 1, n_labels + 1))
    _, above = breadth_first_order(rooted, n_labels, directed=False)  # from a root of the roots
    parent = above[:n_labels].astype(np.int64)
    return np.where(parent == n_labels, -1, parent)


def label_affinities(votes: Votes) -> tuple[Ints, Ints, Floats]:
    """Two labels, and the gain of an edge between them, for all that anybody was asked about in one answer.

    The gain is n · (mutual information) − ½ log n for n answers: what the edge adds to the log-likelihood, less the
    price of its parameter.
    """
    answers = gather_answers(votes)
    row, is_yes, shape = answers.of_vote, votes.value > 0, (len(answers.item), votes.n_labels)
    asked = scipy.sparse.csr_array((np.ones(len(votes)), (row, votes.label)), shape=shape)
    yes = scipy.sparse.csr_array((np.ones(int(is_yes.sum())), (row[is_yes], votes.label[is_yes])), shape=shape)
    pattern, n_both = _above_diagonal(asked.T @ asked)

    def counted(table: scipy.sparse.csr_array) -> Floats:
        key, count = _above_diagonal(table)
        counts = np.zeros(len(pattern))
        counts[np.searchsorted(pattern, key)] = count
        return counts

    both, first, second = counted(yes.T @ yes), counted(yes.T @ asked), counted(asked.T @ yes)
    # Answers with neither label, with the second only, with the first only, with both.
    cells = np.stack([n_both - first - second + both, second - both, first - both, both], axis=1).reshape(-1, 2, 2)
    information = mutual_information(cells + CELL_PRIOR)
    one, other = np.divmod(pattern, max(votes.n_labels, 1))
    return one, other, n_both * information - 0.5 * np.log(n_both)


def _above_diagonal(table: scipy.sparse.csr_array) -> tuple[Ints, Floats]:
    """Places row · n + column, sorted, and entries of a square table where the row is before the column."""
    entries = table.tocoo()
    kept = entries.row < entries.col
    place = entries.row[kept].astype(np.int64) * table.shape[1] + entries.col[kept]
    order = np.argsort(place)
    return place[order], np.asarray(entries.data[kept][order], dtype=np.float64)


def mutual_information(cells: Floats) -> Floats:
    """(n,) of (n, 2, 2) tables with no empty cell, in nats.

    >>> mutual_information(np.array([[[1.0, 1.0], [1.0, 1.0]], [[8.0, 1.0], [1.0, 8.0]]])).round(4).tolist()
    [0.0, 0.3443]
    """
    share = cells / cells.sum(axis=(1, 2), keepdims=True)
    independent = share.sum(axis=1, keepdims=True) * share.sum(axis=2, keepdims=True)
    return np.asarray((share * np.log(share / independent)).sum(axis=(1, 2)), dtype=np.float64)


# -- messages --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeNodes:
    """The (item, label) that votes say something about: asked pairs and their ancestors. Others only repeat the prior.

    item, label : (n_nodes,) codes.
    parent : (n_nodes,) node of the same item, −1 where the label is a root.
    of_pair : (n_pairs,) node of each asked pair.
    levels : nodes by depth, the roots first.
    """

    item: Ints
    label: Ints
    parent: Ints
    of_pair: Ints
    levels: tuple[Ints, ...]

    def from_pairs(self, of_pair: Floats) -> Floats:
        """(n_nodes,) evidence of the votes, none where nobody was asked."""
        evidence = np.zeros(len(self.item))
        evidence[self.of_pair] = of_pair
        return evidence


def relevant_nodes(tree: LabelTree, item: AnyInts, label: AnyInts) -> TreeNodes:
    """Asked pairs and their ancestors."""
    n_labels = len(tree.parent)
    asked = item.astype(np.int64) * n_labels + label

    def above(node: Ints) -> Ints:
        parent = tree.parent[node % n_labels]
        return np.where(parent >= 0, node - node % n_labels + parent, -1)

    nodes = newest = np.unique(asked)
    while len(newest):
        parents = above(newest)
        newest = np.setdiff1d(parents[parents >= 0], nodes)
        nodes = np.union1d(nodes, newest)
    parent = above(nodes)
    place = np.where(parent >= 0, np.searchsorted(nodes, parent), -1)
    depth = tree.depth[nodes % n_labels]
    bounds = np.cumsum(np.bincount(depth))[:-1]
    levels = tuple(np.split(np.argsort(depth, kind="stable"), bounds))
    return TreeNodes(nodes // n_labels, nodes % n_labels, place, np.searchsorted(nodes, asked), levels)


class TreeBeliefs(NamedTuple):
    """(n_nodes,) probability of present, and of present together with the parent; the votes' log-likelihood.

    The log-likelihood is relative to that of the votes if all were absent.
    """

    proba: Floats
    with_parent: Floats
    log_likelihood: float


def first_beliefs(nodes: TreeNodes, proba: Floats, n_labels: int) -> TreeBeliefs:
    """Vote shares, as if labels were independent; ancestors that nobody was asked about have their label's mean."""
    # A label that nobody was asked about is an ancestor of one that somebody was: as likely as not.
    start = mean_per_code(nodes.label[nodes.of_pair], proba, n_labels, overall=0.5)[nodes.label]
    start[nodes.of_pair] = proba
    return TreeBeliefs(start, start * _of_parent(nodes, start), -np.inf)


def _of_parent(nodes: TreeNodes, proba: Floats) -> Floats:
    """(n_nodes,) probability that the parent is present; a root counts as having an absent one."""
    return np.where(nodes.parent >= 0, proba[nodes.parent], 0.0)


def present_given_parent(nodes: TreeNodes, beliefs: TreeBeliefs, prior: Floats) -> Floats:
    """(n_labels, 2) M-step of the tree: share of present where the parent is absent and where it is present."""
    parent, n_labels = _of_parent(nodes, beliefs.proba), len(prior)
    columns = (beliefs.proba - beliefs.with_parent, 1 - parent), (beliefs.with_parent, parent)
    table = [
        (weight_per_code(nodes.label, present, n_labels) + prior)
        / (weight_per_code(nodes.label, total, n_labels) + 2 * prior)
        for present, total in columns
    ]
    return np.clip(np.stack(table, axis=1), LEAST_RATE, 1 - LEAST_RATE)


def pass_messages(nodes: TreeNodes, table: Floats, evidence: Floats) -> TreeBeliefs:
    """How likely nodes are, from the evidence of the votes, by one pass of messages up the tree and one down.

    `table` is `present_given_parent`; `evidence` (n_nodes,) holds log-odds.
    """
    log_odds, log_absent = safe_logit(table), np.log1p(-table)
    below = evidence.copy()  # evidence of a node and all under it
    log_likelihood = 0.0
    for level in reversed(nodes.levels):
        label = nodes.label[level]
        # up to a factor, P(votes below | parent) = P(absent | parent) · (1 + odds)
        # column 0 if the parent is absent, column 1 if it is present
        message = log_absent[label] + np.logaddexp(0.0, log_odds[label] + below[level, None])
        log_likelihood += message[:, 0].sum()
        child = nodes.parent[level] >= 0
        np.add.at(below, nodes.parent[level][child], (message[:, 1] - message[:, 0])[child])
    proba, with_parent = np.zeros((2, len(below)))
    for level in nodes.levels:
        given_parent = sigmoid(log_odds[nodes.label[level]] + below[level, None])
        parent = np.where(nodes.parent[level] >= 0, proba[nodes.parent[level]], 0.0)
        with_parent[level] = parent * given_parent[:, 1]
        proba[level] = (1 - parent) * given_parent[:, 0] + with_parent[level]
    return TreeBeliefs(proba, with_parent, float(log_likelihood))


def expected_along(tree: LabelTree, table: Floats, proba: Floats) -> Floats:
    """(n_items, n_labels) with NaN filled in from the parents, which must know all that the votes say below them."""
    for label in np.argsort(tree.depth, kind="stable"):  # parents before their children
        parent = proba[:, tree.parent[label]] if tree.parent[label] >= 0 else np.zeros(len(proba))
        expected = (1 - parent) * table[label, 0] + parent * table[label, 1]
        proba[:, label] = np.where(np.isnan(proba[:, label]), expected, proba[:, label])
    return proba
