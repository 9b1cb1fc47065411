"""The contract of every consensus model: fit, predict, explain the workers, save."""

from __future__ import annotations

import copy
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Mask
from amcc.consensus.about_items import AboutItems
from amcc.consensus.calibration import Calibration
from amcc.consensus.item_features import ItemPrior, fit_item_prior
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, Learned
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import checked_features
from amcc.consensus.registry import methods_that, register
from amcc.consensus.saving import model_from_file, read_model_file, save_model
from amcc.consensus.settling import ASSUMED, Basis, Settling, measured_settling, support
from amcc.consensus.single_choice import SingleChoice, one_label_each
from amcc.engine.base import Engine, InMemory, coin_keys
from amcc.errors import FileFormatError, ParameterError
from amcc.fields import Arrays, Each, check_in_order
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes

if TYPE_CHECKING:
    import pandas as pd


class ConsensusModel(AboutItems, ABC):
    """Base of all consensus models, with the habits of scikit-learn.

    Constructors only store their arguments. `fit` learns; what is learned ends in an underscore. A model of its own
    says how it learns (`_learn`), how it judges the items of votes by what it learned (`_infer`), which arguments are
    wrong (`_check_params`), and what it is called: `class Mine(ConsensusModel, methods={"mine": {}})`.

    Attributes
    ----------
    worker_names_, label_names_ : pyarrow.Array
        The vocabularies of the votes.
    label_prior_ : (n_labels,) float
        Probability that the label is present, for a pair that nobody was asked about.
    results_ : ItemResults or None
        What is said about items: also as `item_names_`, `pair_proba_` and so on. None after a fit to packed votes.
    settling_ : Settling; settled_basis_ : "measured" or "assumed"
        The rule by which pairs are settled, and whether known truth says that it keeps its promise.
    worker_rates_ : WorkerRates
        What is known about each worker, see `workers`.
    worker_evidence_ : dict from worker code to text
        The evidence against the likely spammers.
    roster_, vote_worth_, families_
        Only with a roster: kinds and families of the workers, how much a vote of each counts, what families share.
    n_iter_, converged_, objective_history_
        How the fit went.
    """

    uses_features: ClassVar[bool] = False
    """Whether `fit` learns from features of the items; a model that does not refuses them."""
    features_are_prior: ClassVar[bool] = False
    """Whether they are a prior that is added to what the model says; others learn from them themselves."""
    features_judge_workers: ClassVar[bool] = False
    """Whether features also change what is said about the workers."""
    takes_sparse: ClassVar[bool] = False
    """Whether sparse features stay sparse; for other models they are spread out."""
    learns_in_blocks: ClassVar[bool] = False
    """Whether votes may be anywhere; a model that does not needs all of them in memory."""

    settling_: Settling = ASSUMED
    calibration_: Annotated[Calibration | None, Each(optional=True)] = None  # how known truth corrects probabilities
    exclusive_: Annotated[SingleChoice | None, Each(optional=True)] = None  # of models that know such labels
    n_iter_: int
    converged_: bool
    objective_history_: list[float]

    def __init_subclass__(cls, methods: Mapping[str, Mapping[str, Any]] | None = None, **options: Any) -> None:
        """Make the class known under the names of `methods`, each with the parameters that it stands for."""
        super().__init_subclass__(**options)
        register(cls, methods or {})

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the votes that it has seen: others have them, or nobody."""
        return {name: value for name, value in vars(self).items() if name != "_seen"}

    # -- what a model says -------------------------------------------------------------------------------------------

    @abstractmethod
    def _check_params(self) -> None:
        """Raise ParameterError for constructor arguments out of range."""

    @abstractmethod
    def _learn(self, engine: Engine) -> Learned:
        """Learn about workers and labels from votes, wherever they are, and set the learned attributes of the model.

        Known truth and features, if any, are with the engine: `learned.in_memory`, `engine.features`.
        """

    @abstractmethod
    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        """Judge the items of votes by what was learned; (n_labels,) `prior` of their labels, `gold` of their pairs."""

    # -- what a model may say ----------------------------------------------------------------------------------------

    def _take_truth(self, votes: Votes, gold: Gold, unseen: Floats) -> None:
        """Learn from known truth how to correct probabilities; `unseen` are those of a fit without it."""

    def _told(self, votes: Votes) -> Mask:
        """(n_pairs,) which pairs are taken from workers who are the reference."""
        return np.zeros(len(votes.pairs), dtype=bool)

    def _proba_held_out(self, votes: Votes, gold: Gold, unseen: Floats) -> Floats:
        """(n_known,) probabilities of the known pairs as they would be, were their truth not known."""
        return unseen[gold.known]

    def _stays_with(self, engine: Engine) -> bool:
        """True if a warm start finds the same votes; results are then kept, or made for the votes that are there."""
        return False

    def _check_learned(self) -> None:
        """Raise ValueError or an error of amcc unless what was loaded fits together."""
        if not len(self.worker_names_) or not len(self.label_names_):
            raise ValueError("there must be a worker and a label.")
        coins = vars(self)
        if "coin_worker_" in coins:
            # New votes are matched by a search among sorted coins: in a damaged file it would find the wrong ones.
            check_in_order(coin_keys(coins["coin_worker_"], coins["coin_label_"], len(self.label_names_)), "coins")

    def check_params(self) -> None:
        """Raise ParameterError for constructor arguments out of range, as `fit` would."""
        self._check_params()

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, votes: Any, features: Any = None, truth: Truth | None = None, roster: Roster | None = None) -> Self:
        """Learn from votes.

        Parameters
        ----------
        votes : Votes, a table that `Votes.from_frame` reads, or an engine over packed votes
            With an engine, everything about workers and labels is learned, and `tables` gives the results by item.
        features : (n_items, n_features), optional
            Descriptions of the items, an array or a sparse matrix of scipy, for models that use them (`uses_features`);
            others refuse them. Rows are in the order of `votes.item_names`; `amcc.read_features` and, for texts,
            `amcc.read_text_features` read them so.
        truth : Truth, optional
            Pairs whose truth is known beforehand. They keep it, and the workers are judged by it.
        roster : Roster, optional
            Who the workers are, for models that use it (`uses_roster`); others refuse it. Votes of workers who share
            errors then count for less, see `amcc.consensus.families`.
        """
        self.check_params()
        if features is not None:
            self.check_uses_features()
        if roster is not None:
            self.check_uses_roster()
        if isinstance(votes, Engine):
            self._check_blocks_suffice(features is None and truth is None and roster is None)
            self._forget_roster()
            engine, gold = votes, Gold.nothing(0)
        else:
            votes = self._as_it_counts(votes)
            gold = Gold.nothing(len(votes.pairs)) if truth is None else Gold(*truth.on_pairs(votes))
            self._take_roster(votes, gold, roster)
            engine = InMemory(votes, gold.signs, checked_features(features, votes, sparse=self.takes_sparse))
        if engine.features is None and self.item_prior_ is None and self._stays_with(engine):
            return self
        # Before anything is learned from the truth: only such probabilities can be compared with it.
        unseen = self._proba_without_truth(votes, engine.features) if gold.known.any() else None
        self.calibration_ = None  # truth of an earlier fit must not correct this one
        learned = self._learn_or_go_on(engine)
        self._truth_told = gold.signs
        self._judges_by_features = self.features_judge_workers and engine.features is not None
        self.worker_names_: pa.Array = engine.worker_names
        self.label_names_: pa.Array = engine.label_names
        self.label_prior_: Floats = learned.label
        if engine is votes:
            self.settling_, self.results_, self.item_state_ = ASSUMED, None, None
            self._to_judge = engine, learned.judge
        else:
            self._publish_items(votes, engine.features, gold, unseen, learned)
            self._to_judge = votes.one_per_worker(), learned.judge
        return self

    def _publish_items(self, votes: Votes, features: Any, gold: Gold, unseen: Floats | None, learned: Learned) -> None:
        """Results by item, and what known truth says about how far they can be trusted."""
        self._seen = weakref.ref(votes)
        self._take_truth(votes, gold, np.empty(0) if unseen is None else unseen)
        found = learned.items or self._infer(votes, learned.label, gold)
        prior = None
        if self.features_are_prior and features is not None:
            proba = np.where(gold.known, gold.present, found.pair)
            prior = fit_item_prior(votes, proba, learned.label, features)
        if unseen is None:
            self.settling_ = ASSUMED
        else:
            self.settling_ = self._measured_settling(votes, gold, unseen)
        self.results_ = self._as_results(votes, found, learned.label, gold, unseen, prior)
        self.item_state_: Any = found.state

    def _as_results(
        self, votes: Votes, found: Inferred, label: Floats, gold: Gold, unseen: Floats | None, prior: ItemPrior | None
    ) -> ItemResults:
        """What was found about items, with known truth and features written in, and what is settled."""
        pairs = votes.pairs
        proba = found.pair if prior is None else prior.on_pairs(found.pair, pairs.item, pairs.label)
        # Probabilities that are sums of others are put back where rounding carried them above one.
        proba = np.where(gold.known, gold.present, proba)
        np.clip(proba, 0.0, 1.0, out=proba)
        chosen = None
        if exclusive := self._exclusive_for(votes):
            # Once more after whatever changed probabilities pair by pair: known truth and features did.
            proba, chosen = one_label_each(votes, proba, exclusive.group, gold.signs)
        answered = np.bincount(pairs.item, minlength=votes.n_items) > 0
        settled = gold.known | self._settled(votes, proba, unseen)
        told = gold.known | self._told(votes)  # the one place that decides it: files, scores and audits take it
        of_labels = (votes.label_names, label)
        results = ItemResults(votes.item_names, answered, *of_labels, pairs.item, pairs.label, proba, settled, told)
        known = None if unseen is None else gold.known
        return replace(results, pair_known=known, pair_unseen=unseen, item_prior=prior, chosen=chosen)

    def _exclusive_for(self, votes: Votes) -> SingleChoice | None:
        """Which labels of these votes exclude each other; None where none do."""
        if not self.exclusive_:
            return None
        return self.exclusive_.known_to(votes, self.worker_names_, self.label_names_)

    def _proba_without_truth(self, votes: Votes, features: Floats | None) -> Floats:
        """(n_pairs,) probabilities by a model of the same kind that is told no truth."""
        return type(self)(**self.get_params()).fit(votes, features, roster=self._roster).pair_proba_

    def _settled(self, votes: Votes, proba: Floats, unseen: Floats | None) -> Mask:
        """(n_pairs,) which pairs are settled: never on the votes of one declared family alone."""
        seats = self.seats_for(votes)
        done = self.settling_.of_votes(votes, proba, seats)
        if self.settling_.basis == "assumed" and unseen is not None:
            # Truth that is too scarce to measure by may correct probabilities, but makes no pair sure by itself.
            done &= self.settling_.of_votes(votes, unseen, seats)
        return done

    def _measured_settling(self, votes: Votes, gold: Gold, unseen: Floats) -> Settling:
        """How sure the model must be to settle a pair: as known truth says, where there is enough of it."""
        known = np.flatnonzero(gold.known)
        held_out = self._proba_held_out(votes, gold, unseen)
        n_yes, n_votes, families = support(votes, unseen, self.seats_for(votes))
        behind = None if families is None else families[known]
        of_known = n_yes[known], n_votes[known], gold.present[known], votes.pairs.item[known]
        return measured_settling(held_out, *of_known, behind)

    def _learn_or_go_on(self, engine: Engine) -> Learned:
        """Learn, from where an interrupted fit stopped if there is a checkpoint; if this one stops, save its state."""
        checkpoint = engine.checkpoint
        if checkpoint is None:
            return self._learn(engine)
        n_coins = len(engine.coins)
        sizes = {"worker": engine.n_workers, "label": engine.n_labels, "coin": n_coins, "slot": 2 * n_coins}
        checkpoint.begin(f"{self!r} on {engine.identity}", sizes)
        try:
            learned = self._learn(engine)
        except BaseException:
            checkpoint.flush()
            raise
        checkpoint.remove()
        return learned

    def _publish(self, monitor: Monitor) -> None:
        """Say how the fit went, and warn where it did not converge."""
        monitor.warn_unless_converged(type(self).__name__)
        self.objective_history_, self.n_iter_ = monitor.history, len(monitor.history)
        self.converged_ = monitor.converged

    def _as_it_counts(self, votes: Any) -> Votes:
        """Votes as the model can take them: with one vote of each worker on a pair unless it weighs samples."""
        counted = votes if isinstance(votes, Votes) else Votes.from_frame(votes)
        return counted if self.uses_roster else counted.one_per_worker()

    def check_uses_features(self, *, of_workers: bool = False) -> None:
        """Raise ParameterError, with the models that do, where features of items would be ignored.

        of_workers : they are to change what is said about workers, not only about items.
        """

        def used(model: type[ConsensusModel]) -> bool:
            return model.features_judge_workers if of_workers else model.uses_features

        if not used(type(self)):
            raise ParameterError(
                f"{type(self).__name__} does not use features of items{' to judge workers' * of_workers}. Leave them "
                f"out, or use a model that does: {', '.join(methods_that(used))}."
            )

    def _check_blocks_suffice(self, votes_only: bool) -> None:
        """Raise ParameterError where votes that are not in memory are not enough."""
        if not votes_only:
            raise ParameterError(
                "features, known truth and a roster of workers need votes in memory; leave them out, or read the votes."
            )
        if not self.learns_in_blocks:
            able = ", ".join(methods_that(lambda model: model.learns_in_blocks))
            raise ParameterError(
                f"{self!r} needs its votes in memory; read them with amcc.read_votes, or use a model that does not: "
                f"{able}."
            )

    # -- answering ---------------------------------------------------------------------------------------------------

    @property
    def settled_basis_(self) -> Basis:
        """Whether what is settled rests on known truth ("measured") or on experience with other crowds ("assumed")."""
        self.check_fitted()
        return self.settling_.basis

    def applied_to(self, votes: Any) -> Self:
        """The same model, with results for the items of other votes, judged by the workers as learned.

        A worker who was not there counts as an average one. What features said about items is kept for those among
        them.
        """
        self.check_fitted()
        votes = self._as_it_counts(votes)
        label = new_code(votes.label_names, self.label_names_)
        prior, nothing = known_or_mean(self.label_prior_, label), Gold.nothing(len(votes.pairs))
        features = None
        if self.results_ is not None and self.results_.item_prior is not None:
            features = self.results_.item_prior.known_to(new_code(votes.item_names, self.results_.item_names), label)
        model = copy.copy(self)
        model._seen = weakref.ref(votes)
        found = self._infer(votes, prior, nothing)
        model.results_ = self._as_results(votes, found, prior, nothing, None, features)
        model.item_state_ = found.state
        return model

    def fit_predict(self, votes: Any, **given: Any) -> pd.Series[Any]:
        """Fit with what `fit` takes; a pandas Series of label lists by item, named `agg_label` as in crowd-kit."""
        return self.fit(votes, **given).labels_

    def fit_predict_proba(self, votes: Any, **given: Any) -> pd.DataFrame:
        """Fit with what `fit` takes, and give a pandas frame of probabilities, items × labels."""
        return self.fit(votes, **given).probas_

    @property
    def reference_sentence_(self) -> str:
        """Who the reference is, and how much they had to say; empty where there is none, see `AMCC`."""
        return ""

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file of plain arrays and text, safe to open (there is no pickle in it)."""
        self.check_fitted()
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` wrote; `amcc.load_model` finds the class by itself."""
        meta, arrays = read_model_file(path)
        if meta["model"] != cls.__name__:
            raise FileFormatError(f"{path} holds a {meta['model']}, not a {cls.__name__}; use amcc.load_model.")
        return cls.from_file(Path(path), meta, arrays)

    @classmethod
    def from_file(cls, path: Path, meta: Mapping[str, Any], arrays: Arrays) -> Self:
        """The model that a file holds, once every field of it was checked."""
        return model_from_file(cls, path, meta, arrays)
