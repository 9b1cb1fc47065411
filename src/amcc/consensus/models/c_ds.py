"""C-DS, the paper's name for Dawid and Skene's model applied label by label, and a cascade over label sets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import logsumexp

from amcc import passes
from amcc.arrays import AnyInts, Floats, Mask, safe_logit, sigmoid, weight_per_code
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import match_coins, new_code
from amcc.consensus.models.dawid_skene import DawidSkene, PseudoVotes, slot_evidence
from amcc.consensus.models.ibcc import (
    learned_or_average,
)
from amcc.consensus.parameters import check_at_least_one
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.votes import Votes

Mode = Literal["separate", "cascade"]
Sets = Mask

CASCADE_ROUNDS = 50
SET_PRIOR = 0.1
"""Pseudo-items that every label set of the pool starts with."""

BLOCK_CELLS = 1_000_000
"""Items × label sets held in memory at a time."""


class CDS(DawidSkene, methods={"c-ds": {}}):
    """Two coins per worker and label, either label by label or followed by a choice among whole label sets.

    In mode "separate" this is Dawid and Skene's model with weaker priors than `DawidSkene`. In mode "cascade" that is
    the first stage; the second keeps its coins and lets every item have one label set out of a pool, the sets that
    anybody handed in and those of the majority: set c of item i has probability ∝ share[c] · Π coins, and
    expectation-maximisation learns the shares.

    Parameters
    ----------
    mode : "separate" or "cascade"
        Whether labels are decided one by one or as sets. Sets help where labels go together and most answers cover
        all labels; the pool is poor where each answer covers few.
    hit_prior, false_alarm_prior, prevalence_prior : (yes, no)
        Pseudo-votes and pseudo-pairs, see `DawidSkene`.
    max_sets : int
        The pool holds at most this many label sets, the most frequent. Time and memory of the cascade grow with it.
    max_iter, tol
        Stop the first stage when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    hit_rate_, false_alarm_rate_, coin_worker_, coin_label_, average_hit_rate_, average_false_alarm_rate_
        See `DawidSkene`; `objective_history_` is that of the first stage.
    label_sets_ : (n_sets, n_labels) bool
        The pool; in mode "separate" there is none.
    set_share_ : (n_sets,)
        How frequent each set is; sums to one.

    Notes
    -----
    Only the abstract of the cited work was to be had. RECONSTRUCTION: reading the paper's row "C-DS", which it calls a
    single-label solution that ignores correlations, as mode "separate", and all of mode "cascade". ORIGINAL, read in
    public code: the equations of Dawid and Skene and the start from vote shares. OURS: the priors; if the coins of a
    label say that its workers are on average worse than chance, present and absent have changed places and are changed
    back, unless known truth says which is which.

    References
    ----------
    L. Duan, S. Oyama, M. Kurihara and H. Sato, Crowdsourced semantic matching of multi-label annotations, IJCAI 2015.
    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28 (1979).

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> CDS().fit(votes).predict_proba().round(2).tolist()
    [[0.78, 0.25], [0.14, 0.92]]
    >>> CDS(mode="cascade").fit(votes).label_sets_.astype(int).tolist()
    [[0, 0], [0, 1], [1, 0]]
    """

    learns_in_blocks = False  # unlike its parent: sets and trees of labels need all votes at once

    label_sets_: Annotated[Mask, Each("set", "label", only=("mode", "cascade"))]
    set_share_: Annotated[Floats, Each("set", only=("mode", "cascade"))]

    def __init__(
        self,
        *,
        mode: Mode = "separate",
        hit_prior: PseudoVotes = (2.0, 1.0),
        false_alarm_prior: PseudoVotes = (1.0, 2.0),
        prevalence_prior: PseudoVotes = (1.0, 1.0),
        max_sets: int = 1000,
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> None:
        super().__init__(
            hit_prior=hit_prior,
            false_alarm_prior=false_alarm_prior,
            prevalence_prior=prevalence_prior,
            max_iter=max_iter,
            tol=tol,
        )
        self.mode = mode
        self.max_sets = max_sets

    def _check_params(self) -> None:
        super()._check_params()
        if self.mode not in get_args(Mode):
            raise ParameterError(f"mode must be 'separate' or 'cascade'; got {self.mode!r}.")
        check_at_least_one("max_sets", self.max_sets)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        learned = super()._learn(engine)
        switched = self._switched(votes, gold)
        if switched.any():
            learned = self._switch_back(votes, gold, learned.label, switched)
        return learned if self.mode == "separate" else self._cascade(votes, gold)

    # -- label switching ---------------------------------------------------------------------------------------------

    def _switched(self, votes: Votes, gold: Gold) -> Mask:
        """(n_labels,) where the workers' hit rates less their false-alarm rates sum to less than nothing."""
        informativeness = weight_per_code(votes.coins.label, self.hit_rate_ - self.false_alarm_rate_, votes.n_labels)
        n_known = weight_per_code(votes.pairs.label, gold.known, votes.n_labels)
        return np.asarray((informativeness < 0) & (n_known == 0))

    def _switch_back(self, votes: Votes, gold: Gold, prevalence: Floats, switched: Mask) -> Learned:
        """Present and absent, hits and false alarms change places."""
        coins, pairs = votes.coins, votes.pairs
        self.hit_rate_, self.false_alarm_rate_ = _exchanged(
            self.hit_rate_, self.false_alarm_rate_, switched[coins.label]
        )
        self.average_hit_rate_, self.average_false_alarm_rate_ = _exchanged(
            self.average_hit_rate_, self.average_false_alarm_rate_, switched
        )
        prevalence, _ = _exchanged(prevalence, 1 - prevalence, switched)
        evidence = slot_evidence(self.hit_rate_, self.false_alarm_rate_)
        prior = gold.log_odds(safe_logit(prevalence)[pairs.label])
        return Learned(prevalence, partial(passes.others_pass, coins.slot, pairs.start, evidence, prior))

    # -- cascade -----------------------------------------------------------------------------------------------------

    def _cascade(self, votes: Votes, gold: Gold) -> Learned:
        coins, pairs = votes.coins, votes.pairs
        evidence = slot_evidence(self.hit_rate_, self.false_alarm_rate_)
        of_votes = pair_evidence(votes, evidence)
        of_pairs = of_votes + gold.log_odds(np.zeros(len(pairs)))
        table = csr_array((of_pairs, (pairs.item, pairs.label)), shape=(votes.n_items, votes.n_labels))
        table = table[np.bincount(pairs.item, minlength=votes.n_items) > 0]
        self.label_sets_ = pool_of_sets(votes, self.max_sets)
        self.set_share_ = set_shares(table, self.label_sets_)
        proba = self._sets_to_pairs(of_pairs, pairs.item, pairs.label, votes.n_items)
        # Without any of its votes a pair still has what the item's other labels say.
        others = safe_logit(proba) - of_votes
        return Learned(
            self.set_share_ @ self.label_sets_,
            partial(passes.others_pass, coins.slot, pairs.start, evidence, others),
            Inferred(proba),
        )

    def _sets_to_pairs(self, evidence: Floats, item: AnyInts, label: AnyInts, n_items: int) -> Floats:
        """(n_pairs,) probability of the sets with the label, from the log-odds of the votes on each pair."""
        table = csr_array((evidence, (item, label)), shape=(n_items, self.label_sets_.shape[1]))
        proba = np.empty(len(item))
        order = np.argsort(item, kind="stable")
        bounds = np.searchsorted(item[order], np.arange(n_items + 1))
        for first, share in set_posteriors(table, self.label_sets_, self.set_share_):
            chosen = order[bounds[first] : bounds[first + len(share)]]
            proba[chosen] = (share @ self.label_sets_)[item[chosen] - first, label[chosen]]
        return np.clip(proba, 0.0, 1.0)  # sums of shares may end a rounding above one

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        if self.mode == "separate":
            return super()._infer(votes, prior, gold)
        evidence = pair_evidence(votes, learned_evidence(self, votes))
        label = new_code(votes.label_names, self.label_names_)[votes.pairs.label]
        proba = sigmoid(safe_logit(prior)[votes.pairs.label] + evidence)  # labels that are in no set
        met = label >= 0
        proba[met] = self._sets_to_pairs(evidence[met], votes.pairs.item[met], label[met], votes.n_items)
        return Inferred(proba)


