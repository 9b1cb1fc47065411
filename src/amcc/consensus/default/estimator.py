"""AMCC: consensus from groups of workers, their individuality, and label correlation. The probability model.

This file is the pipeline; each step has a file of its own, with its reason and its settings (docs/method.md):

    start       `likelihood`   groups apart, all workers in all of them; presence by sharpened shares of yes
    coins       `likelihood`   groups, rates of workers, presence of labels
    kinds       `correlation`  which labels come together
    trust       `trust`        are votes independent beyond doubt, and do labels inform each other?
    degrees     `degrees`      how many people would say yes
    pool        `pool`         three readings with fixed weights
    exclusive   `exclusive`    one label where labels exclude each other
    reference   `reference`    what people would say, where people and models vote
    truth       `calibration`  known truth corrects probabilities
    settling    `settling`     which pairs need no more votes

`answering.py` says what was learned about any votes, `warm_start.py` when little has to be learned again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from amcc.arrays import Codes, Floats, Mask, weight_per_code
from amcc.consensus.calibration import Calibration, fit_calibration
from amcc.consensus.default.answering import STEPS, LearnedCrowd
from amcc.consensus.default.coins import Counts
from amcc.consensus.default.correlation import LabelSets, learn_label_sets
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
from amcc.consensus.default.exclusive import Groups, learn_exclusive, named_groups
from amcc.consensus.default.likelihood import START_SHARPNESS, LikelihoodFit, fit_likelihood
from amcc.consensus.default.presence import expected_share_of_yes, presence_at
from amcc.consensus.default.reference import (
    NOBODY,
    Reference,
    check_reference,
    learn_reference,
    members_of,
    say_of,
    sentence,
)
from amcc.consensus.default.settings import Settings, settings_with
from amcc.consensus.default.trust import Trust, ask_votes
from amcc.consensus.default.warm_start import UPDATE_ROUNDS, few_are_new, fingerprint, may_be_same, same_names
from amcc.consensus.learned import Gold, Learned
from amcc.consensus.matching import new_code
from amcc.consensus.parameters import check_at_least_one, check_rounds, check_seed
from amcc.consensus.rounds import judge_votes
from amcc.consensus.signature import signatures
from amcc.consensus.single_choice import SingleChoice
from amcc.consensus.workers import worker_rates
from amcc.consensus.worth import worker_worth
from amcc.engine.base import Engine, InMemory
from amcc.errors import ParameterError
from amcc.passes import Belief
from amcc.special import logit
from amcc.votes import Coins, Votes

# When the ascent has arrived: probabilities move by less, root mean square. With a quarter of it, no score of a board
# changes by more than .001, and fits take up to three times as long.
TOL = 2e-3
# Rounds of a fit to a sample: it only serves to ask the votes, and need not be exact.
SAMPLE_ROUNDS = 40
# Votes added to each label where groups are weighed by what was asked, so that no votes at all divide by something.
ASKED_FLOOR = 1e-9
# Informativeness of a group that has none, so that weights stay positive.
INFORMATIVE_FLOOR = 1e-6


class AMCC(LearnedCrowd, methods={"amcc": {}}):
    """Active Multi-Label Crowd Consensus: the default, for any crowd.

    Workers belong to groups. A worker's hit and false-alarm rate on a label is what their group usually does
    (commonality) and what only they do (individuality), the latter held back where they have few answers. Votes are
    read in three ways, and none of them is sure: by these rates, by how many people would say yes, and by plain counts.
    The three are pooled with fixed weights, with what other labels of the item say as far as that helps. Where votes
    are independent beyond doubt, the rates alone are believed. Known truth corrects the result.

    The paper's own objective is another model, `amcc.consensus.models.paper.PaperAMCC`.

    Parameters
    ----------
    n_groups : int, optional
        Groups of workers; 5 unless given, and 10 where workers answer on many labels (`crowd.usual_groups`). More than
        the data need do no harm: they stay empty or alike.
    without : names of steps
        Parts to switch off, for comparison: "start", "individuality", "coins", "counts", "degrees",
        "independence", "correlation", "families", "calibration", "reference", "exclusive".
    reference : names of workers, optional
        Whose view counts where a roster says who the workers are: the others are calibrated to what they said. Unless
        it is given, those that the roster marks, and if it marks none, people where there are models too; "none" for
        nobody.
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
        Draws the sample of items by which large data answer questions.
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
    trust_ : dict
        How far the votes are believed to be independent, and labels to inform each other, from 0 to 1.
    exclusive_ : SingleChoice
        Which labels exclude each other, and on what grounds.
    kind_presence_ : (2,)
        What pairs that the rates call absent and present count for where readings are pooled.
    calibration_ : Calibration
        How known truth corrected the probabilities; only where `fit` was given some.
    objective_history_ : list of float
        The bound, which rises at every round.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> AMCC().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    uses_roster = learns_in_blocks = True
    _say: Floats | None = None

    def __init__(
        self,
        *,
        n_groups: int | None = None,
        without: Collection[str] = (),
        reference: Reference = None,
        settings: Mapping[str, float] | None = None,
        exclusive: Groups = None,
        max_iter: int = 200,
        tol: float = TOL,
        random_state: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_groups = n_groups
        self.without = without
        self.reference = reference
        self.settings = settings
        self.exclusive = exclusive
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.warm_start = warm_start

    def _check_params(self) -> None:
        if self.n_groups is not None:
            check_at_least_one("n_groups", self.n_groups)
        if isinstance(self.without, str) or not all(step in STEPS for step in self.without):
            raise ParameterError(f"without must be a list of steps, of {', '.join(STEPS)}; got {self.without!r}.")
        if {"coins", "counts", "degrees"} <= set(self.without):
            raise ParameterError("without must leave one reading of coins, counts and degrees; got all three.")
        check_reference(self.reference)
        check_rounds(self.max_iter, self.tol)
        check_seed(self.random_state)
        settings_with(self.settings)
        named_groups(self.exclusive)

    # -- learning ------------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        self.fitted_to_: str = ""  # until the fit is done: an interrupted one must not pass for it
        members = self._reference_members(engine)  # first: a name that is wrong is told before the fit, not after it
        asked, engine, before = engine, _one_vote_each(engine), self.settings_
        self.settings_: Settings = settings_with(self.settings)
        self.exclusive_: SingleChoice = learn_exclusive(
            asked, False if "exclusive" in self.without else self.exclusive, self.vote_worth_
        )
        few_new = self._goes_on and before == self.settings_ and few_are_new(self.n_votes_, engine.n_votes)
        fit, sets = self._go_on_from(engine) if few_new else self._learn_from_scratch(engine)
        counted = fit.counts.total
        n_votes = weight_per_code(engine.coins.worker, counted.yes + counted.no, engine.n_workers)
        attentive = fit.crowd.attentive(n_votes)
        self.kind_presence_: Floats = kinds_as_present(fit, attentive[engine.coins.worker], self.settings_)
        self._learn_degrees(engine, attentive, few_new=few_new)
        self._publish_crowd(fit, engine)
        self.set_share_: Floats = sets.share
        self.set_frequency_: Floats = sets.frequency
        # That of a whole vote: what a vote teaches about workers is less where their family repeats it.
        evidence = fit.evidence / _per_slot(fit.crowd.weight, engine.coins)
        self.coin_evidence_: Floats = evidence.reshape(-1, 2)
        self.fitted_to_ = fingerprint(asked, self.get_params(), self.vote_worth_)
        if self.vote_worth_ is not None:  # one vote stands for all samples of a worker
            evidence = evidence * _per_slot(self.vote_worth_ * self._samples, engine.coins)
        judge = partial(engine.total, judge_votes, evidence, fit.prior)
        self._say = None
        if members.any() and isinstance(engine, InMemory):
            self._say = say_of(members, worker_rates(engine.block.source, judge()))
        return Learned(fit.frequency, judge)

    def _reference_members(self, votes: Votes | Engine) -> Mask:
        """(n_workers,) who is the reference."""
        if self.roster_ is not None and "reference" not in self.without:
            return members_of(self.reference, self.roster_, votes.worker_names)
        if self.roster_ is None and self.reference not in (None, NOBODY):
            raise ParameterError(
                f"reference={self.reference!r} needs a workers file that says who people and models are: "
                "fit(votes, roster=roster) (command line: --workers workers.csv)."
            )
        return np.zeros(votes.n_workers, dtype=bool)

    @property
    def reference_sentence_(self) -> str:
        """Who the reference is and how much they had to say, in words; empty where there is none."""
        if self.roster_ is None or "reference" in self.without:
            return ""
        members = members_of(self.reference, self.roster_, self.worker_names_)
        return sentence(self.reference_, members, self.roster_, self.worker_names_)

    def _learn_from_scratch(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        """A whole fit."""
        lot = signatures(engine, self.random_state).uniform
        crowd, start = self._starting_point(engine)
        fit = self._fitted_coins(engine, crowd, start, self.max_iter, self.tol)
        self._publish(fit.monitor)
        sets = learn_label_sets(engine, fit, lot, self.settings_)
        trust = engine.recall("trust", Trust)
        if trust is None:
            engine.keep("trust", trust := self._asked(engine, lot, fit, sets))
        self.trust_: dict[str, float] = asdict(trust)
        self.n_votes_: int = engine.n_votes
        return fit, sets

    def _fitted_coins(
        self, engine: Engine, crowd: Crowd, start: Belief | None, max_iter: int, tol: float
    ) -> LikelihoodFit:
        sharpness = None if "start" in self.without else START_SHARPNESS
        return fit_likelihood(
            engine, crowd, self._crowd_prior, max_iter=max_iter, tol=tol, start=start, sharpness=sharpness
        )

    def _asked(self, engine: Engine, lot: Floats, fit: LikelihoodFit, sets: LabelSets) -> Trust:
        """What the votes say about the model."""

        def fit_again(part: Votes) -> LikelihoodFit:
            code = new_code(part.worker_names, engine.worker_names), new_code(part.label_names, engine.label_names)
            # Groups are those of the whole fit: what is compared is how well coins predict, not how they are found.
            return self._fitted_coins(InMemory(part), known_to(fit.crowd, *code), None, SAMPLE_ROUNDS, TOL)

        if {"independence", "correlation"} <= set(self.without):
            return Trust()
        found = ask_votes(engine, lot, fit, sets, fit_again, self.settings_)
        return replace(found, **{each: 0.0 for each in ("independence", "correlation") if each in self.without})

    def _learn_degrees(self, engine: Engine, attentive: Floats, *, few_new: bool) -> None:
        """Degrees of the pairs; votes of workers who do not look say nothing."""
        before = getattr(self, "degrees_", None)
        if few_new and before is not None:
            start = before.known_to(*self._learned_codes(engine))
            self.degrees_ = fit_degrees(engine, attentive, self.settings_, start, UPDATE_ROUNDS)
        else:
            self.degrees_ = fit_degrees(engine, attentive, self.settings_)

    def _take_truth(self, votes: Votes, gold: Gold, unseen: Floats) -> None:
        """What the others mean by the reference, and how known truth corrects the result.

        Compared with the truth are probabilities of a fit that has not seen it.
        """
        self.reference_ = None
        if self._say is not None:
            others = self._others(votes, self.label_prior_, self._say > 0)
            self.reference_ = learn_reference(self._say, votes, others, self._spreads)
        if "calibration" not in self.without and gold.known.any():
            known = np.flatnonzero(gold.known)
            self.calibration_: Calibration | None = fit_calibration(
                unseen[known], votes.pairs.label[known], gold.present[known], votes.n_labels, self._spreads
            )

    def _first_crowd(self, votes: Votes | Engine) -> Crowd:
        n_groups = self.n_groups or usual_groups(votes.coins)
        return start_crowd(votes.n_workers, votes.n_labels, n_groups, self._crowd_prior, self._teaches)

    @property
    def _weighs_families(self) -> bool:
        return "families" not in self.without

    @property
    def _teaches(self) -> Floats | None:
        """(n_workers,) how much a vote of each worker teaches about workers; None where all votes do alike."""
        return None if self._sharing is None else self._sharing.apart

    @property
    def _crowd_prior(self) -> CrowdPrior:
        """What is believed of workers before any vote."""
        return crowd_prior(self.settings_, individuality="individuality" not in self.without)

    # -- going on from an earlier fit ----------------------------------------------------------------------------

    @property
    def _goes_on(self) -> bool:
        """Whether there is an earlier fit to go on from, and it is wanted."""
        return self.warm_start and hasattr(self, "crowd_")

    def _starting_point(self, engine: Engine) -> tuple[Crowd, Belief | None]:
        """Where the fit starts: a crowd, and what is believed where shares of yes are not the best there is."""
        if not self._goes_on:
            return self._first_crowd(engine), None
        crowd = known_to(self.crowd_, *self._learned_codes(engine))
        weight = np.ones(engine.n_workers) if self._teaches is None else self._teaches
        evidence = self._evidence_of_coins(engine) * _per_slot(weight, engine.coins)
        return replace(crowd, weight=weight), Belief(evidence, logit(self._prior_for(engine)))

    def _go_on_from(self, engine: Engine) -> tuple[LikelihoodFit, LabelSets]:
        """A few rounds of the ascent that the last fit ended with."""
        crowd, start = self._starting_point(engine)
        sets = self._sets_for(engine, self._prior_for(engine))
        fit = self._fitted_coins(engine, crowd, start, UPDATE_ROUNDS, self.tol)
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
            engine = _one_vote_each(engine)
            if isinstance(engine, InMemory):
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


def kinds_as_present(fit: LikelihoodFit, attentive: Floats, settings: Settings) -> Floats:
    """(2,) probability that absent and present pairs of the coins count as present, see `presence_at`.

    By the share of yes among the votes of those who look; `attentive` (n_coins,) says of each coin whether they do.
    """
    kinds = fit.counts.absent, fit.counts.present
    shares = [expected_share_of_yes(attentive @ each.yes, attentive @ (each.yes + each.no)) for each in kinds]
    return presence_at(np.array(shares), settings)


def _per_slot(weight: Floats, coins: Coins) -> Floats:
    """(n_slots,) the (n_workers,) weight of the worker of each slot."""
    return np.repeat(weight[coins.worker], 2)


def _one_vote_each(engine: Engine) -> Engine:
    """The votes with all samples of a worker on a pair as one vote: a worker is judged by the others."""
    if not isinstance(engine, InMemory) or not engine.block.source.reading.samples:
        return engine
    return InMemory(engine.block.source.one_per_worker(), engine.block.known)


def _newcomer_evidence(crowd: Crowd) -> Floats:
    """(n_labels, 2) what a no and a yes of a worker without a history are worth: groups by their shares, no votes."""
    n_labels = len(crowd.hit.label)
    label: Codes = np.arange(n_labels, dtype=np.int32)
    coins = Coins(np.zeros(n_labels, np.int32), label, np.empty(0, np.int32))
    nothing = Counts(np.zeros(n_labels), np.zeros(n_labels))
    stranger = replace(crowd, member=crowd.share[None] / crowd.share.sum())
    return slot_evidence(coins, stranger, CoinCounts(nothing, nothing)).reshape(n_labels, 2)
