"""AMCC: consensus from groups of workers, their individuality, and label correlation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pyarrow as pa
from scipy.special import logit

from amcc import passes
from amcc.arrays import AnyInts, Codes, Floats, Ints, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.calibration import Calibration, Spreads, cross_fitted, fit_calibration
from amcc.consensus.families import samples_per_pair
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, ItemKinds, Learned, in_memory
from amcc.consensus.matching import known_or_mean, match_coins, new_code
from amcc.consensus.models.amcc import frobenius
from amcc.consensus.models.amcc.coins import Counts
from amcc.consensus.models.amcc.correlation import LabelSets
from amcc.consensus.models.amcc.crowd import (
    CoinCounts,
    Crowd,
    CrowdPrior,
    coin_rates,
    crowd_prior,
    known_to,
    slot_evidence,
    start_crowd,
)
from amcc.consensus.models.amcc.degrees import Degrees, fit_degrees
from amcc.consensus.models.amcc.frobenius import Anchor, FrobeniusFit, fit_frobenius
from amcc.consensus.models.amcc.groups import describe_groups
from amcc.consensus.models.amcc.likelihood import LikelihoodFit, fit_likelihood
from amcc.consensus.models.amcc.readings import (
    IGNORED,
    Blend,
    Evidence,
    choose_blend,
    evidence_of,
    learn_label_sets,
    read_two_kinds,
    shown_dependent,
    unasked_blend,
)
from amcc.consensus.models.amcc.settings import Settings, settings_with
from amcc.consensus.models.amcc.worth import worker_worth
from amcc.consensus.rounds import judge_votes
from amcc.consensus.settling import Settling, assumed
from amcc.consensus.signature import Signatures, content, signatures
from amcc.engine.base import Engine, InMemory, WholeBlock
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.memory import check_size
from amcc.passes import Belief, Judgement
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


class AMCC(
    ConsensusModel,
    methods={
        "amcc": {},
        "amcc-frobenius": {"loss": "frobenius"},
        "amcc-printed": {"loss": "frobenius", "anchor": "self", "printed": True},
    },
):
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
    settings : dict of numbers, optional
        Changed fields of `amcc.consensus.models.amcc.settings.Settings`, such as {"lean": 0.5}: the numbers set by hand
        that shape the probabilities. `amcc settings` lists them with reasons; small crowds hang on them most.
    anchor : "consensus" or "self"; printed : bool; hsic_weight, laplacian_weight, weight_exponent
        Of the paper's objective, see `amcc.consensus.models.amcc.frobenius.fit_frobenius`.
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
    settings_ : Settings
        The numbers set by hand that the model was fitted with.
    blend_ : dict
        What the votes chose, see `amcc.consensus.models.amcc.readings.Blend`.
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

    uses_features = features_are_prior = takes_sparse = True
    uses_roster = learns_in_blocks = True

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    worker_membership_: Annotated[Floats, Each("worker", "group")]
    worker_group_: Annotated[Codes, Each("worker", code="group")]
    commonality_: Annotated[Floats, Each(2, "group", "label")]
    individuality_: Annotated[Floats, Each("coin", 2)]
    group_weights_: Annotated[Floats, Each("group")]
    worker_cost_: Annotated[Floats, Each("worker", finite=False)]

    settings_: Annotated[Settings, Each(only=LIKELIHOOD)]
    blend_: Annotated[dict[str, Any], Each(only=LIKELIHOOD)]
    blend_is_chosen_: Annotated[bool, Each(only=LIKELIHOOD)]
    crowd_: Annotated[Crowd, Each(only=LIKELIHOOD)]
    kind_presence_: Annotated[Floats, Each(2, share=True, only=LIKELIHOOD)]
    n_votes_: Annotated[int, Each(only=LIKELIHOOD)]
    fitted_to_: str = ""
    group_strength_: Annotated[Floats, Each(2, "group", only=LIKELIHOOD)]
    newcomer_evidence_: Annotated[Floats, Each("label", 2, only=LIKELIHOOD)]
    coin_evidence_: Annotated[Floats, Each("coin", 2, only=LIKELIHOOD)]
    set_share_: Annotated[Floats, Each("kind", only=LIKELIHOOD)]
    set_frequency_: Annotated[Floats, Each("kind", "label", only=LIKELIHOOD)]
    item_state_: Annotated[ItemKinds | None, Each(optional=True)] = None
    degrees_: Annotated[Degrees | None, Each(optional=True)] = None
    calibration_: Annotated[Calibration | None, Each(optional=True)] = None

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
        settings: Mapping[str, float] | None = None,
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
        self.settings = settings
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
        settings_with(self.settings)

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.loss == "likelihood":
            _as_blend(self.blend_)

    # -- likelihood ------------------------------------------------------------------------------------------------

    def _judge_of(self, engine: Engine, fit: LikelihoodFit) -> Callable[[], Judgement]:
        """What judges every vote by the others, when somebody asks."""
        evidence = fit.evidence
        if isinstance(engine, InMemory) and engine.block.source.reading.samples:
            # A worker is judged by the others, not by further samples of their own, and by whole votes.
            votes = engine.block.source
            evidence = evidence * np.repeat(samples_per_pair(votes)[votes.coins.worker], 2)
            engine = InMemory(votes.one_per_worker(), engine.block.known)
        return partial(engine.total, judge_votes, evidence, fit.prior)

    def _take_truth(self, votes: Votes, gold: Gold, unseen: Floats) -> None:
        """How known truth corrects probabilities: compared are those of a fit that has not seen it."""
        self.calibration_ = None
        if self.loss == "likelihood" and self.adapt and gold.known.any():
            known = np.flatnonzero(gold.known)
            self.calibration_ = fit_calibration(
                unseen[known], votes.pairs.label[known], gold.present[known], votes.n_labels, self._spreads
            )

    def _assumed_settling(self) -> Settling:
        if self.loss != "likelihood":
            return super()._assumed_settling()
        # Where what is shared was declared, it is discounted vote by vote: agreement proves what it seems to.
        dependent = 0.0 if self.has_roster else shown_dependent(Blend(**self.blend_), self.settings_)
        return assumed(dependent, self.settings_.assumed_claim)

    @property
    def _spreads(self) -> Spreads:
        """How far known truth may correct probabilities."""
        return Spreads.of(self.settings_.truth_spread)

    def _proba_held_out(self, votes: Votes, gold: Gold, unseen: Floats) -> Floats:
        if self.calibration_ is None:
            return super()._proba_held_out(votes, gold, unseen)
        known, pairs = np.flatnonzero(gold.known), votes.pairs
        of_known = unseen[known], pairs.label[known], gold.present[known], pairs.item[known]
        return cross_fitted(*of_known, votes.n_labels, self._spreads)

    def _calibrated(self, proba: Floats, label: AnyInts) -> Floats:
        """Probabilities of pairs with these labels, as learned, corrected by known truth if there was any."""
        return proba if self.calibration_ is None else self.calibration_.of(proba, label)

    def _learn(self, engine: Engine) -> Learned:
        if self.loss != "likelihood":
            return self._learn_frobenius(engine)
        self.fitted_to_ = ""  # until the fit is done
        before, self.settings_ = getattr(self, "settings_", None), settings_with(self.settings)
        few_new = before == self.settings_ and self._needs_no_fit(engine)
        fit, sets = self._go_on_from(engine) if few_new else self._learn_anew_from(engine)
        self.kind_presence_ = read_two_kinds(fit, engine.coins.worker, self.settings_)
        self._learn_degrees(engine, fit.crowd.weight * fit.crowd.looks, few_new=few_new)
        self._publish_crowd(fit, engine)
        self.set_share_, self.set_frequency_ = sets.share, sets.frequency
        self.coin_evidence_ = fit.evidence.reshape(-1, 2)
        self.coin_worker_, self.coin_label_ = engine.coins.worker, engine.coins.label
        self.fitted_to_ = self._fitted_to(engine)
        return Learned(fit.frequency, self._judge_of(engine, fit))

    def _learn_anew_from(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        chance = signatures(engine, self.random_state)
        crowd, start = self._starting_point(engine)
        fit = fit_likelihood(engine, crowd, self._prior, max_iter=self.max_iter, tol=self.tol or TOL, start=start)
        self._publish(fit.monitor)
        sets = learn_label_sets(engine, fit, chance.lot, self.settings_)
        chosen = engine.recall("blend", Blend) or self._chosen_blend(engine, chance, fit, sets)
        if chosen is not None:
            engine.keep("blend", chosen)
        self.blend_, self.blend_is_chosen_ = asdict(chosen or unasked_blend(self.settings_)), chosen is not None
        self.n_votes_ = engine.n_votes
        return fit, sets

    def _learn_degrees(self, engine: Engine, looks: Floats, *, few_new: bool) -> None:
        """Degrees of the pairs, where readings are pooled; votes of workers who do not look say nothing."""
        before, self.degrees_ = self.degrees_, None
        if not Blend(**self.blend_).pools:
            return
        if few_new and before is not None:
            start = before.known_to(*self._learned_codes(engine))
            self.degrees_ = fit_degrees(engine, looks, self.settings_, start, UPDATE_ROUNDS)
        else:
            self.degrees_ = fit_degrees(engine, looks, self.settings_)

    def _pooled(self, votes: Votes, evidence: Evidence, degrees: Degrees | None) -> Floats:
        """(n_pairs,) probability by all readings."""
        by_degrees = None if degrees is None else degrees.presence(WholeBlock(votes))
        return evidence.pooled(Blend(**self.blend_), self.kind_presence_, by_degrees)

    def _fitted_to(self, engine: Engine) -> str:
        """What a fit depends on, but for names, which the model has."""
        params = {name: value for name, value in self.get_params().items() if name != "warm_start"}
        weight = "" if self.vote_worth_ is None else f" {self.vote_worth_.round(9).tolist()}"
        return f"{content(engine)} {json.dumps(params, sort_keys=True, default=str)}{weight}"

    def _stays_with(self, engine: Engine) -> bool:
        if not self.warm_start or not self.fitted_to_.startswith(f"{engine.n_votes} votes"):
            return False
        votes = engine.block.source if isinstance(engine, InMemory) else None
        names = [(engine.worker_names, self.worker_names_), (engine.label_names, self.label_names_)]
        if votes is not None and self.results_ is not None:
            names.append((votes.item_names, self.item_names_))
        if not all(_same_names(*both) for both in names) or self.fitted_to_ != self._fitted_to(engine):
            return False
        if self._to_judge is not None:  # with the votes that are there: an engine of the last fit may be closed
            _, judge = self._to_judge
            assert isinstance(judge, partial)  # for the type checker: see _judge_of
            self._to_judge = votes or engine, partial(engine.total, *judge.args)
        if votes is None:
            self.results_ = self.item_state_ = None
        elif self.results_ is None:  # the last fit was to packed votes
            there = self.applied_to(votes)
            self.results_, self.item_state_, self._seen = there.results_, there.item_state_, there._seen
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
        fit = fit_likelihood(engine, crowd, self._prior, max_iter=UPDATE_ROUNDS, tol=self.tol or TOL, start=start)
        self.objective_history_, self.n_iter_ = fit.monitor.history, len(fit.monitor.history)
        return fit, sets

    def _kinds(self, votes: Votes, evidence: Evidence) -> ItemKinds | None:
        """Kinds of the items, where they say something about pairs that nobody was asked about."""
        if self.blend_["correlation"] < IGNORED or len(votes.pairs) == votes.n_items * votes.n_labels:
            return None
        return ItemKinds(evidence.kinds(votes.n_items), evidence.sets.frequency)

    def _chosen_blend(self, engine: Engine, chance: Signatures, fit: LikelihoodFit, sets: LabelSets) -> Blend | None:
        if self.blend is not None:
            return _as_blend(self.blend)
        if not self.adapt:
            return Blend(degrees=self.settings_.least_degrees, correlation=float(self.correlation))

        def fit_again(part: Votes) -> LikelihoodFit:
            crowd = self._first_crowd(part)
            return fit_likelihood(InMemory(part), crowd, self._prior, max_iter=SAMPLE_ROUNDS, tol=TOL)

        chosen = choose_blend(engine, chance, fit, sets, fit_again, self.settings_, correlation=self.correlation)
        if chosen is not None and self.roster_ is not None and (self.roster_.kind == HUMAN).any():
            return replace(chosen, crisp=max(chosen.crisp, self.settings_.declared_crisp))
        return chosen

    def _first_crowd(self, votes: Votes | Engine) -> Crowd:
        return start_crowd(votes.n_workers, votes.n_labels, self.n_groups, self._prior, weight=self.vote_worth_)

    @property
    def _prior(self) -> CrowdPrior:
        """What is believed of workers before any vote."""
        return crowd_prior(self.settings_, individuality=self.individuality)

    def _starting_point(self, engine: Engine) -> tuple[Crowd, Belief | None]:
        """Where the fit starts: a crowd, and what is believed where shares of yes are not the best there is."""
        if not (self.warm_start and hasattr(self, "crowd_")):
            return self._first_crowd(engine), None
        belief = Belief(self._evidence_of_coins(engine), logit(self._prior_for(engine)))
        crowd = known_to(self.crowd_, *self._learned_codes(engine))
        weight = np.ones(engine.n_workers) if self.vote_worth_ is None else self.vote_worth_
        return replace(crowd, weight=weight), belief

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
        self.check_fitted()
        if self.loss == "frobenius":
            return self.label_similarity_
        n_labels = self.set_frequency_.shape[1]
        check_size("label correlation", "Leave out what needs it, or drop rare labels.", n_labels, n_labels)
        return LabelSets(self.set_share_, self.set_frequency_).correlation()

    # -- the paper's objective ---------------------------------------------------------------------------------------

    def _learn_frobenius(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        self.fitted_to_ = ""
        self.coin_worker_, self.coin_label_ = votes.coins.worker, votes.coins.label
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
        self._publish(fit.monitor)
        self._publish_frobenius(fit, votes)
        judge = partial(passes.others_pass, votes.coins.slot, votes.pairs.start, fit.evidence, fit.prior)
        return Learned(fit.label_prior, judge, Inferred(fit.pair_proba))

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

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        if self.loss == "frobenius":
            return Inferred(self._infer_frobenius(votes, prior))
        degrees = None if self.degrees_ is None else self.degrees_.known_to(*self._learned_codes(votes))
        evidence = self._evidence(votes, prior)
        evidence = replace(evidence, log_odds=gold.log_odds(evidence.log_odds))
        proba = self._pooled(votes, evidence, degrees)
        label = new_code(votes.label_names, self.label_names_)[votes.pairs.label]
        return Inferred(self._calibrated(proba, label), self._kinds(votes, evidence))

    def settled_params(self) -> dict[str, Any] | None:
        """The blend, see `ConsensusModel.settled_params`."""
        if self.loss != "likelihood":
            return {}
        return {"blend": self.blend_} if self.blend_is_chosen_ else None

    def _learned_codes(self, votes: Votes | Engine) -> tuple[Ints, Ints]:
        """Codes by which workers and labels of new votes were learned, −1 for newcomers."""
        return new_code(votes.worker_names, self.worker_names_), new_code(votes.label_names, self.label_names_)

    def _unasked(self, found: ItemResults) -> Floats:
        independent = super()._unasked(found)
        if self.item_state_ is None:
            return independent
        weight = self.blend_["correlation"] * found.item_answered[:, None]
        return np.asarray((1 - weight) * independent + weight * self.item_state_.expected())

    def _evidence(self, votes: Votes, prior: Floats) -> Evidence:
        """What new votes say, by the coins and the kinds of label sets as learned."""
        of_coins, sets = self._evidence_of_coins(votes), self._sets_for(votes, prior)
        return evidence_of(votes, of_coins, prior, sets, self.settings_, self.weights_for(votes))

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
        self.check_fitted()
        hit, false_alarm = np.einsum("wm,aml->awl", self.worker_membership_, self.commonality_)
        group = self.worker_group_[self.coin_worker_]
        for rate, own, of_group in zip(
            (hit, false_alarm), self.individuality_.T, self.commonality_[:, group, self.coin_label_], strict=True
        ):
            rate[self.coin_worker_, self.coin_label_] = own + of_group
        return hit, false_alarm

    def label_correlations(self) -> Floats:
        """(n_labels, n_labels) `label_correlation_`."""
        self.check_fitted()
        return self.label_correlation_

    # -- explaining --------------------------------------------------------------------------------------------------

    def groups(self, frame: Frame = "pandas") -> Any:
        """One row per group, the best first: group, workers, weight, hit_rate, false_alarm_rate, summary."""
        self.check_fitted()
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
