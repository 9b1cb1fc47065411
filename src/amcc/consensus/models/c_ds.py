"""C-DS, the paper's name for Dawid and Skene's model applied label by label, and a cascade over label sets.

The first stage is `DawidSkene` with other priors. The second stage, in mode "cascade", keeps its coins and asks which
whole label set each item has. A set is a row of the boolean table `label_sets_`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import scipy

from amcc.arrays import AnyInts, Floats, Mask, safe_logit, sigmoid, weight_per_code
from amcc.consensus.answers import gather_answers
from amcc.consensus.coins import judge_later, pair_evidence
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import new_code
from amcc.consensus.models.dawid_skene import DawidSkene, PseudoVotes, slot_evidence
from amcc.consensus.parameters import check_at_least_one, check_choice
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.votes import Votes

Mode = Literal["separate", "cascade"]
Sets = Mask

# Rounds of the second stage. The coins stand and only shares of sets move, so a fixed number needs no threshold.
CASCADE_ROUNDS = 50
# Pseudo-items that every label set of the pool starts with: a set without items stays possible. With a thousand sets
# in the pool this is a hundred items, so it must not be larger.
SET_PRIOR = 0.1
# Items × label sets held in memory at a time: 8 MB, whatever the number of items.
BLOCK_CELLS = 1_000_000


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

    learns_in_blocks = False  # unlike its parent: the pool of sets needs all votes at once

    label_sets_: Annotated[Mask, Each("set", "label", only=("mode", "cascade"))]
    set_share_: Annotated[Floats, Each("set", only=("mode", "cascade"))]

    def __init__(
        self, *, mode: Mode = "separate", hit_prior: PseudoVotes = (2.0, 1.0),
        false_alarm_prior: PseudoVotes = (1.0, 2.0), prevalence_prior: PseudoVotes = (1.0, 1.0), max_sets: int = 1000,
        max_iter: int = 500, tol: float = 1e-4,
    ) -> None:  # fmt: skip
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
        check_choice("mode", self.mode, Mode)
        check_at_least_one("max_sets", self.max_sets)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        learned = super()._learn(engine)
        # Votes alone do not say which of two mirror images is true: that workers mostly mean what they say decides.
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
        self._set_rates(
            *_exchanged(self.hit_rate_, self.false_alarm_rate_, switched[votes.coins.label]),
            *_exchanged(self.average_hit_rate_, self.average_false_alarm_rate_, switched),
        )
        prevalence, _ = _exchanged(prevalence, 1 - prevalence, switched)
        evidence = slot_evidence(self.hit_rate_, self.false_alarm_rate_)
        prior = gold.log_odds(safe_logit(prevalence)[votes.pairs.label])
        return Learned(prevalence, judge_later(votes, evidence, prior))

    # -- cascade -----------------------------------------------------------------------------------------------------

    def _cascade(self, votes: Votes, gold: Gold) -> Learned:
        """The second stage: label sets of items by the coins of the first."""
        pairs = votes.pairs
        evidence = slot_evidence(self.hit_rate_, self.false_alarm_rate_)
        of_votes = pair_evidence(votes, evidence)
        of_pairs = of_votes + gold.log_odds(np.zeros(len(pairs)))
        table = scipy.sparse.csr_array((of_pairs, (pairs.item, pairs.label)), shape=(votes.n_items, votes.n_labels))
        # An item without votes would count its prior as an observation.
        table = table[np.bincount(pairs.item, minlength=votes.n_items) > 0]
        self.label_sets_ = pool_of_sets(votes, self.max_sets)
        self.set_share_ = set_shares(table, self.label_sets_)
        proba = self._sets_to_pairs(of_pairs, pairs.item, pairs.label, votes.n_items)
        # Without any of its votes a pair still has what the item's other labels say.
        others = safe_logit(proba) - of_votes
        return Learned(self.set_share_ @ self.label_sets_, judge_later(votes, evidence, others), Inferred(proba))

    def _sets_to_pairs(self, evidence: Floats, item: AnyInts, label: AnyInts, n_items: int) -> Floats:
        """(n_pairs,) probability of the sets with the label, from the log-odds of the votes on each pair."""
        table = scipy.sparse.csr_array((evidence, (item, label)), shape=(n_items, self.label_sets_.shape[1]))
        proba = np.empty(len(item))
        # Sorted by item, the pairs of a block of items are one slice.
        order = np.argsort(item, kind="stable")
        bounds = np.searchsorted(item[order], np.arange(n_items + 1))
        for first, share in set_posteriors(table, self.label_sets_, self.set_share_):
            chosen = order[bounds[first] : bounds[first + len(share)]]
            proba[chosen] = (share @ self.label_sets_)[item[chosen] - first, label[chosen]]
        return np.clip(proba, 0.0, 1.0)  # sums of shares may end a rounding above one

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        if self.mode == "separate":
            return super()._infer(votes, prior, gold)
        evidence = self._evidence_of_pairs(votes)
        label = new_code(votes.label_names, self.label_names_)[votes.pairs.label]
        proba = sigmoid(safe_logit(prior)[votes.pairs.label] + evidence)  # labels that are in no set
        met = label >= 0
        proba[met] = self._sets_to_pairs(evidence[met], votes.pairs.item[met], label[met], votes.n_items)
        return Inferred(proba)


def pool_of_sets(votes: Votes, max_sets: int) -> Sets:
    """(n_sets, n_labels) the sets handed in and the majority's, most frequent first; the empty one always leads."""
    majority = 2 * votes.n_yes > votes.pairs.n_votes
    packed = np.concatenate(
        [
            _packed_sets(gather_answers(votes).of_vote, votes.label, votes.value > 0, votes.n_labels),
            _packed_sets(votes.pairs.item, votes.pairs.label, majority, votes.n_labels),
        ]
    )
    distinct, count = np.unique(packed, axis=0, return_counts=True)
    sets = np.unpackbits(distinct, axis=1, count=votes.n_labels, bitorder="little").astype(bool)
    size = sets.sum(axis=1)
    order = np.lexsort((size, -count))  # of two sets that are equally frequent, the smaller one first
    order = order[size[order] > 0][: max_sets - 1]
    return np.concatenate([np.zeros((1, votes.n_labels), dtype=bool), sets[order]])