def pair_evidence(votes: Votes, evidence: Floats) -> Floats:
    """(n_pairs,) log-odds that the votes on each pair add, from those of the slots."""
    if len(votes) == 0:
        return np.empty(0)
    sums: Floats = np.add.reduceat(evidence[votes.coins.slot], votes.pairs.start[:-1])
    return sums


def learned_evidence(model: DawidSkene, votes: Votes) -> Floats:
    """(2 · n_coins,) log-odds of the slots of new votes, by the coins that a model learned."""
    coins = match_coins(votes, model.worker_names_, model.label_names_, model.coin_worker_, model.coin_label_)
    of_coin = slot_evidence(model.hit_rate_, model.false_alarm_rate_).reshape(-1, 2)
    of_label = slot_evidence(model.average_hit_rate_, model.average_false_alarm_rate_).reshape(-1, 2)
    return learned_or_average(coins, of_coin, of_label).ravel()


def pool_of_sets(votes: Votes, max_sets: int) -> Sets:
    """(n_sets, n_labels) the sets handed in and the majority's, most frequent first; the empty one always leads."""
    answer = votes.item.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    _, answer = np.unique(answer, return_inverse=True)
    majority = 2 * votes.n_yes > votes.pairs.n_votes
    packed = np.concatenate(
        [
            _packed_sets(answer, votes.label, votes.value > 0, votes.n_labels),
            _packed_sets(votes.pairs.item, votes.pairs.label, majority, votes.n_labels),
        ]
    )
    distinct, count = np.unique(packed, axis=0, return_counts=True)
    sets = np.unpackbits(distinct, axis=1, count=votes.n_labels, bitorder="little").astype(bool)
    size = sets.sum(axis=1)
    order = np.lexsort((size, -count))
    order = order[size[order] > 0][: max_sets - 1]
    return np.concatenate([np.zeros((1, votes.n_labels), dtype=bool), sets[order]])


