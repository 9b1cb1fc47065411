"""What AMCC has learned, and what it says with it about any votes: those of the fit, and new ones.

`LearnedCrowd` holds the learned attributes, with the shapes that saved models are checked by. It never learns: workers
and labels of new votes are matched by name, and a newcomer counts as an average worker (docs/method.md, sections 4, 5).
`estimator.py` fills it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Annotated

import numpy as np

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.calibration import Spreads, held_out_calibrated
from amcc.consensus.default.correlation import LabelSets
from amcc.consensus.default.crowd import Crowd
from amcc.consensus.default.degrees import Degrees
from amcc.consensus.default.exclusive import read_choices
from amcc.consensus.default.pool import IGNORED, Evidence
from amcc.consensus.default.reference import LearnedReference, said_by, with_reference
from amcc.consensus.default.settings import Settings
from amcc.consensus.default.trust import Trust
from amcc.consensus.families import effective_counts
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, ItemKinds
from amcc.consensus.matching import known_or_mean, match_coins, new_code
from amcc.consensus.rounds import evidence_of_pairs
from amcc.engine.base import Engine, WholeBlock
from amcc.fields import Each
from amcc.memory import check_size
from amcc.votes import Votes

# What `AMCC(without=…)` can switch off.
STEPS = (
    "start", "individuality", "coins", "counts", "degrees", "independence", "correlation", "families",
    "calibration", "reference", "exclusive",
)  # fmt: skip


class LearnedCrowd(GroupedModel):
    """What AMCC has learned; see `AMCC` and `GroupedModel` for the attributes that are meant for users.

    Attributes
    ----------
    crowd_ : Crowd
        Parameters of the groups, from which a warm start goes on.
    coin_evidence_ : (n_coins, 2); newcomer_evidence_ : (n_labels, 2)
        Log-odds that a no and a yes add to "present": of each coin, and of a worker without a history.
    set_share_ : (n_kinds,); set_frequency_ : (n_kinds, n_labels)
        Kinds of label sets; `item_state_` says of which kinds the items are, where pairs were left out.
    n_votes_ : int
        Votes of the last whole fit.
    fitted_to_ : str
        Which votes, truth and settings the last fit had, see `warm_start.fingerprint`.
    """

    settings_: Settings = Settings()
    without: Collection[str]
    trust_: dict[str, float]
    crowd_: Crowd
    kind_presence_: Annotated[Floats, Each(2, share=True)]
    n_votes_: int
    fitted_to_: str = ""
    newcomer_evidence_: Annotated[Floats, Each("label", 2)]
    coin_evidence_: Annotated[Floats, Each("coin", 2)]
    set_share_: Annotated[Floats, Each("kind")]
    set_frequency_: Annotated[Floats, Each("kind", "label")]
    item_state_: Annotated[ItemKinds | None, Each(optional=True)] = None
    degrees_: Degrees
    reference_: Annotated[LearnedReference | None, Each(optional=True)] = None

    @property
    def label_correlation_(self) -> Floats:
        """(n_labels, n_labels) correlation of presence by the kinds of label sets, computed when asked for."""
        self.check_fitted()
        n_labels = self.set_frequency_.shape[1]
        check_size("label correlation", "Leave out what needs it, or drop rare labels.", n_labels, n_labels)
        return LabelSets(self.set_share_, self.set_frequency_).correlation()

    def _check_learned(self) -> None:
        super()._check_learned()
        if set(self.trust_) != {each.name for each in fields(Trust)}:
            raise ValueError(f"trust_ must say how far votes are independent and labels correlated; got {self.trust_}.")
        Trust(**self.trust_)

    # -- probabilities -------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        evidence = self._evidence(votes, prior)
        # Known truth is certain evidence: it also tells about other labels of its item.
        evidence = replace(evidence, log_odds=gold.log_odds(evidence.log_odds))
        proba = self._read(votes, evidence, self.weights_for(votes))
        if (reference := self.reference_) is not None:
            label = new_code(votes.label_names, self.label_names_)[votes.pairs.label]
            others = reference.calibration.of(self._others(votes, prior, reference.say > 0), label)
            proba = with_reference(proba, others, said_by(self._say_for(votes), votes), reference.most)
        if self.calibration_ is not None:
            proba = self.calibration_.of(proba, new_code(votes.label_names, self.label_names_)[votes.pairs.label])
        return Inferred(proba, self._kinds(votes, evidence))

    def _proba_held_out(self, votes: Votes, gold: Gold, unseen: Floats) -> Floats:
        if self.calibration_ is None:
            return super()._proba_held_out(votes, gold, unseen)
        # A pair's own truth took part in its calibration; folds of items leave it out.
        known, pairs = np.flatnonzero(gold.known), votes.pairs
        of_known = unseen[known], pairs.label[known], gold.present[known], pairs.item[known]
        return held_out_calibrated(*of_known, votes.n_labels, self._spreads)

    @property
    def _spreads(self) -> Spreads:
        """How far known truth may correct probabilities."""
        return Spreads.of(self.settings_.truth_spread)

    # -- pairs that nobody was asked about -----------------------------------------------------------------------

    def _expected_labels(self, found: ItemResults) -> Ints | None:
        if self.item_state_ is None or found.item_prior is not None:
            return super()._expected_labels(found)
        # A mixture of shares is above a half only where one of them is.
        return np.flatnonzero((found.label_prior > 0.5) | (self.item_state_.frequency > 0.5).any(axis=0))

    def _unasked_of(self, found: ItemResults, labels: Ints) -> Floats:
        independent = super()._unasked_of(found, labels)
        if self.item_state_ is None:
            return independent
        # Of an item without votes nothing is known but the priors: its kinds are those of all items.
        weight = self.trust_["correlation"] * found.item_answered[:, None]
        return np.asarray((1 - weight) * independent + weight * self.item_state_.expected(labels))

    def _kinds(self, votes: Votes, evidence: Evidence) -> ItemKinds | None:
        """Kinds of the items, where they say something about pairs that nobody was asked about."""
        if self.trust_["correlation"] < IGNORED or len(votes.pairs) == votes.n_items * votes.n_labels:
            return None
        return ItemKinds(evidence.item_kinds(votes.n_items), evidence.sets.frequency)

    # -- what was learned, for workers and labels of other votes --------------------------------------------------

    def _learned_codes(self, votes: Votes | Engine) -> tuple[Ints, Ints]:
        """Codes by which workers and labels of new votes were learned, −1 for newcomers."""
        return new_code(votes.worker_names, self.worker_names_), new_code(votes.label_names, self.label_names_)

    def _read(self, votes: Votes, evidence: Evidence, weight: Floats | None) -> Floats:
        """(n_pairs,) probabilities by all readings; where labels exclude each other, of one label each."""
        proba = evidence.pooled(Trust(**self.trust_), self.without)
        exclusive = self._exclusive_for(votes)
        return proba if exclusive is None else read_choices(votes, proba, exclusive, weight)

    def _others(self, votes: Votes, prior: Floats, reference: Mask) -> Floats:
        """(n_pairs,) probabilities by the votes of all but the reference, (n_workers,) of those learned."""
        weight, code = self.weights_for(votes), new_code(votes.worker_names, self.worker_names_)
        mine = np.where(code >= 0, reference[code], False)
        without = np.where(mine, 0.0, 1.0 if weight is None else weight)
        return self._read(votes, self._evidence(votes, prior, without), without)

    def _say_for(self, votes: Votes) -> Floats:
        """(n_workers,) how much the workers of these votes have to say as the reference; newcomers nothing."""
        assert self.reference_ is not None  # whoever asks has looked
        code = new_code(votes.worker_names, self.worker_names_)
        return np.where(code >= 0, self.reference_.say[code], 0.0)

    def _told(self, votes: Votes) -> Mask:
        if self.reference_ is None or self.reference_.most == 0:
            return super()._told(votes)
        return said_by(self._say_for(votes), votes).told

    def _evidence(self, votes: Votes, prior: Floats, weight: Floats | None = None) -> Evidence:
        """What new votes say, by the coins, degrees and kinds of label sets as learned.

        weight : (n_workers,) how much a vote of each worker counts, unless as learned
        """
        weight, of_coins = self.weights_for(votes) if weight is None else weight, self._evidence_of_coins(votes)
        degrees = self.degrees_.known_to(*self._learned_codes(votes))
        if weight is not None:
            of_coins, degrees = of_coins * np.repeat(weight[votes.coins.worker], 2), degrees.weighted(weight)
        block = WholeBlock(votes)
        counts = effective_counts(votes, weight)
        return Evidence(
            votes.pairs, evidence_of_pairs(block, of_coins), *counts, degrees.presence(block), self.kind_presence_,
            prior, self._sets_for(votes, prior), self.settings_,
        )  # fmt: skip

    def _sets_for(self, votes: Votes | Engine, prior: Floats) -> LabelSets:
        """Kinds of label sets as learned; new labels are as frequent in all of them as their priors."""
        label = new_code(votes.label_names, self.label_names_)
        return LabelSets(self.set_share_, np.where(label >= 0, self.set_frequency_[:, label], prior))

    def _prior_for(self, votes: Votes | Engine) -> Floats:
        """(n_labels,) frequency of labels as learned, that of a usual label for new ones."""
        return known_or_mean(self.label_prior_, new_code(votes.label_names, self.label_names_))

    def _evidence_of_coins(self, votes: Votes | Engine) -> Floats:
        """(n_slots,) evidence of the coins as learned; newcomers count as an average worker does."""
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        known_label = coins.label[:, None] >= 0
        newcomer = np.where(known_label, self.newcomer_evidence_[coins.label], self.newcomer_evidence_.mean(axis=0))
        return np.where(coins.met[:, None], self.coin_evidence_[coins.place], newcomer).ravel()
