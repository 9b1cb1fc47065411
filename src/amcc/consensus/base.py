"""The contract of every consensus model: fit, predict, explain the workers, save."""

from __future__ import annotations

import copy
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Mask
from amcc.consensus.about_workers import AboutWorkers
from amcc.consensus.families import effective_counts, families_behind
from amcc.consensus.item_features import ItemPrior, fit_item_prior
from amcc.consensus.item_results import (
    ItemResults,
    block_tables,
    check_all_pairs,
    pair_reader,
    pair_table,
    set_table,
)
from amcc.consensus.learned import Gold, Inferred, Learned
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import checked_features
from amcc.consensus.registry import methods_that, register
from amcc.consensus.saving import model_from_file, read_model_file, save_model
from amcc.consensus.settling import ASSUMED, Basis, Settling, measured
from amcc.decode import Rule, check_rule
from amcc.decode import decode as decode_sets
from amcc.engine.base import Engine, InMemory, as_engine
from amcc.errors import FileFormatError, NotFittedError, ParameterError
from amcc.fields import Arrays, Each
from amcc.roster import Roster
from amcc.tables import Frame, as_frame
from amcc.truth import Truth
from amcc.votes import Votes

if TYPE_CHECKING:
    import pandas as pd


class ConsensusModel(AboutWorkers, ABC):
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
    n_iter_: int
    converged_: bool
    objective_history_: list[float]
    results_: Annotated[ItemResults | None, Each(optional=True)] = None
    item_state_: Annotated[Any, Each(optional=True)] = None  # of models that predict pairs that nobody was asked about

    _seen: weakref.ref[Votes] | None = None  # the votes of the pairs, while somebody still has them

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

    def _proba_held_out(self, votes: Votes, gold: Gold, unseen: Floats) -> Floats:
        """(n_known,) probabilities of the known pairs as they would be, were their truth not known."""
        return unseen[gold.known]

    def _assumed_settling(self) -> Settling:
        """How sure the model must be where no truth is known."""
        return ASSUMED

    def _stays_with(self, engine: Engine) -> bool:
        """Whether a model that goes on from its last fit finds nothing new, and has left all that it says as it is."""
        return False

    def _unasked(self, found: ItemResults) -> Floats:
        """(n_items, n_labels) probabilities of pairs that nobody was asked about; others are written over these."""
        return np.tile(found.label_prior, (len(found.item_names), 1))

    def _check_learned(self) -> None:
        """Raise ValueError or an error of amcc unless what was loaded fits together."""
        if not len(self.worker_names_) or not len(self.label_names_):
            raise ValueError("there must be a worker and a label.")

    def check_params(self) -> None:
        """Raise ParameterError for constructor arguments out of range, as `fit` would."""
        self._check_params()

    def settled_params(self) -> dict[str, Any] | None:
        """Parameters by which a new model of this kind takes over what this one chose by trying; none here.

        None where the votes were too few to choose by: the next model has to choose for itself.
        """
        return {}

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, votes: Any, features: Any = None, truth: Truth | None = None, workers: Roster | None = None) -> Self:
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
        workers : Roster, optional
            Who the workers are, for models that use it (`uses_roster`); others refuse it. Votes of workers who share
            errors then count for less, see `amcc.consensus.families`.
        """
        self.check_params()
        if features is not None:
            self.check_uses_features()
        if workers is not None:
            self.check_uses_roster()
        if isinstance(votes, Engine):
            self._check_blocks_suffice(features is None and truth is None and workers is None)
            self.roster_ = self.vote_worth_ = self._families = self._roster = None
            engine, gold = votes, Gold.nothing(0)
        else:
            votes = self._as_it_counts(votes)
            gold = Gold.nothing(len(votes.pairs)) if truth is None else Gold(*truth.on_pairs(votes))
            self._take_roster(votes, gold, workers)
            engine = InMemory(votes, gold.signs, checked_features(features, votes, sparse=self.takes_sparse))
        if engine.features is None and self.item_prior_ is None and self._stays_with(engine):
            return self
        # Before anything is learned from the truth: only such probabilities can be compared with it.
        unseen = self._proba_without_truth(votes, engine.features) if gold.known.any() else None
        learned = self._learn_or_go_on(engine)
        self.worker_names_, self.label_names_ = engine.worker_names, engine.label_names
        self.label_prior_ = learned.label
        if isinstance(engine, InMemory):
            self._publish_items(engine, gold, unseen, learned)
            self._to_judge = votes.one_per_worker(), learned.judge
        else:
            self.settling_, self.results_, self.item_state_ = self._assumed_settling(), None, None
            self._to_judge = engine, learned.judge
        return self

    def _publish_items(self, engine: InMemory, gold: Gold, unseen: Floats | None, learned: Learned) -> None:
        """Results by item, and what known truth says about how far they can be trusted."""
        votes = engine.block.source
        self._seen = weakref.ref(votes)
        self._take_truth(votes, gold, np.empty(0) if unseen is None else unseen)
        found = learned.items or self._infer(votes, learned.label, gold)
        prior = None
        if self.features_are_prior and engine.features is not None:
            proba = np.where(gold.known, gold.present, found.pair)
            prior = fit_item_prior(votes, proba, learned.label, engine.features)
        if unseen is None:
            self.settling_ = self._assumed_settling()
        else:
            self.settling_ = self._measured_settling(votes, gold, unseen)
        self.results_ = self._as_results(votes, found, learned.label, gold, unseen, prior)
        self.item_state_ = found.state

    def _as_results(
        self, votes: Votes, found: Inferred, label: Floats, gold: Gold, unseen: Floats | None, prior: ItemPrior | None
    ) -> ItemResults:
        """What was found about items, with known truth and features written in, and what is settled."""
        pairs = votes.pairs
        proba = found.pair if prior is None else prior.on_pairs(found.pair, pairs.item, pairs.label)
        # Probabilities that are sums of others are put back where rounding carried them above one.
        proba = np.clip(np.where(gold.known, gold.present, proba), 0.0, 1.0)
        answered = np.bincount(pairs.item, minlength=votes.n_items) > 0
        settled = gold.known | self._settled(votes, proba, unseen)
        of_labels = (votes.label_names, label)
        results = ItemResults(votes.item_names, answered, *of_labels, pairs.item, pairs.label, proba, settled)
        known = None if unseen is None else gold.known
        return replace(results, pair_known=known, pair_unseen=unseen, item_prior=prior)

    def _proba_without_truth(self, votes: Votes, features: Floats | None) -> Floats:
        """(n_pairs,) probabilities by a model of the same kind that is told no truth."""
        return type(self)(**self.get_params()).fit(votes, features, workers=self._roster).pair_proba_

    def _settled(self, votes: Votes, proba: Floats, unseen: Floats | None) -> Mask:
        """(n_pairs,) which pairs are settled: never on the votes of one declared family alone."""
        counts, seats = effective_counts(votes, self.weights_for(votes)), self._seats_for(votes)
        behind = None if seats is None else families_behind(votes, seats, proba)
        done = self.settling_.of(proba, *counts, behind)
        if self.settling_.basis == "assumed" and unseen is not None:
            # Truth that is too scarce to measure by may correct probabilities, but makes no pair sure by itself.
            done &= self.settling_.of(unseen, *counts)
        return done

    def _measured_settling(self, votes: Votes, gold: Gold, unseen: Floats) -> Settling:
        """How sure the model must be to settle a pair: as known truth says, where there is enough of it."""
        known = np.flatnonzero(gold.known)
        held_out = self._proba_held_out(votes, gold, unseen)
        n_yes, n_votes = (each[known] for each in effective_counts(votes, self.vote_worth_))
        return measured(
            held_out, n_yes, n_votes, gold.present[known], votes.pairs.item[known], self._assumed_settling()
        )

    def _learn_or_go_on(self, engine: Engine) -> Learned:
        """Learn, from where an interrupted fit stopped if there is a checkpoint; whatever stops this one, note it."""
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
        """Say how the fit went, and warn where it had not settled."""
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

    def item_results(self) -> ItemResults:
        """What is said about items; NotFittedError where nothing is."""
        self.check_fitted()
        if self.results_ is None:
            raise NotFittedError(
                f"this {type(self).__name__} was fitted to packed votes and holds no results by item; get them with "
                "tables(engine), or for votes in memory with applied_to(votes)."
            )
        return self.results_

    @property
    def item_names_(self) -> pa.Array:
        """Names of the items."""
        return self.item_results().item_names

    @property
    def item_answered_(self) -> Mask:
        """(n_items,) False where nobody answered, so that all there is are the priors."""
        return self.item_results().item_answered

    @property
    def pair_item_(self) -> Codes:
        """(n_pairs,) items of the (item, label) pairs that anybody was asked about."""
        return self.item_results().pair_item

    @property
    def pair_label_(self) -> Codes:
        """(n_pairs,) their labels."""
        return self.item_results().pair_label

    @property
    def pair_proba_(self) -> Floats:
        """(n_pairs,) probability that the label is present."""
        return self.item_results().pair_proba

    @property
    def pair_settled_(self) -> Mask:
        """(n_pairs,) where more answers are hardly needed: truth is known, or see `settling_`."""
        return self.item_results().pair_settled

    @property
    def pair_known_(self) -> Mask | None:
        """(n_pairs,) where truth is known; None where `fit` was given none about these pairs."""
        return self.item_results().pair_known

    @property
    def pair_unseen_(self) -> Floats | None:
        """(n_pairs,) probabilities of a fit without known truth; None where `fit` was given none about these pairs."""
        return self.item_results().pair_unseen

    @property
    def item_prior_(self) -> ItemPrior | None:
        """What features say about the items, and how far it is trusted; None without features."""
        return None if self.results_ is None else self.results_.item_prior

    @property
    def expects_unasked(self) -> bool:
        """Whether labels may be expected to be present where nobody was asked."""
        found = self.item_results()
        return self.item_state_ is not None or found.item_prior is not None or bool((found.label_prior > 0.5).any())

    @property
    def settled_basis_(self) -> Basis:
        """Whether what is settled rests on known truth ("measured") or on experience with other crowds ("assumed")."""
        self.check_fitted()
        return self.settling_.basis

    def applied_to(self, votes: Votes) -> Self:
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

    def tables(
        self, engine: Engine, *, sets: bool = False, all_labels: bool = False, decode: Rule = "threshold",
        k: int | None = None, disagreement: bool = False, soft: bool = False, frame: Frame = "pandas",
    ) -> Iterator[Any]:  # fmt: skip
        """What `pairs`, or with `sets` the method of that name, says about the items of an engine, block by block."""
        self.check_fitted()
        if sets and (disagreement or soft):
            raise ParameterError("disagreement and soft are about pairs; leave them out, or sets.")
        reader = pair_reader(self, engine, disagreement, soft) if disagreement or soft else None
        model = copy.copy(self)
        model._to_judge = None  # stays here: it holds votes, and blocks may be in other processes
        options = {"decode": decode, "k": k, **({} if sets else {"all_labels": all_labels, "reader": reader})}
        return (as_frame(table, frame) for table in block_tables(model, engine, sets, options))

    def predict_proba(self, votes: Any | None = None) -> Floats:
        """(n_items, n_labels) probability that each label is present.

        Without `votes`, for the items of `fit`. With them, for their items and labels, see `applied_to`.
        """
        self.check_fitted()
        if votes is not None:
            votes = self._as_it_counts(votes)
            check_all_pairs(votes.n_items, votes.n_labels)
            return self.applied_to(votes).predict_proba()
        found = self.item_results()
        check_all_pairs(len(found.item_names), len(found.label_names))
        proba = self._unasked(found)
        proba = proba if found.item_prior is None else found.item_prior.on_all(proba)
        proba[found.pair_item, found.pair_label] = found.pair_proba
        return np.clip(proba, 0.0, 1.0, out=proba)

    def predict(self, votes: Any | None = None, *, decode: Rule = "threshold", k: int | None = None) -> Mask:
        """(n_items, n_labels) indicator of the label sets.

        By default the labels more likely present than absent; `decode` names another rule of `amcc.decode`, "top_k"
        with the number `k` of labels per item.
        """
        return decode_sets(self.predict_proba(votes), decode, k)

    def pair_present(self, *, decode: Rule = "threshold", k: int | None = None) -> Mask:
        """(n_pairs,) whether the label of each asked pair is in its item's set, see `predict`."""
        found = self.item_results()
        check_rule(decode, k)
        if decode == "threshold":  # needs nothing but the pair itself
            return found.pair_proba > 0.5
        return self.predict(decode=decode, k=k)[found.pair_item, found.pair_label]

    def pairs(
        self, *, all_labels: bool = False, decode: Rule = "threshold", k: int | None = None,
        disagreement: bool = False, soft: bool = False, votes: Any | None = None, frame: Frame = "pandas",
    ) -> Any:  # fmt: skip
        """Table item, label, probability, present, settled: the asked pairs, or with `all_labels` every pair.

        present is 1 for the labels of the item's set, see `predict`; settled is 1 where more answers are hardly needed,
        see `settling_`. With `disagreement`, a column of that name says why people disagree, see
        `amcc.consensus.disagreement`. With `soft`, the column soft is the share of competent people who would say yes,
        between soft_low and soft_high with a probability of 95 %, see `amcc.consensus.soft_labels`. Both look at the
        votes again: give the `votes` of these items where they were not kept.
        """
        found, reader = self.item_results(), None
        if disagreement or soft:
            votes = self._votes_of_pairs(votes)
            found.check_votes(votes)
            reader = pair_reader(self, as_engine(votes), disagreement, soft, found.pair_proba)
        table = pair_table(self, all_labels=all_labels, decode=decode, k=k, reader=reader, votes=votes)
        return as_frame(table, frame)

    def _votes_of_pairs(self, given: Any | None) -> Votes:
        """The votes of the pairs in memory: those given, or else those of the last fit."""
        if given is not None:
            return given if isinstance(given, Votes) else Votes.from_frame(given)
        if self._seen is None or (seen := self._seen()) is None:
            raise ParameterError(
                "disagreement and soft labels are seen in the votes, which this model does not keep; give them: "
                "pairs(votes=votes, …)."
            )
        return seen

    def sets(self, *, decode: Rule = "threshold", k: int | None = None, frame: Frame = "pandas") -> Any:
        """Table item, labels: one row per item with the list of its labels, see `predict`."""
        return as_frame(set_table(self, decode=decode, k=k), frame)

    def label_correlations(self) -> Floats:
        """(n_labels, n_labels) correlation of labels over items, by the probabilities."""
        proba = self.predict_proba()
        spread = np.maximum(proba.std(axis=0), 1e-9)  # a label that is everywhere the same correlates with nothing
        deviation = (proba - proba.mean(axis=0)) / spread
        return np.asarray(np.clip(deviation.T @ deviation / max(len(proba), 1), -1.0, 1.0))

    # -- as crowd-kit's aggregators ----------------------------------------------------------------------------------

    def fit_predict(self, votes: Any, features: Any = None, truth: Truth | None = None) -> pd.Series[Any]:
        """Fit, and give a pandas Series of label lists by item, named `agg_label` as in crowd-kit."""
        return self.fit(votes, features, truth).labels_

    def fit_predict_proba(self, votes: Any, features: Any = None, truth: Truth | None = None) -> pd.DataFrame:
        """Fit, and give a pandas frame of probabilities, items × labels."""
        return self.fit(votes, features, truth).probas_

    @property
    def labels_(self) -> pd.Series[Any]:
        """Label lists by item, as crowd-kit's aggregators give them."""
        import pandas as pd

        table = self.sets(frame="arrow")
        index = pd.Index(table["item"].to_pylist(), name="item")
        return pd.Series(table["labels"].to_pylist(), index=index, name="agg_label", dtype=object)

    @property
    def probas_(self) -> pd.DataFrame:
        """Probabilities, items × labels."""
        import pandas as pd

        found = self.item_results()
        index = pd.Index(found.item_names.to_pylist(), name="item")
        return pd.DataFrame(self.predict_proba(), index=index, columns=found.label_names.to_pylist())

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