def _packed_sets(row: AnyInts, label: AnyInts, member: Mask, n_labels: int) -> npt.NDArray[np.uint8]:
    """One row of bits per set: a thousand labels in 125 bytes."""
    packed = np.zeros((int(row.max(initial=-1)) + 1, (n_labels + 7) // 8), dtype=np.uint8)
    bit = (1 << (label[member] & 7)).astype(np.uint8)
    np.bitwise_or.at(packed, (row[member], label[member] >> 3), bit)
    return packed


def set_shares(table: csr_array, sets: Sets) -> Floats:
    """(n_sets,) expectation-maximisation of how frequent each set is, from the items' evidence on labels."""
    share = np.full(len(sets), 1 / len(sets))
    for _ in range(CASCADE_ROUNDS):
        count = sum((q.sum(axis=0) for _, q in set_posteriors(table, sets, share)), start=np.full(len(sets), SET_PRIOR))
        share = count / count.sum()
    return share


def set_posteriors(table: csr_array, sets: Sets, share: Floats) -> Iterator[tuple[int, Floats]]:
    """Blocks of items: the first, and (n_block, n_sets) probability of each set; rows of `table` are items."""
    membership = sets.T.astype(np.float64)
    n_block = max(1, BLOCK_CELLS // len(sets))
    for first in range(0, table.shape[0], n_block):
        log_joint = np.log(share) + table[first : first + n_block] @ membership
        yield first, np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))


def _exchanged(one: Floats, other: Floats, where: Mask) -> tuple[Floats, Floats]:
    return np.where(where, other, one), np.where(where, one, other)
