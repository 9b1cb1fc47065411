"""AMCC: consensus from groups of workers, their individuality, and label correlation. The probability model.

This file learns; `answering.py` says what was learned about any votes, `warm_start.py` when little has to be learned
again. The model itself is in `likelihood.py`, how votes are read in `readings.py` (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from amcc.arrays import Codes, Floats, weight_per_code
from amcc.consensus.calibration import Calibration, fit_calibration
from amcc.consensus.default.answering import LearnedCrowd, as_blend
from amcc.consensus.default.coins import Counts
from amcc.consensus.default.correlation import LabelSets
from amcc.consensus.default.crowd import (
    CoinCounts,
    Crowd,
    CrowdPrior,
    coin_rates,
    crowd_prior,
    known_to,
    slot_evidence,
    start_crowd,
    usual_groups,
)
from amcc.consensus.default.degrees import fit_degrees
from amcc.consensus.default.exclusive import Groups, check_exclusive, learn_exclusive
from amcc.consensus.default.likelihood import LikelihoodFit, fit_likelihood
from amcc.consensus.default.readings import Blend, blend_of_single_votes, choose_blend, learn_label_sets, read_two_kinds
from amcc.consensus.default.settings import Settings, settings_with
from amcc.consensus.default.warm_start import UPDATE_ROUNDS, few_are_new, fingerprint, may_be_same, same_names
from amcc.consensus.families import samples_per_pair
from amcc.consensus.learned import Gold, Learned
from amcc.consensus.parameters import check_at_least_one, check_rounds, check_seed
from amcc.consensus.rounds import judge_votes
from amcc.consensus.signature import Signatures, signatures
from amcc.consensus.single_choice import SingleChoice
from amcc.consensus.worth import worker_worth
from amcc.engine.base import Engine, InMemory
from amcc.passes import Belief, Judgement
from amcc.roster import HUMAN
from amcc.special import logit
from amcc.votes import Coins, Votes

# When the ascent has arrived: probabilities move by less, root mean square. Ten times less changes no decision.
TOL = 5e-4
# Rounds of fits to a sample: they only serve to choose between readings, and need not be exact.
SAMPLE_ROUNDS = 40
# Votes added to each label where groups are weighed by what was asked, so that no votes at all divide by something.
ASKED_FLOOR = 1e-9
# Informativeness of a group that has none, so that weights stay positive.
INFORMATIVE_FLOOR = 1e-6
# Standing of a view that is worth nothing, as a divisor.
LEAST_STANDING = 1e-12


class AMCC(LearnedCrowd, methods={"amcc": {}}):
    """Active Multi-Label Crowd Consensus: the default, for any crowd.

    Workers belong to groups. A worker's hit and false-alarm rate on a label is what their group usually does
    (commonality) and what only they do (individuality), the latter held back where they have few answers. Votes are
    read in several ways, and none of them is sure: by these rates, by how many people would say yes, by plain counts,
    with and without what other labels of the item say. How far each is trusted is decided by how well it predicts votes
    from the other votes; what cannot be ruled out keeps its share. Known truth corrects the result.

    The paper's own objective is another model, `amcc.consensus.models.paper.PaperAMCC`.

    Parameters
    ----------
    n_groups : int, optional
        Groups of workers; 5 unless given, and 10 where workers answer on many labels (`crowd.usual_groups`). More than
        the data need do no harm: they stay empty or alike.
    individuality, correlation, adapt : bool
        Parts of the model, to be switched off for comparison. Without `adapt`, the rates and label correlation are
        used without softening, and nothing is pooled.
    blend : dict, optional
        The `blend_` of an earlier fit, to be used instead of choosing.
    settings : dict of numbers, optional
        Changed fields of `amcc.consensus.default.settings.Settings`, such as {"lean": 0.5}: the numbers set by hand
        that shape the probabilities. `amcc settings` lists them with reasons; small crowds depend on them most.
    exclusive : bool or groups of labels, optional
        Labels of which exactly one is true: all of them (True), or groups, as {"tone": ["factual", "mixed", "opinion"]}
        or a list of such lists. Unless it is given, all labels exclude each other where there are at least 300 answers
        about several labels, and each of them has exactly one; False: never.
    max_iter, tol
        Stop when probabilities typically (root mean square) move by less than `tol` in a round.
    random_state : int
    warm_start : bool
        Go on from what the last `fit` of this object learned about workers and labels, matched by name. Where the votes
        have grown by less than a tenth since the last whole fit, a few rounds are enough, and all that was chosen by
        trying is kept. Where no vote is new, nothing changes.

    Attributes
    ----------
    commonality_, individuality_, worker_group_, worker_membership_, group_weights_, worker_cost_
        As for all models with groups, see `amcc.consensus.grouped.GroupedModel`. `group_weights_` is how informative
        each group is.
    label_correlation_ : (n_labels, n_labels)
        Correlation of presence, by the kinds of label sets.
    settings_ : Settings
        The numbers set by hand that the model was fitted with.
    blend_ : dict
        What the votes chose, see `amcc.consensus.default.readings.Blend`.
    exclusive_ : SingleChoice
        Which labels exclude each other, and on what grounds.
    kind_presence_ : (2,)
        What pairs that the rates call absent and present count for where readings are pooled.
    calibration_ : Calibration
        How known truth corrected the probabilities; only where `fit` was given some.
    objective_history_ : list of float
        The bound, which rises at every round (above 200,000 votes it may fall by a hair, see docs/method.md).

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> AMCC().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    uses_roster = learns_in_blocks = True

    def __init__(
        self,
        *,
        n_groups: int | None = None,
        individuality: bool = True,
        correlation: bool = True,
        adapt: bool = True,
        blend: Mapping[str, Any] | None = None,
        settings: Mapping[str, float] | None = None,
        exclusive: Groups = None,
        max_iter: int = 200,
        tol: float = TOL,
        random_state: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_groups = n_groups
        self.individuality = individuality
        self.correlation = correlation
        self.adapt = adapt
        self.blend = blend
        self.settings = settings
        self.exclusive = exclusive
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.warm_start = warm_start

    def _check_params(self) -> None:
        if self.n_groups is not None:
            check_at_least_one("n_groups", self.n_groups)
        check_rounds(self.max_iter, self.tol)
        check_seed(self.random_state)
        if self.blend is not None:
            as_blend(self.blend)
        settings_with(self.settings)
        check_exclusive(self.exclusive)

    # -- learning ------------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        self.fitted_to_: str = ""  # until the fit is done: an interrupted one must not pass for it
        before = self.settings_
        self.settings_: Settings = settings_with(self.settings)
        self.exclusive_: SingleChoice = learn_exclusive(engine, self.exclusive, self.vote_worth_)
        few_new = self._goes_on and before == self.settings_ and few_are_new(self.n_votes_, engine.n_votes)
        fit, sets = self._go_on_from(engine) if few_new else self._learn_from_scratch(engine)
        self.kind_presence_: Floats = read_two_kinds(fit, engine.coins.worker, self.settings_)
        self._learn_degrees(engine, self._standing(engine.n_workers) * fit.crowd.looks, few_new=few_new)
        self._publish_crowd(fit, engine)
        self.set_share_: Floats = sets.share
        self.set_frequency_: Floats = sets.frequency
        self.coin_evidence_: Floats = fit.evidence.reshape(-1, 2)
        self.fitted_to_ = fingerprint(engine, self.get_params(), self.vote_worth_)
        return Learned(fit.frequency, self._judge_of(engine, fit))

    def _judge_of(self, engine: Engine, fit: LikelihoodFit) -> Callable[[], Judgement]:
        """What judges every vote by the others, when somebody asks."""
        evidence = fit.evidence
        if isinstance(engine, InMemory) and engine.block.source.reading.samples:
            # A worker is judged by the others, not by further samples of their own. Their samples become one vote,
            # and it counts as much as all of them did.
            votes = engine.block.source
            evidence = evidence * np.repeat(samples_per_pair(votes)[votes.coins.worker], 2)
            engine = _one_vote_each(engine)
        return partial(engine.total, judge_votes, evidence, fit.prior)

    def _learn_from_scratch(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        """A whole fit, with the choice of the blend."""
        chance = signatures(engine, self.random_state)
        crowd, start = self._starting_point(engine)
        fit = fit_likelihood(engine, crowd, self._crowd_prior, max_iter=self.max_iter, tol=self.tol, start=start)
        fit = self._weighed(fit, engine.coins)
        self._publish(fit.monitor)
        sets = learn_label_sets(engine, fit, chance.uniform, self.settings_)
        chosen = engine.recall("blend", Blend) or self._chosen_blend(engine, chance, fit, sets)
        if chosen is not None:
            engine.keep("blend", chosen)
        self.blend_: dict[str, Any] = asdict(chosen or blend_of_single_votes(self.settings_))
        self.blend_is_chosen_: bool = chosen is not None
        self.n_votes_: int = engine.n_votes
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

    def _take_truth(self, votes: Votes, gold: Gold, unseen: Floats) -> None:
        """How known truth corrects probabilities: compared are those of a fit that has not seen it."""
        if self.adapt and gold.known.any():
            known = np.flatnonzero(gold.known)
            self.calibration_: Calibration | None = fit_calibration(
                unseen[known], votes.pairs.label[known], gold.present[known], votes.n_labels, self._spreads
            )

    def _chosen_blend(self, engine: Engine, chance: Signatures, fit: LikelihoodFit, sets: LabelSets) -> Blend | None:
        if self.blend is not None:
            return as_blend(self.blend)
        if not self.adapt:
            return Blend(degrees=self.settings_.least_degrees, correlation=float(self.correlation))

        def fit_again(part: Votes) -> LikelihoodFit:
            crowd = self._first_crowd(part, n_groups=len(fit.crowd.share))
            again = fit_likelihood(InMemory(part), crowd, self._crowd_prior, max_iter=SAMPLE_ROUNDS, tol=TOL)
            return self._weighed(again, part.coins)

        chosen = choose_blend(engine, chance, fit, sets, fit_again, self.settings_, correlation=self.correlation)
        if chosen is not None and self.roster_ is not None and (self.roster_.kind == HUMAN).any():
            return replace(chosen, crisp=max(chosen.crisp, self.settings_.declared_crisp))
        return chosen

    def _first_crowd(self, votes: Votes | Engine, *, n_groups: int | None = None) -> Crowd:
        n_groups = n_groups or self.n_groups or usual_groups(votes.coins)
        weight = self._standing(votes.n_workers)
        return start_crowd(votes.n_workers, votes.n_labels, n_groups, self._crowd_prior, weight=weight)

    def _weighed(self, fit: LikelihoodFit, coins: Coins) -> LikelihoodFit:
        """A fit in which votes count for what they are worth.

        Workers are learned with votes that count by the standing of their view. By their worth, which is less where
        others repeat them, a crowd of language models alone has too little evidence on any pair to be learned from: all
        labels seem absent then. How sure votes make us of a pair follows from what they are worth.
        """
        if self.vote_worth_ is None:
            return fit
        ratio = self.vote_worth_ / np.maximum(fit.crowd.weight, LEAST_STANDING)
        evidence = fit.evidence * np.repeat(ratio[coins.worker], 2)
        return replace(fit, crowd=replace(fit.crowd, weight=self.vote_worth_), evidence=evidence)

    @property
    def _crowd_prior(self) -> CrowdPrior:
        """What is believed of workers before any vote."""
        return crowd_prior(self.settings_, individuality=self.individuality)

    # -- going on from an earlier fit ----------------------------------------------------------------------------

    @property
    def _goes_on(self) -> bool:
        """Whether there is an earlier fit to go on from, and it is wanted."""
        return self.warm_start and hasattr(self, "crowd_")

    def _starting_point(self, engine: Engine) -> tuple[Crowd, Belief | None]:
        """Where the fit starts: a crowd, and what is believed where shares of yes are not the best there is."""
        if not self._goes_on:
            return self._first_crowd(engine), None
        belief = Belief(self._evidence_of_coins(engine), logit(self._prior_for(engine)))
        crowd = known_to(self.crowd_, *self._learned_codes(engine))
        return replace(crowd, weight=self._standing(engine.n_workers)), belief

    def _go_on_from(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        """A few rounds of the ascent that the last fit ended with."""
        crowd, start = self._starting_point(engine)
        sets = self._sets_for(engine, self._prior_for(engine))
        fit = fit_likelihood(engine, crowd, self._crowd_prior, max_iter=UPDATE_ROUNDS, tol=self.tol, start=start)
        fit = self._weighed(fit, engine.coins)
        # So few rounds need not arrive, and that is no reason to warn: `converged_` stays that of the whole fit.
        self.objective_history_: list[float] = fit.monitor.history
        self.n_iter_: int = len(fit.monitor.history)
        return fit, sets

    def _stays_with(self, engine: Engine) -> bool:
        if not self.warm_start or not may_be_same(self.fitted_to_, engine):
            return False
        votes = engine.block.source if isinstance(engine, InMemory) else None
        names = [(engine.worker_names, self.worker_names_), (engine.label_names, self.label_names_)]
        if votes is not None and self.results_ is not None:
            names.append((votes.item_names, self.item_names_))
        same = all(same_names(*both) for both in names)
        if not same or self.fitted_to_ != fingerprint(engine, self.get_params(), self.vote_worth_):
            return False
        if self._to_judge is not None:  # with the votes that are there: an engine of the last fit may be closed
            _, judge = self._to_judge
            assert isinstance(judge, partial)  # for the type checker: see _judge_of
            judged: Votes | Engine = engine
            if isinstance(engine, InMemory):  # one vote of each worker, as for the fit itself
                engine = _one_vote_each(engine)
                judged = engine.block.source
            self._to_judge = judged, partial(engine.total, *judge.args)
        if votes is None:
            self.results_ = self.item_state_ = None
        elif self.results_ is None:  # the last fit was to packed votes
            there = self.applied_to(votes)
            self.results_, self.item_state_, self._seen = there.results_, there.item_state_, there._seen
        return True

    # -- publishing ----------------------------------------------------------------------------------------------

    def _publish_crowd(self, fit: LikelihoodFit, engine: Engine) -> None:
        """What was learned about workers and groups, the most informative group first, groups of nobody last."""
        crowd, coins, n_votes = fit.crowd, engine.coins, fit.counts.total
        # Groups are compared on the labels as often as they were asked: a label that nobody asks about tells nothing.
        asked = weight_per_code(coins.label, n_votes.yes + n_votes.no, engine.n_labels) + ASKED_FLOOR
        commonality = crowd.commonality
        informativeness = (commonality[0] - commonality[1]) @ (asked / asked.sum())
        # A group that is likeliest for nobody has the rates of a prior: that it looks good says nothing about anybody.
        empty = np.bincount(crowd.member.argmax(axis=1), minlength=len(informativeness)) == 0
        informativeness[empty] = 0.0
        order = np.lexsort((-informativeness, empty))
        positive = np.maximum(informativeness[order], INFORMATIVE_FLOOR)
        rates = coin_rates(crowd, coins, fit.counts)
        weights = positive / positive.sum()
        self._publish_groups(coins, rates, commonality[:, order], weights, crowd.member[:, order])
        self.crowd_ = crowd
        self.worker_cost_: Floats = worker_worth(engine, rates[0])
        self.newcomer_evidence_: Floats = _newcomer_evidence(crowd)


def _one_vote_each(engine: InMemory) -> InMemory:
    """The votes with all samples of a worker on a pair as one vote."""
    return InMemory(engine.block.source.one_per_worker(), engine.block.known)


def _newcomer_evidence(crowd: Crowd) -> Floats:
    """(n_labels, 2) what a no and a yes of a worker without a history are worth: groups by their shares, no votes."""
    n_labels = len(crowd.hit.label)
    label: Codes = np.arange(n_labels, dtype=np.int32)
    coins = Coins(np.zeros(n_labels, np.int32), label, np.empty(0, np.int32))
    nothing = Counts(np.zeros(n_labels), np.zeros(n_labels))
    stranger = replace(crowd, member=crowd.share[None] / crowd.share.sum(), weight=np.ones(1))
    return slot_evidence(coins, stranger, CoinCounts(nothing, nothing)).reshape(n_labels, 2)
