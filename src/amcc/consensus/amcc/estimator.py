"""AMCC: consensus from groups of workers, their individuality, and label correlation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa
from scipy.special import logit

from amcc import passes
from amcc.arrays import AnyInts, Codes, Floats, Ints, weight_per_code
from amcc.consensus.amcc.coins import Counts
from amcc.consensus.amcc.correlation import LabelSets
from amcc.consensus.amcc.degrees import Degrees, fit_degrees
from amcc.consensus.amcc.dependence import looks_of
from amcc.consensus.amcc.likelihood import (
    CoinCounts,
    Crowd,
    LikelihoodFit,
    coin_rates,
    fit_likelihood,
    known_to,
    slot_evidence,
    start_crowd,
)
from amcc.consensus.amcc.readings import (
    DECLARED,
    IGNORED,
    LEAST_DEGREES,
    MOST_DEGREES,
    UNASKED,
    Blend,
    Evidence,
    choose_blend,
    evidence_of,
    learn_label_sets,
    read_two_kinds,
)
from amcc.consensus.base import ConsensusModel, Gold, Learned, Monitor, Posterior
from amcc.consensus.calibration import Calibration, cross_fitted, fit_calibration
from amcc.consensus.families import samples_per_pair
from amcc.consensus.grouped import describe_groups
from amcc.consensus.matching import known_or_mean, match_coins, new_code
from amcc.consensus.rounds import judge_votes
from amcc.consensus.settling import ASSUMED, Settling, assumed
from amcc.consensus.signature import Signatures, content, signatures
from amcc.consensus.worth import worker_worth
from amcc.engine.base import NOTHING_KNOWN, Engine, InMemory, WholeBlock
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.memory import check_size
from amcc.paper import frobenius
from amcc.paper.frobenius import Anchor, FrobeniusFit, fit_frobenius
from amcc.passes import Belief
from amcc.roster import HUMAN
from amcc.tables import Frame, as_frame
from amcc.votes import Coins, Votes

Loss = Literal["likelihood", "frobenius"]

TOL = 5e-4
"""When the ascent has arrived: probabilities move by less, root mean square. Ten times less changes no decision."""

SAMPLE_ROUNDS = 40
"""Fits to a sample, which only serve to choose, need not be exact."""

UPDATE_GROWTH, UPDATE_ROUNDS = 0.1, 3
"""With a share of new votes below the first, a warm start takes as many rounds as the second. On large sets the result
is as near to that of a whole fit as another random state brings it (benchmarks/incremental.py)."""

LIKELIHOOD, FROBENIUS = ("loss", "likelihood"), ("loss", "frobenius")
"""The parameter by which some attributes are learned and others not."""


class AMCC(ConsensusModel):
    """Active Multi-Label Crowd Consensus: the default, for any crowd.

    Workers belong to groups. A worker's hit and false-alarm rate on a label is what their group usually does
    (commonality) and what only they do (individuality), the latter held back where they have few answers. Votes are
    read in several ways, of which none is sure: by these rates, by how many people would say yes, by plain counts, with
    and without what other labels of the item say. How far each is trusted is decided by how well it predicts votes
    from the other votes; what cannot be ruled out keeps its share. Known truth corrects the result.

    Parameters
    ----------
    loss : "likelihood" or "frobenius"
        A probability model, or the paper's own objective eq5 with the repairs of docs/deviations.md.
    n_groups : int
        Groups of workers. More than the data need do no harm: they stay empty or alike.
    individuality, correlation, adapt : bool
        Parts of the probability model, to be switched off for comparison. Without `adapt`, the rates and label
        correlation are taken at their word, and nothing is pooled.
    blend : dict, optional
        The `blend_` of an earlier fit, to be used instead of choosing.
    anchor : "consensus" or "self"; printed : bool; hsic_weight, laplacian_weight, weight_exponent
        Of the paper's objective, see `amcc.paper.frobenius.fit_frobenius`.
    max_iter, tol
        Stop when probabilities typically (root mean square) move by less than `tol` in a round; the paper's objective:
        when that moves by less. None is 5e-4 for the likelihood and 1e-5 for the paper's objective.
    random_state : int
    warm_start : bool
        Go on from what the last `fit` of this object learned about workers and labels, matched by name. Where the votes
        have grown by less than a tenth since the last whole fit, a few rounds are enough, and all that was chosen by
        trying is kept. Where no vote is new, nothing changes.

    Attributes
    ----------
    commonality_ : (2, n_groups, n_labels)
        Usual hit rate and false-alarm rate of each group on each label. Groups are sorted, the best first.
    individuality_ : (n_coins, 2)
        How far the rates of each worker lie from their group's, for the labels they were asked about: `coin_worker_`,
        `coin_label_`.
    worker_group_ : (n_workers,) int; worker_membership_ : (n_workers, n_groups)
        The group that explains each worker best, and the probabilities of all.
    group_weights_ : (n_groups,)
        How informative each group is, in shares; spammers come last.
    label_correlation_ : (n_labels, n_labels)
    worker_cost_ : (n_workers,)
        What a worker's answers are worth by eq12.
    blend_ : dict
        What the votes chose, see `amcc.consensus.amcc.readings.Blend`.
    kind_presence_ : (2,)
        What pairs that the rates call absent and present count for where readings are pooled.
    calibration_ : Calibration
        How known truth corrected the probabilities; only where `fit` was given some.
    objective_history_ : list of float
        Rises at every round (the paper's objective falls).

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> AMCC().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    uses_features = True
    takes_sparse = True

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    worker_membership_: Annotated[Floats, Each("worker", "group")]
    worker_group_: Annotated[Codes, Each("worker", code="group")]
    commonality_: Annotated[Floats, Each(2, "group", "label")]
    individuality_: Annotated[Floats, Each("coin", 2)]
    group_weights_: Annotated[Floats, Each("group")]
    worker_cost_: Annotated[Floats, Each("worker", finite=False)]

    blend_: Annotated[dict[str, Any], Each(only=LIKELIHOOD)]
    blend_is_chosen_: Annotated[bool, Each(only=LIKELIHOOD)]
    crowd_: Annotated[Crowd, Each(only=LIKELIHOOD)]
    kind_presence_: Annotated[Floats, Each(2, share=True, only=LIKELIHOOD)]
    n_votes_: Annotated[int, Each(only=LIKELIHOOD)]
    fitted_to_: str
    group_strength_: Annotated[Floats, Each(2, "group", only=LIKELIHOOD)]
    newcomer_evidence_: Annotated[Floats, Each("label", 2, only=LIKELIHOOD)]
    coin_evidence_: Annotated[Floats, Each("coin", 2, only=LIKELIHOOD)]
    set_share_: Annotated[Floats, Each("kind", only=LIKELIHOOD)]
    set_frequency_: Annotated[Floats, Each("kind", "label", only=LIKELIHOOD)]
    item_kind_: Annotated[Floats, Each("item", "kind", optional=True)]
    degrees_: Annotated[Degrees, Each(optional=True)]
    calibration_: Annotated[Calibration, Each(optional=True)]

    label_similarity_: Annotated[Floats, Each("label", "label", only=FROBENIUS, finite=False)]
    individuality_matrices_: Annotated[Floats, Each("worker", "label", "label", only=FROBENIUS)]
    commonality_matrices_: Annotated[Floats, Each("group", "label", "label", only=FROBENIUS)]
    worker_answer_rates_: Annotated[Floats, Each(2, "worker", "label", only=FROBENIUS)]
    crowd_rates_: Annotated[Floats, Each(2, "label", only=FROBENIUS)]
    vote_weight_: Annotated[Floats, Each("worker", only=FROBENIUS)]

    def __init__(
        self,
        *,
        loss: Loss = "likelihood",
        n_groups: int = 5,
        individuality: bool = True,
        correlation: bool = True,
        adapt: bool = True,
        blend: Mapping[str, Any] | None = None,
        anchor: Anchor = "consensus",
        printed: bool = False,
        hsic_weight: float = 0.1,
        laplacian_weight: float = 10.0,
        weight_exponent: float = 2.0,
        max_iter: int = 200,
        tol: float | None = None,
        random_state: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.n_groups = n_groups
        self.individuality = individuality
        self.correlation = correlation
        self.adapt = adapt
        self.blend = blend
        self.anchor = anchor
        self.printed = printed
        self.hsic_weight = hsic_weight
        self.laplacian_weight = laplacian_weight
        self.weight_exponent = weight_exponent
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.warm_start = warm_start

    def _check_params(self) -> None:
        if self.loss not in get_args(Loss):
            raise ParameterError(f"loss must be 'likelihood' or 'frobenius'; got {self.loss!r}.")
        for name in ("n_groups", "max_iter"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be at least 1; got {getattr(self, name)!r}.")
        if self.tol is not None and not self.tol > 0:
            raise ParameterError(f"tol must be positive; got {self.tol!r}.")
        if self.blend is not None:
            _as_blend(self.blend)

    @property
    def uses_roster(self) -> bool:
        """See `ConsensusModel.uses_roster`; the paper's objective does not."""
        return self.loss == "likelihood"

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.loss == "likelihood":
            _as_blend(self.blend_)

    def _fit(self, votes: Votes, features: Floats | None, gold: Gold) -> Posterior:
        fit = self._fit_likelihood if self.loss == "likelihood" else self._fit_frobenius
        posterior = fit(votes, gold)
        self.coin_worker_, self.coin_label_ = votes.coins.worker, votes.coins.label
        return self._with_item_prior(posterior, votes, features, gold)

    # -- likelihood ------------------------------------------------------------------------------------------------

    def _fit_likelihood(self, votes: Votes, gold: Gold) -> Posterior:
        label, judge = self._learn_from(InMemory(votes, gold.signs))
        sets = LabelSets(self.set_share_, self.set_frequency_)
        evidence = evidence_of(votes, self.coin_evidence_.ravel(), label, sets, self._vote_weight)
        evidence = replace(evidence, log_odds=gold.log_odds(evidence.log_odds))
        self._foresee(votes, evidence)
        self._learn_calibration(votes, gold)
        proba = self._calibrated(self._pooled(votes, evidence, self._degrees), votes.pairs.label)
        if votes.reading.samples:  # a worker is judged by the others, not by further samples of their own
            assert isinstance(judge, partial)  # for the type checker: see _learn_from
            function, of_slots, prior = judge.args
            whole = of_slots * np.repeat(samples_per_pair(votes)[votes.coins.worker], 2)
            judge = partial(InMemory(votes.one_per_worker(), gold.signs).total, function, whole, prior)
        return Posterior(proba, label, judge)

    def _learn_calibration(self, votes: Votes, gold: Gold) -> None:
        """How known truth corrects probabilities: compared are those of a fit that has not seen it."""
        vars(self).pop("calibration_", None)
        if not (self.adapt and gold.known.any()):
            return
        known = np.flatnonzero(gold.known)
        self.calibration_ = fit_calibration(
            self.pair_unseen_[known], votes.pairs.label[known], gold.present[known], votes.n_labels
        )

    def _assumed_settling(self) -> Settling:
        if self.loss != "likelihood" or self.has_roster:  # what is shared was declared, and is discounted
            return ASSUMED
        blend = Blend(**self.blend_)
        pooled = (1 - blend.crisp) * (blend.degrees - LEAST_DEGREES) / (MOST_DEGREES - LEAST_DEGREES)
        return assumed(float(np.clip(pooled, 0.0, 1.0)))

    def _proba_held_out(self, votes: Votes, gold: Gold) -> Floats:
        if not hasattr(self, "calibration_"):
            return super()._proba_held_out(votes, gold)
        known, pairs = np.flatnonzero(gold.known), votes.pairs
        return cross_fitted(
            self.pair_unseen_[known], pairs.label[known], gold.present[known], pairs.item[known], votes.n_labels
        )

    def _calibrated(self, proba: Floats, label: AnyInts) -> Floats:
        """Probabilities of pairs with these labels, as learned, corrected by known truth if there was any."""
        return self.calibration_.of(proba, label) if hasattr(self, "calibration_") else proba

    def _learn_from(self, engine: Engine) -> Learned:
        if self.loss != "likelihood":
            self._refuse_blocks()
        self.fitted_to_ = ""  # until the fit is done
        few_new = self._needs_no_fit(engine)
        fit, sets = self._go_on_from(engine) if few_new else self._learn_anew_from(engine)
        self.kind_presence_ = read_two_kinds(fit, engine.coins.worker)
        self._learn_degrees(engine, fit.crowd.weight * looks_of(fit), few_new=few_new)
        self._publish_crowd(fit, engine)
        self.set_share_, self.set_frequency_ = sets.share, sets.frequency
        self.coin_evidence_ = fit.evidence.reshape(-1, 2)
        self.coin_worker_, self.coin_label_ = engine.coins.worker, engine.coins.label
        self.fitted_to_ = self._fitted_to(engine)
        return Learned(fit.frequency, partial(engine.total, judge_votes, fit.evidence, fit.prior))

    def _learn_anew_from(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        chance = signatures(engine, self.random_state)
        crowd, start = self._starting_point(engine)
        fit = fit_likelihood(engine, crowd, max_iter=self.max_iter, tol=self.tol or TOL, start=start)
        self._publish_course(fit.monitor)
        sets = learn_label_sets(engine, fit, chance.lot)
        chosen = engine.recall("blend", Blend) or self._chosen_blend(engine, chance, fit, sets)
        if chosen is not None:
            engine.keep("blend", chosen)
        self.blend_, self.blend_is_chosen_ = asdict(chosen or UNASKED), chosen is not None
        self.n_votes_ = engine.n_votes
        return fit, sets

    def _learn_degrees(self, engine: Engine, looks: Floats, *, few_new: bool) -> None:
        """Degrees of the pairs, where readings are pooled; votes of workers who do not look say nothing."""
        before = vars(self).pop("degrees_", None)
        if not Blend(**self.blend_).pools:
            return
        if few_new and before is not None:
            start = before.known_to(*self._learned_codes(engine))
            self.degrees_ = fit_degrees(engine, looks, start, UPDATE_ROUNDS)
        else:
            self.degrees_ = fit_degrees(engine, looks)

    @property
    def _degrees(self) -> Degrees | None:
        """The degrees, where readings are pooled."""
        return getattr(self, "degrees_", None)

    def _pooled(self, votes: Votes, evidence: Evidence, degrees: Degrees | None) -> Floats:
        """(n_pairs,) probability by all readings."""
        by_degrees = None if degrees is None else degrees.presence(WholeBlock(votes))
        return evidence.pooled(Blend(**self.blend_), self.kind_presence_, by_degrees)

    def _fitted_to(self, engine: Engine) -> str:
        """What a fit depends on, but for names, which the model has."""
        params = {name: value for name, value in self.get_params().items() if name != "warm_start"}
        weight = "" if self._vote_weight is None else f" {self._vote_weight.round(9).tolist()}"
        return f"{content(engine)} {json.dumps(params, sort_keys=True, default=str)}{weight}"

    def _stays_with(self, votes: Votes | Engine, gold: Gold | None) -> bool:
        learned = getattr(self, "fitted_to_", "")  # older files do not have it
        engine = votes if isinstance(votes, Engine) else InMemory(votes, gold.signs if gold else NOTHING_KNOWN)
        if not self.warm_start or not learned.startswith(f"{engine.n_votes} votes"):
            return False
        names = [(engine.worker_names, self.worker_names_), (engine.label_names, self.label_names_)]
        if isinstance(votes, Votes) and hasattr(self, "item_names_"):
            names.append((votes.item_names, self.item_names_))
        if not all(_same_names(*both) for both in names) or learned != self._fitted_to(engine):
            return False
        if self._to_judge is not None:  # with the votes that are there: an engine of the last fit may be closed
            _, judge = self._to_judge
            assert isinstance(judge, partial)  # for the type checker: see _learn_from
            self._to_judge = votes, partial(engine.total, *judge.args)
        if isinstance(votes, Votes) and not hasattr(self, "pair_proba_"):  # the last fit was to packed votes
            vars(self).update({**vars(self.applied_to(votes)), "_to_judge": self._to_judge})
        return True

    def _needs_no_fit(self, engine: Engine) -> bool:
        """Whether so few votes are new that what was learned needs only a few rounds."""
        if not (self.warm_start and hasattr(self, "crowd_")):
            return False
        return self.n_votes_ <= engine.n_votes < (1 + UPDATE_GROWTH) * self.n_votes_

    def _go_on_from(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        """A few rounds of the ascent that the last fit ended with."""
        crowd, start = self._starting_point(engine)
        sets = self._sets_for(engine, self._prior_for(engine))
        fit = fit_likelihood(engine, crowd, max_iter=UPDATE_ROUNDS, tol=self.tol or TOL, start=start)
        self.objective_history_, self.n_iter_ = fit.monitor.history, len(fit.monitor.history)
        return fit, sets

    def _foresee(self, votes: Votes, evidence: Evidence) -> None:
        """Keep the kinds of the items, where they say something about pairs that nobody was asked about."""
        if hasattr(self, "item_kind_"):
            del self.item_kind_
        if self.blend_["correlation"] >= IGNORED and len(votes.pairs) < votes.n_items * votes.n_labels:
            self.item_kind_ = evidence.kinds(votes.n_items)

    def _chosen_blend(self, engine: Engine, chance: Signatures, fit: LikelihoodFit, sets: LabelSets) -> Blend | None:
        if self.blend is not None:
            return _as_blend(self.blend)
        if not self.adapt:
            return Blend(correlation=float(self.correlation))

        def fit_again(part: Votes) -> LikelihoodFit:
            return fit_likelihood(InMemory(part), self._first_crowd(part), max_iter=SAMPLE_ROUNDS, tol=TOL)

        chosen = choose_blend(engine, chance, fit, sets, fit_again, correlation=self.correlation)
        if chosen is not None and self.has_roster and (self.roster_.kind == HUMAN).any():
            return replace(chosen, crisp=max(chosen.crisp, DECLARED))
        return chosen

    def _first_crowd(self, votes: Votes | Engine) -> Crowd:
        n_workers, n_labels, weight = votes.n_workers, votes.n_labels, self._vote_weight
        return start_crowd(n_workers, n_labels, self.n_groups, individuality=self.individuality, weight=weight)

    def _starting_point(self, engine: Engine) -> tuple[Crowd, Belief | None]:
        """Where the fit starts: a crowd, and what is believed where shares of yes are not the best there is."""
        if not (self.warm_start and hasattr(self, "crowd_")):
            return self._first_crowd(engine), None
        belief = Belief(self._evidence_of_coins(engine), logit(self._prior_for(engine)))
        crowd = known_to(self.crowd_, *self._learned_codes(engine))
        weight = np.ones(engine.n_workers) if self._vote_weight is None else self._vote_weight
        return replace(crowd, weight=weight), belief

    def _publish_course(self, monitor: Monitor) -> None:
        monitor.warn_unless_converged("AMCC")
        self.objective_history_, self.n_iter_, self.converged_ = (
            monitor.history,
            len(monitor.history),
            monitor.converged,
        )

    def _publish_crowd(self, fit: LikelihoodFit, engine: Engine) -> None:
        crowd, coins = fit.crowd, engine.coins
        self.crowd_ = crowd
        n_votes = fit.counts.total
        asked = weight_per_code(coins.label, n_votes.yes + n_votes.no, engine.n_labels) + 1e-9
        commonality = crowd.commonality
        informativeness = (commonality[0] - commonality[1]) @ (asked / asked.sum())
        order = np.argsort(-informativeness, kind="stable")
        positive = np.maximum(informativeness[order], 1e-6)
        self.group_weights_ = positive / positive.sum()
        self.commonality_, self.group_strength_ = commonality[:, order], crowd.strength[:, order]
        self.worker_membership_ = crowd.member[:, order]
        self.worker_group_ = self.worker_membership_.argmax(axis=1).astype(np.int32)
        rates = coin_rates(crowd, coins, fit.counts)
        group = self.worker_group_[coins.worker]
        self.individuality_ = (rates - self.commonality_[:, group, coins.label]).T
        self.worker_cost_ = worker_worth(engine, rates[0])
        self.newcomer_evidence_ = _newcomer_evidence(crowd)

    @property
    def label_correlation_(self) -> Floats:
        """(n_labels, n_labels) by the kinds of label sets, computed when asked for; the paper's objective: B of eq4."""
        self._check_fitted(items=False)
        if self.loss == "frobenius":
            return self.label_similarity_
        n_labels = self.set_frequency_.shape[1]
        check_size("label correlation", "Leave out what needs it, or drop rare labels.", n_labels, n_labels)
        return LabelSets(self.set_share_, self.set_frequency_).correlation()

    # -- the paper's objective ---------------------------------------------------------------------------------------

    def _fit_frobenius(self, votes: Votes, gold: Gold) -> Posterior:
        self.fitted_to_ = ""
        fit = fit_frobenius(
            votes,
            gold,
            n_groups=self.n_groups,
            hsic_weight=self.hsic_weight,
            laplacian_weight=self.laplacian_weight,
            weight_exponent=self.weight_exponent,
            anchor=self.anchor,
            printed=self.printed,
            max_iter=self.max_iter,
            tol=self.tol or 1e-5,
            random_state=self.random_state,
        )
        self._publish_course(fit.monitor)
        self._publish_frobenius(fit, votes)
        judge = partial(passes.others_pass, votes.coins.slot, votes.pairs.start, fit.evidence, fit.prior)
        return Posterior(fit.pair_proba, fit.label_prior, judge)

    def _publish_frobenius(self, fit: FrobeniusFit, votes: Votes) -> None:
        self.commonality_, self.group_weights_ = fit.group_rates, fit.group_weights
        self.worker_group_ = fit.worker_group.astype(np.int32)
        self.worker_membership_ = np.eye(len(fit.group_weights))[self.worker_group_]
        worker, label = votes.coins.worker, votes.coins.label
        own = fit.rates.worker[:, worker, label]
        self.individuality_ = (own - self.commonality_[:, self.worker_group_[worker], label]).T
        self.label_similarity_, self.worker_cost_ = fit.label_correlation, fit.worker_cost
        self.individuality_matrices_, self.commonality_matrices_ = fit.individuality, fit.commonality
        self.worker_answer_rates_, self.crowd_rates_ = fit.rates.worker, fit.rates.crowd
        self.vote_weight_ = fit.vote_weight

    def _infer_frobenius(self, votes: Votes, prior: Floats) -> Floats:
        worker, label = self._learned_codes(votes)
        if self.printed:
            average = self.individuality_matrices_.mean(axis=0)
            own = np.where((worker >= 0)[:, None, None], self.individuality_matrices_[worker], average)
            individuality, commonality = (
                frobenius.for_new_votes(part, label) for part in (own, self.commonality_matrices_)
            )
            return frobenius.printed_consensus(
                votes, individuality, commonality, self.group_weights_, self.weight_exponent
            )
        evidence = frobenius.new_evidence(
            votes,
            worker,
            label,
            worker_rates=self.worker_answer_rates_,
            crowd_rates=self.crowd_rates_,
            vote_weight=self.vote_weight_,
        )
        return frobenius.consensus(votes, evidence, logit(prior)[votes.pairs.label])

    # -- answering ---------------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats) -> Floats:
        if self.loss == "frobenius":
            return self._infer_frobenius(votes, prior)
        degrees = self._degrees.known_to(*self._learned_codes(votes)) if self._degrees else None
        proba = self._pooled(votes, self._evidence(votes, prior), degrees)
        return self._calibrated(proba, new_code(votes.label_names, self.label_names_)[votes.pairs.label])

    def settled_params(self) -> dict[str, Any] | None:
        """The blend, see `ConsensusModel.settled_params`."""
        if self.loss != "likelihood":
            return {}
        return {"blend": self.blend_} if self.blend_is_chosen_ else None

    def applied_to(self, votes: Votes) -> Self:
        """See `ConsensusModel.applied_to`."""
        model = super().applied_to(votes)
        if self.loss == "likelihood":
            model._foresee(votes, model._evidence(votes, model.label_prior_))
        return model

    def _learned_codes(self, votes: Votes | Engine) -> tuple[Ints, Ints]:
        """Codes by which workers and labels of new votes were learned, −1 for newcomers."""
        return new_code(votes.worker_names, self.worker_names_), new_code(votes.label_names, self.label_names_)

    def _unasked(self, votes: Votes | None, prior: Floats, n_items: int) -> Floats:
        independent = super()._unasked(votes, prior, n_items)
        if self.loss == "frobenius" or self.blend_["correlation"] < IGNORED:
            return independent
        if votes is not None:
            evidence = self._evidence(votes, prior)
            kinds, frequency = evidence.kinds(n_items), evidence.sets.frequency
            answered = votes.answers_per_item > 0
        elif self._foresees:
            kinds, frequency, answered = self.item_kind_, self.set_frequency_, self.item_answered_
        else:
            return independent
        weight = self.blend_["correlation"] * answered[:, None]
        return np.asarray((1 - weight) * independent + weight * (kinds @ frequency))

    @property
    def _foresees(self) -> bool:
        return hasattr(self, "item_kind_")

    def _evidence(self, votes: Votes, prior: Floats) -> Evidence:
        """What new votes say, by the coins and the kinds of label sets as learned."""
        of_coins, sets = self._evidence_of_coins(votes), self._sets_for(votes, prior)
        return evidence_of(votes, of_coins, prior, sets, self.weights_for(votes))

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

    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) commonality of the worker's groups, and their individuality on labels that they met."""
        self._check_fitted()
        hit, false_alarm = np.einsum("wm,aml->awl", self.worker_membership_, self.commonality_)
        group = self.worker_group_[self.coin_worker_]
        for rate, own, of_group in zip(
            (hit, false_alarm), self.individuality_.T, self.commonality_[:, group, self.coin_label_], strict=True
        ):
            rate[self.coin_worker_, self.coin_label_] = own + of_group
        return hit, false_alarm

    def label_correlations(self) -> Floats:
        """(n_labels, n_labels) `label_correlation_`."""
        self._check_fitted()
        return self.label_correlation_

    # -- explaining --------------------------------------------------------------------------------------------------

    def groups(self, frame: Frame = "pandas") -> Any:
        """One row per group, the best first: group, workers, weight, hit_rate, false_alarm_rate, summary."""
        self._check_fitted(items=False)
        return as_frame(describe_groups(self.commonality_, self.group_weights_, self.worker_group_), frame)

    def _groups(self) -> tuple[Codes, Floats]:
        return self.worker_group_, self.group_weights_[self.worker_group_]


def _same_names(names: pa.Array, learned: pa.Array) -> bool:
    return len(names) == len(learned) and bool((new_code(names, learned) == np.arange(len(names))).all())


def _as_blend(chosen: Mapping[str, Any]) -> Blend:
    try:
        if set(chosen) != {each.name for each in fields(Blend)}:
            raise ValueError("weights are missing, or there are others")
        return Blend(**chosen)
    except (TypeError, ValueError):
        raise ParameterError(f"blend must be None or the blend_ of an earlier fit; got {chosen!r}.") from None


def _newcomer_evidence(crowd: Crowd) -> Floats:
    """(n_labels, 2) what a no and a yes of a worker without a history are worth."""
    n_labels = len(crowd.hit.label)
    label: Codes = np.arange(n_labels, dtype=np.int32)
    coins = Coins(np.zeros(n_labels, np.int32), label, np.empty(0, np.int32))
    nothing = Counts(np.zeros(n_labels), np.zeros(n_labels))
    stranger = replace(crowd, member=crowd.share[None] / crowd.share.sum(), weight=np.ones(1))
    return slot_evidence(stranger, coins, CoinCounts(nothing, nothing)).reshape(n_labels, 2)