def _packed_sets(row: AnyInts, label: AnyInts, member: Mask, n_labels: int) -> npt.NDArray[np.uint8]:
    """One row of bits per set: a thousand labels in 125 bytes."""
    packed = np.zeros((int(row.max(initial=-1)) + 1, (n_labels + 7) // 8), dtype=np.uint8)
    bit = (1 << (label[member] & 7)).astype(np.uint8)
    np.bitwise_or.at(packed, (row[member], label[member] >> 3), bit)
    return packed


def set_shares(table: scipy.sparse.csr_array, sets: Sets) -> Floats:
    """(n_sets,) expectation-maximisation of how frequent each set is, from the items' evidence on labels.

    table : (n_items, n_labels) log-odds of the votes; sets : (n_sets, n_labels)
    """
    share = np.full(len(sets), 1 / len(sets))
    for _ in range(CASCADE_ROUNDS):
        count = sum((q.sum(axis=0) for _, q in set_posteriors(table, sets, share)), start=np.full(len(sets), SET_PRIOR))
        share = count / count.sum()
    return share


def set_posteriors(table: scipy.sparse.csr_array, sets: Sets, share: Floats) -> Iterator[tuple[int, Floats]]:
    """Blocks of items: the first, and (n_block, n_sets) probability of each set; rows of `table` are items.

    The votes' likelihood of a set is, up to a factor of the item, the exponential of the evidence on its labels.
    """
    membership = sets.T.astype(np.float64)
    n_block = max(1, BLOCK_CELLS // len(sets))
    for first in range(0, table.shape[0], n_block):
        log_joint = np.log(share) + table[first : first + n_block] @ membership
        yield first, np.exp(log_joint - scipy.special.logsumexp(log_joint, axis=1, keepdims=True))


def _exchanged(one: Floats, other: Floats, where: Mask) -> tuple[Floats, Floats]:
    """Both arrays, with places changed in some of their entries."""
    return np.where(where, other, one), np.where(where, one, other)
