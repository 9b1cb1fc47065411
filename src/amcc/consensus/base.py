"""The contract of every consensus model: fit, predict, explain the workers, save."""

from __future__ import annotations

import copy
import inspect
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, NoReturn, Self, get_args, get_origin

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, issparse

from amcc.arrays import Codes, Floats, Mask, Signs
from amcc.consensus.families import (
    Families,
    describe_families,
    effective_counts,
    families_behind,
    samples_per_pair,
    shared_errors,
)
from amcc.consensus.item_features import ItemPrior, fit_item_prior
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.pair_columns import PairReader, learn_reader, sample_of
from amcc.consensus.rounds import count_votes
from amcc.consensus.settling import ASSUMED, Basis, Settling, measured
from amcc.consensus.soft_labels import competence
from amcc.consensus.workers import WorkerRates, spam_evidence, worker_rates
from amcc.decode import Rule, check_rule
from amcc.decode import decode as decode_sets
from amcc.engine.base import NOTHING_KNOWN, Block, Engine, as_engine
from amcc.errors import AmccError, ConvergenceWarning, FileFormatError, NotFittedError, ParameterError
from amcc.fields import Arrays, Each, Stored, fits, hints_of, read_fields, take_apart, write_fields
from amcc.linalg import first_not_finite
from amcc.memory import check_size
from amcc.passes import CERTAIN, Judgement
from amcc.roster import HUMAN, Roster, Seats
from amcc.tables import Frame, as_frame
from amcc.truth import Truth
from amcc.votes import Votes

if TYPE_CHECKING:
    import pandas as pd


FORMAT_VERSION = 3
"""Of saved models. Before 3, votes were read in other ways, and who the workers are was not known. Before 2, names with
zeros at their end came back without them, and what is settled was not kept."""
RATES, FAMILIES = "worker_rates", "families"

PREDICTION_BYTES = 32
"""What a pair of an item and a label takes while it is predicted: its probability, what that was made of, its rank."""


@dataclass(frozen=True)
class Posterior:
    """What a model says about pairs.

    pair : (n_pairs,) probability that the label is present, for the asked pairs of the votes.
    label : (n_labels,) the same for a pair that nobody was asked about.
    judge : called when somebody asks about the workers, judges every vote by the others, see `passes.others_pass`.
    """

    pair: Floats
    label: Floats
    judge: Callable[[], Judgement]


class Learned(NamedTuple):
    """What a model learned that is not about items: `label` and `judge` as in `Posterior`."""

    label: Floats
    judge: Callable[[], Judgement]


@dataclass(frozen=True)
class Gold:
    """Known truth on the asked pairs: (n_pairs,) what is true, and where that is known."""

    present: Mask
    known: Mask

    @property
    def signs(self) -> Signs:
        """(n_pairs,) +1 present, −1 absent, 0 not known; empty where nothing is known."""
        if not self.known.any():
            return NOTHING_KNOWN
        return np.where(self.known, np.where(self.present, 1, -1), 0).astype(np.int8)

    def log_odds(self, otherwise: Floats, certain: float = CERTAIN) -> Floats:
        """Certain log-odds where truth is known (large, yet finite: sums and exponentials stay numbers)."""
        if not self.known.any():
            return otherwise
        return np.where(self.known, np.where(self.present, certain, -certain), otherwise)


class Monitor:
    """Follows the objective and the largest change of a probability, and says when a model may stop."""

    def __init__(self, tol: float, max_iter: int, history: Iterable[float] = (), change: float = np.inf) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.history = list(history)
        self.change = change

    @property
    def converged(self) -> bool:
        """Whether the last change was small enough."""
        return self.change < self.tol

    def rounds(self) -> Iterator[int]:
        """Count rounds until converged or out of patience, from those that are already in the history."""
        for number in range(len(self.history), self.max_iter):
            if self.converged:
                return
            yield number

    def report(self, objective: float, change: float) -> None:
        """Record one round."""
        self.history.append(objective)
        self.change = change

    def warn_unless_converged(self, model: str) -> None:
        """Tell the user when the estimates had not settled."""
        if not self.converged:
            warnings.warn(
                f"{model} stopped after {self.max_iter} iterations, last change {self.change:.1e} > "
                f"tol={self.tol:.1e}; raise max_iter or look at objective_history_.",
                ConvergenceWarning,
                stacklevel=4,
            )


class ConsensusModel(ABC):
    """Base of all consensus models, with the habits of scikit-learn.

    Constructors only store their arguments. `fit` learns; what is learned ends in an underscore.

    Attributes
    ----------
    item_names_, worker_names_, label_names_ : pyarrow.Array
        The vocabularies of the votes.
    pair_item_, pair_label_ : (n_pairs,) int32
        The (item, label) pairs that anybody was asked about.
    pair_proba_ : (n_pairs,) float
        Probability that the label is present.
    pair_settled_ : (n_pairs,) bool
        Where more answers are hardly needed: truth is known, or see `settled`.
    settling_ : Settling; settled_basis_ : "measured" or "assumed"
        The rule by which pairs are settled, and whether known truth says that it keeps its promise.
    pair_known_ : (n_pairs,) bool; pair_unseen_ : (n_pairs,) float
        Where truth is known, and the probabilities of a fit without it; only where `fit` was given some.
    label_prior_ : (n_labels,) float
        The same for pairs that nobody was asked about.
    item_answered_ : (n_items,) bool
        False where nobody answered, so that all there is are the priors.
    item_prior_ : ItemPrior
        What features say about the items, and how far it is trusted; only where a model takes them as a prior.
    worker_rates_ : WorkerRates
        What is known about each worker, see `workers`.
    worker_evidence_ : dict from worker code to text
        What speaks against the likely spammers.
    roster_, vote_worth_, families_
        Only with a roster: kinds and families of the workers, how much a vote of each counts, what families share.
    n_iter_, converged_, objective_history_
        The course of the fit.
    """

    uses_features: ClassVar[bool] = False
    """Whether `fit` learns from features of the items; a model that does not refuses them."""
    features_judge_workers: ClassVar[bool] = False
    """Whether features also change what is said about the workers."""
    takes_sparse: ClassVar[bool] = False
    """Whether sparse features stay sparse; for other models they are spread out."""

    # What saved models are checked by when they are loaded, here and in every model: `amcc.fields`.
    item_names_: pa.Array
    worker_names_: pa.Array
    label_names_: pa.Array
    pair_item_: Annotated[Codes, Each("pair", code="item")]
    pair_label_: Annotated[Codes, Each("pair", code="label")]
    pair_proba_: Annotated[Floats, Each("pair", share=True)]
    pair_settled_: Annotated[Mask, Each("pair")]
    pair_known_: Annotated[Mask, Each("pair", optional=True)]
    pair_unseen_: Annotated[Floats, Each("pair", share=True, optional=True)]
    settling_: Annotated[Settling, Each(optional=True)] = ASSUMED  # older files do not have it
    label_prior_: Annotated[Floats, Each("label", share=True)]
    item_answered_: Annotated[Mask, Each("item")]
    item_prior_: Annotated[ItemPrior, Each(optional=True)]
    n_iter_: int
    converged_: bool
    objective_history_: list[float]
    roster_: Annotated[Seats, Each(optional=True)]
    vote_worth_: Annotated[Floats, Each("worker", least=0, optional=True)]
    _roster: Roster | None = None
    _families: Families | Callable[[], Families]
    _to_judge: tuple[Votes | Engine, Callable[[], Judgement]] | None
    _judged: tuple[WorkerRates, dict[int, str]]
    _seen: weakref.ref[Votes] | None = None  # the votes of the pairs, while somebody still has them

    # scikit-learn's BaseEstimator would bring these two methods and 1.4 s of imports to every command.
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, as scikit-learn's `clone` wants them."""
        return {
            name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"
        }

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise ParameterError for constructor arguments out of range; `fit` asks this first."""
        self._check_params()

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {name: value for name, value in self.get_params().items() if value != defaults[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the votes that it has seen: others have them, or nobody."""
        return {name: value for name, value in vars(self).items() if name != "_seen"}

    # -- learning ----------------------------------------------------------------------------------------------

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
        self._check_params()
        if features is not None:
            self.check_uses_features()
        if workers is not None:
            self.check_uses_roster()
        if isinstance(votes, Engine):
            return self._fit_engine(votes, features, truth, workers)
        votes = self._as_it_counts(votes)
        self._seen = weakref.ref(votes)
        present, known = truth.on_pairs(votes) if truth is not None else (np.zeros(len(votes.pairs), dtype=bool),) * 2
        described, gold = checked_features(features, votes, sparse=self.takes_sparse), Gold(present, known)
        self._take_roster(votes, gold, workers)
        if described is None and not hasattr(self, "item_prior_") and self._stays_with(votes, gold):
            return self
        self._forget_truth()
        if known.any():  # before anything is learned from it: only such probabilities can be compared with it
            self.pair_unseen_, self.pair_known_ = self._proba_without_truth(votes, described), known
        posterior = self._fit(votes, described, gold)
        self.item_names_, self.worker_names_, self.label_names_ = (
            votes.item_names,
            votes.worker_names,
            votes.label_names,
        )
        self.pair_item_, self.pair_label_ = votes.pairs.item, votes.pairs.label
        self.pair_proba_ = _rounded_in(np.where(known, present, posterior.pair))
        self.settling_ = self._learn_settling(votes, gold)
        self.pair_settled_ = known | self._settled(votes)
        self.label_prior_ = posterior.label
        self.item_answered_ = np.bincount(votes.pairs.item, minlength=votes.n_items) > 0
        self._to_judge = votes.one_per_worker(), posterior.judge
        return self

    def _forget_truth(self) -> None:
        for name in ("pair_known_", "pair_unseen_"):
            vars(self).pop(name, None)

    def _proba_without_truth(self, votes: Votes, features: Floats | None) -> Floats:
        """(n_pairs,) probabilities by a model of the same kind that is told no truth."""
        return type(self)(**self.get_params()).fit(votes, features, workers=self._roster).pair_proba_

    def _settled(self, votes: Votes) -> Mask:
        """(n_pairs,) which of the model's pairs are settled: never on the votes of one declared family alone."""
        counts, seats = effective_counts(votes, self.weights_for(votes)), self._seats_for(votes)
        behind = None if seats is None else families_behind(votes, seats, self.pair_proba_)
        done = self.settling_.of(self.pair_proba_, *counts, behind)
        if self.settling_.basis == "assumed" and hasattr(self, "pair_unseen_"):
            # Truth that is too scarce to measure by may correct probabilities, but makes no pair sure by itself.
            done &= self.settling_.of(self.pair_unseen_, *counts)
        return done

    def _learn_settling(self, votes: Votes, gold: Gold) -> Settling:
        """How sure the model must be to settle a pair: as known truth says, where there is enough of it."""
        known = np.flatnonzero(gold.known)
        if not len(known):
            return self._assumed_settling()
        held_out = self._proba_held_out(votes, gold)
        n_yes, n_votes = (each[known] for each in effective_counts(votes, self._vote_weight))
        return measured(
            held_out, n_yes, n_votes, gold.present[known], votes.pairs.item[known], self._assumed_settling()
        )

    def _assumed_settling(self) -> Settling:
        """How sure the model must be where no truth is known."""
        return ASSUMED

    def _proba_held_out(self, votes: Votes, gold: Gold) -> Floats:
        """(n_known,) probabilities of the known pairs as they would be, were their truth not known."""
        return self.pair_unseen_[gold.known]

    @property
    def settled_basis_(self) -> Basis:
        """Whether what is settled rests on known truth ("measured") or on experience with other crowds ("assumed")."""
        self._check_fitted(items=False)
        return self.settling_.basis

    def check_uses_features(self, *, of_workers: bool = False) -> None:
        """Raise ParameterError, with the models that do, where features of items would be ignored.

        of_workers : they are to change what is said about workers, not only about items.
        """
        from amcc.consensus import METHODS  # where all models are known

        def used(model: ConsensusModel) -> bool:
            return model.features_judge_workers if of_workers else model.uses_features

        if used(self):
            return
        made = {name: make() for name, make in METHODS.items()}
        users = [f"{type(model).__name__} (-m {name})" for name, model in made.items() if used(model)]
        purpose = " to judge workers" if of_workers else ""
        raise ParameterError(
            f"{type(self).__name__} does not use features of items{purpose}. Leave them out, or use a model that does: "
            f"{', '.join(users)}."
        )

    def _with_item_prior(self, posterior: Posterior, votes: Votes, features: Floats | None, gold: Gold) -> Posterior:
        """For a model that takes features as a prior: what they add to what it says by the votes."""
        vars(self).pop("item_prior_", None)
        if features is None:
            return posterior
        proba = np.where(gold.known, gold.present, posterior.pair)
        self.item_prior_ = fit_item_prior(votes, proba, posterior.label, features)
        pairs = votes.pairs
        return replace(posterior, pair=self.item_prior_.on_pairs(posterior.pair, pairs.item, pairs.label))

    def _item_prior_of(self, votes: Votes) -> ItemPrior | None:
        """What features said about those items of new votes that were there; None without features."""
        if not hasattr(self, "item_prior_"):
            return None
        codes = new_code(votes.item_names, self.item_names_), new_code(votes.label_names, self.label_names_)
        return self.item_prior_.known_to(*codes)

    @property
    def uses_roster(self) -> bool:
        """Whether `fit` lets votes of workers who share errors count for less; a model that does not refuses a roster.

        Only such a model can weigh several samples of one worker; for others, their majority is one vote.
        """
        return False

    def _as_it_counts(self, votes: Any) -> Votes:
        """Votes as the model can take them: with one vote of each worker on a pair unless it weighs samples."""
        counted: Votes = as_votes(votes)
        return counted if self.uses_roster else counted.one_per_worker()

    def check_uses_roster(self) -> None:
        """Raise ParameterError where a roster would be ignored."""
        if not self.uses_roster:
            raise ParameterError(
                f"{self!r} does not use kinds and families of workers. Leave the workers file out, or use AMCC() "
                "(-m amcc)."
            )

    def _take_roster(self, votes: Votes, gold: Gold, roster: Roster | None) -> None:
        """Learn from the roster what votes are worth; repeated votes of one worker count as one in any case."""
        for name in OF_ROSTER:
            vars(self).pop(name, None)
        self._roster = roster
        if roster is not None:
            self.roster_ = roster.seats(votes.worker_names)
            sharing = shared_errors(votes, self.roster_, gold.present, gold.known)
            self.vote_worth_ = sharing.weight
            self._families = partial(describe_families, votes, self.roster_, sharing)
        elif (samples := samples_per_pair(votes)).max(initial=1.0) > 1:
            self.vote_worth_ = 1 / samples

    @property
    def _vote_weight(self) -> Floats | None:
        """(n_workers,) how much a vote of each worker counts; None where all count fully."""
        return getattr(self, "vote_worth_", None)

    def _seats_for(self, votes: Votes) -> Seats | None:
        """Kinds and families of the workers of these votes; newcomers are people without a family. None: no roster."""
        if not self.has_roster:
            return None
        code = new_code(votes.worker_names, self.worker_names_)
        kind = np.where(code >= 0, self.roster_.kind[code], HUMAN).astype(np.int8)
        return Seats(
            kind, np.where(code >= 0, self.roster_.family[code], -1).astype(np.int32), self.roster_.family_names
        )

    def weights_for(self, votes: Votes) -> Floats | None:
        """The same for workers of other votes; newcomers count fully."""
        if self._vote_weight is None:
            return None
        code = new_code(votes.worker_names, self.worker_names_)
        return np.where(code >= 0, self._vote_weight[code], 1.0)

    def _fit_engine(self, engine: Engine, features: Any, truth: Truth | None, workers: Roster | None) -> Self:
        if features is not None or truth is not None or workers is not None:
            raise ParameterError(
                "features, known truth and a roster of workers need votes in memory; leave them out, or read the votes."
            )
        for name in (*OF_ITEMS, *OF_ROSTER):
            vars(self).pop(name, None)
        if self._stays_with(engine, None):
            return self
        label, judge = self._learn_or_go_on(engine)
        self.settling_ = self._assumed_settling()
        self.worker_names_, self.label_names_, self.label_prior_ = engine.worker_names, engine.label_names, label
        self._to_judge = engine, judge
        return self

    def _stays_with(self, votes: Votes | Engine, gold: Gold | None) -> bool:
        """Whether a model that goes on from its last fit finds nothing new, and has left all that it says as it is."""
        return False

    def _learn_or_go_on(self, engine: Engine) -> Learned:
        """Learn, from where an interrupted fit stopped if there is a checkpoint; whatever stops this one, note it."""
        checkpoint = engine.checkpoint
        if checkpoint is None:
            return self._learn_from(engine)
        n_coins = len(engine.coins)
        sizes = {"worker": engine.n_workers, "label": engine.n_labels, "coin": n_coins, "slot": 2 * n_coins}
        checkpoint.begin(f"{self!r} on {engine.identity}", sizes)
        try:
            learned = self._learn_from(engine)
        except BaseException:
            checkpoint.flush()
            raise
        checkpoint.remove()
        return learned

    def _learn_from(self, engine: Engine) -> Learned:
        """Estimate everything that is not about items, wherever the votes are."""
        return self._refuse_blocks()

    def _refuse_blocks(self) -> NoReturn:
        raise ParameterError(
            f"{self!r} needs its votes in memory; read them with amcc.read_votes, or use AMCC, DawidSkene or "
            "MajorityVote (command line: -m amcc, dawid-skene or majority)."
        )

    @abstractmethod
    def _fit(self, votes: Votes, features: Floats | None, gold: Gold) -> Posterior:
        """Estimate everything, set the learned attributes of the model, and return its posterior."""

    @abstractmethod
    def _infer(self, votes: Votes, prior: Floats) -> Floats:
        """(n_pairs,) probabilities of the asked pairs of new votes, whose labels have these priors."""

    @abstractmethod
    def _check_params(self) -> None:
        """Raise ParameterError for constructor arguments out of range."""

    # -- answering ---------------------------------------------------------------------------------------------

    def applied_to(self, votes: Votes) -> Self:
        """The same model, with results for the items of other votes, judged by the workers as learned."""
        self._check_fitted(items=False)
        votes = self._as_it_counts(votes)
        model = copy.copy(self)
        model._seen = weakref.ref(votes)
        for name in OF_ITEMS:
            vars(model).pop(name, None)
        model.item_names_ = votes.item_names
        model.pair_item_, model.pair_label_ = votes.pairs.item, votes.pairs.label
        prior = known_or_mean(self.label_prior_, new_code(votes.label_names, self.label_names_))
        model.pair_proba_ = _rounded_in(self._infer(votes, prior))
        if (known := self._item_prior_of(votes)) is not None:
            model.item_prior_ = known
            model.pair_proba_ = known.on_pairs(model.pair_proba_, votes.pairs.item, votes.pairs.label)
        model.pair_settled_ = model._settled(votes)
        model.item_answered_ = np.bincount(votes.pairs.item, minlength=votes.n_items) > 0
        return model

    def tables(
        self, engine: Engine, *, sets: bool = False, all_labels: bool = False, decode: Rule = "threshold",
        k: int | None = None, disagreement: bool = False, soft: bool = False, frame: Frame = "pandas",
    ) -> Iterator[Any]:  # fmt: skip
        """What `pairs`, or with `sets` the method of that name, says about the items of an engine, block by block."""
        self._check_fitted(items=False)
        if sets and (disagreement or soft):
            raise ParameterError("disagreement and soft are about pairs; leave them out, or sets.")
        reader = self._pair_reader(engine, disagreement, soft) if disagreement or soft else None
        model = copy.copy(self)
        model._to_judge = None  # stays here
        options = {"decode": decode, "k": k, **({} if sets else {"all_labels": all_labels, "reader": reader})}
        tables = engine.each(table_of, model, "sets" if sets else "_pairs", options)
        return (as_frame(table, frame) for table in tables)

    def predict_proba(self, votes: Any | None = None) -> Floats:
        """(n_items, n_labels) probability that each label is present.

        Without `votes`, for the items of `fit`. With them, for their items, judged by the workers as learned: a
        worker who was not there counts as an average one. What features said about items is kept for those among them.
        """
        self._check_fitted(items=votes is None)
        votes = None if votes is None else self._as_it_counts(votes)
        named = (self.item_names_, self.label_names_) if votes is None else (votes.item_names, votes.label_names)
        check_all_pairs(*map(len, named))
        if votes is None:
            item, label = self.pair_item_, self.pair_label_
            pair, prior, n_items = self.pair_proba_, self.label_prior_, len(self.item_names_)
            described = getattr(self, "item_prior_", None)
        else:
            item, label, n_items = votes.pairs.item, votes.pairs.label, votes.n_items
            prior = known_or_mean(self.label_prior_, new_code(votes.label_names, self.label_names_))
            pair, described = self._infer(votes, prior), self._item_prior_of(votes)
            pair = pair if described is None else described.on_pairs(pair, item, label)
        proba = self._unasked(votes, prior, n_items)
        proba = proba if described is None else described.on_all(proba)
        proba[item, label] = pair
        return _rounded_in(proba)

    def _unasked(self, votes: Votes | None, prior: Floats, n_items: int) -> Floats:
        """(n_items, n_labels) pairs that nobody was asked about; without `votes`, those of the fitted items."""
        return np.tile(prior, (n_items, 1))

    @property
    def _foresees(self) -> bool:
        """Whether `_unasked` says more than the labels' priors."""
        return False

    def predict(self, votes: Any | None = None, *, decode: Rule = "threshold", k: int | None = None) -> Mask:
        """(n_items, n_labels) indicator of the label sets.

        By default the labels more likely present than absent; `decode` names another rule of `amcc.decode`, "top_k"
        with the number `k` of labels per item.
        """
        return decode_sets(self.predict_proba(votes), decode, k)

    def fit_predict(self, votes: Any, features: Any = None, truth: Truth | None = None) -> pd.Series[Any]:
        """Fit, and give a pandas Series of label lists by item, named `agg_label` as in crowd-kit."""
        return self.fit(votes, features, truth).labels_

    def fit_predict_proba(self, votes: Any, features: Any = None, truth: Truth | None = None) -> pd.DataFrame:
        """Fit, and give a pandas frame of probabilities, items × labels."""
        return self.fit(votes, features, truth).probas_

    def pair_present(self, *, decode: Rule = "threshold", k: int | None = None) -> Mask:
        """(n_pairs,) whether the label of each asked pair is in its item's set, see `predict`."""
        self._check_fitted()
        check_rule(decode, k)
        if decode == "threshold":  # needs nothing but the pair itself
            return self.pair_proba_ > 0.5
        return self.predict(decode=decode, k=k)[self.pair_item_, self.pair_label_]

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
        self._check_fitted()
        if not (disagreement or soft):
            return self._pairs(all_labels=all_labels, decode=decode, k=k, frame=frame)
        votes = self._votes_of_pairs(votes)
        reader = self._pair_reader(as_engine(votes), disagreement, soft, self.pair_proba_)
        return self._pairs(all_labels=all_labels, decode=decode, k=k, frame=frame, reader=reader, votes=votes)

    def _votes_of_pairs(self, given: Any | None) -> Votes:
        """The votes of the pairs in memory: those given, or else those of the last fit."""
        votes = self._seen() if given is None and self._seen is not None else None if given is None else as_votes(given)
        if votes is None:
            raise ParameterError(
                "disagreement and soft labels are seen in the votes, which this model does not keep; give them: "
                "pairs(votes=votes, …)."
            )
        if not (
            np.array_equal(self.pair_item_, votes.pairs.item) and np.array_equal(self.pair_label_, votes.pairs.label)
        ):
            raise ParameterError(
                f"votes must be those of the model's {len(self.pair_item_)} (item, label) pairs; {votes!r} are others. "
                "Use applied_to(votes) for other votes."
            )
        return votes

    def _pair_reader(self, engine: Engine, disagreement: bool, soft: bool, own: Floats | None = None) -> PairReader:
        """What the columns disagreement and soft are read off with; `own` are probabilities of the engine's pairs."""
        items, sample = sample_of(engine)
        proba = self.applied_to(sample).pair_proba_ if own is None else own[np.isin(self.pair_item_, items)]
        weight = None
        if soft:
            weight = known_or_mean(competence(self.worker_rates_), new_code(engine.worker_names, self.worker_names_))
        return learn_reader(engine, items, sample, proba, weight, disagreement=disagreement)

    def _pairs(
        self, *, all_labels: bool, decode: Rule, k: int | None, frame: Frame,
        reader: PairReader | None = None, votes: Votes | None = None, first_item: int = 0,
    ) -> Any:  # fmt: skip
        """The table of `pairs`, with the columns that a reader reads off the votes."""
        more = {} if reader is None or votes is None else reader.columns(votes, self.pair_proba_, first_item)
        if all_labels:
            n_items, n_labels = len(self.item_names_), len(self.label_names_)
            item, label = np.divmod(np.arange(n_items * n_labels), n_labels)
            matrix = self.predict_proba()
            proba, present = matrix.ravel(), decode_sets(matrix, decode, k).ravel()
            done = np.zeros(n_items * n_labels, dtype=bool)
            asked = self.pair_item_.astype(np.int64) * n_labels + self.pair_label_
            done[asked] = self.pair_settled_
            more = {} if reader is None else reader.all_columns(more, asked, n_items)
        else:
            item, label, proba, done = self.pair_item_, self.pair_label_, self.pair_proba_, self.pair_settled_
            present = self.pair_present(decode=decode, k=k)
        table = pa.table(
            {
                "item": self.item_names_.take(pa.array(item)),
                "label": self.label_names_.take(pa.array(label)),
                "probability": proba,
                "present": present.astype(np.int8),
                "settled": done.astype(np.int8),
                **more,
            }
        )
        return as_frame(table, frame)

    def sets(self, *, decode: Rule = "threshold", k: int | None = None, frame: Frame = "pandas") -> Any:
        """Table item, labels: one row per item with the list of its labels, see `predict`."""
        self._check_fitted()
        expected = self._foresees or hasattr(self, "item_prior_") or (self.label_prior_ > 0.5).any()
        if decode == "threshold" and not expected:
            present = self.pair_present(decode=decode, k=k)
            item, label = self.pair_item_[present], self.pair_label_[present]
        else:  # labels may be expected where nobody was asked
            rows, columns = np.nonzero(self.predict(decode=decode, k=k))
            item, label = rows.astype(np.int32), columns.astype(np.int32)
        start = np.append(0, np.cumsum(np.bincount(item, minlength=len(self.item_names_))))
        lists = pa.LargeListArray.from_arrays(pa.array(start, pa.int64()), self.label_names_.take(pa.array(label)))
        return as_frame(pa.table({"item": self.item_names_, "labels": lists}), frame)

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

        index = pd.Index(self.item_names_.to_pylist(), name="item")
        return pd.DataFrame(self.predict_proba(), index=index, columns=self.label_names_.to_pylist())

    @property
    def skills_(self) -> pd.Series[Any]:
        """Informativeness by worker."""
        import pandas as pd

        index = pd.Index(self.worker_names_.to_pylist(), name="worker")
        return pd.Series(self.worker_rates_.informativeness, index=index, name="skill")

    def workers(self, frame: Frame = "pandas") -> Any:
        """One row per worker.

        worker, answers; hit_rate and false_alarm_rate with the bounds of their 95 % intervals, compared within
        labels; informativeness = hit_rate − false_alarm_rate, 0 for a spammer and 1 for an oracle; group and weight,
        empty for models without groups; with a roster kind, family, and vote_worth, how much of a vote counts beside
        those of others who share errors; evidence, for likely spammers what in their answers shows it.
        """
        self._check_fitted(items=False)
        table = self.worker_rates_.table(self.worker_names_)
        groups, weights = self._groups()
        table = table.append_column("group", pa.array(groups, pa.int32(), mask=groups < 0))
        table = table.append_column("weight", pa.array(weights, mask=np.isnan(weights)))
        if self.has_roster:
            table = table.append_column("kind", self.roster_.kinds()).append_column("family", self.roster_.families())
            table = table.append_column("vote_worth", pa.array(self.vote_worth_))
        evidence = [self.worker_evidence_.get(worker, "") for worker in range(len(table))]
        table = table.append_column("evidence", pa.array(evidence, pa.string()))
        return as_frame(table, frame)

    def families(self, frame: Frame = "pandas") -> Any:
        """One row per family of two or more, and one for all models, if `fit` was given a roster.

        family, kind, members, votes, votes_per_pair; correlation of the errors of two members; effective_votes, how
        many independent votes theirs on a pair are worth; null_low and null_high, the range that independent workers
        of the same skill would show.
        """
        return as_frame(self.families_.table(), frame)

    @property
    def families_(self) -> Families:
        """What families share; computed when it is first asked for."""
        self._check_fitted(items=False)
        if not self.has_roster:
            raise NotFittedError("families are known where fit was given a roster: fit(votes, workers=roster).")
        if not isinstance(self._families, Families):
            self._families = self._families()
        return self._families

    @property
    def has_roster(self) -> bool:
        """Whether `fit` was told who the workers are."""
        return hasattr(self, "roster_")

    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) expected hit and false-alarm rates of every worker, for choosing whom to ask.

        Here those of the worker on all labels; models that tell labels apart say more.
        """
        rates, n_labels = self.worker_rates_, len(self.label_names_)
        hit, false_alarm = (np.repeat(each[:, None], n_labels, 1) for each in (rates.hit_rate, rates.false_alarm_rate))
        return hit, false_alarm

    def settled_params(self) -> dict[str, Any] | None:
        """Parameters by which a new model of this kind takes over what this one chose by trying; none here.

        None where the votes were too few to choose by: the next model has to choose for itself.
        """
        return {}

    def label_correlations(self) -> Floats:
        """(n_labels, n_labels) correlation of labels over items, by the probabilities."""
        proba = self.predict_proba()
        spread = np.maximum(proba.std(axis=0), 1e-9)
        deviation = (proba - proba.mean(axis=0)) / spread
        return np.asarray(np.clip(deviation.T @ deviation / max(len(proba), 1), -1.0, 1.0))

    @property
    def worker_rates_(self) -> WorkerRates:
        """What is known about each worker; computed when it is first asked for."""
        return self._judgement()[0]

    @property
    def worker_evidence_(self) -> dict[int, str]:
        """What speaks against the likely spammers, by worker code; computed together with the rates."""
        return self._judgement()[1]

    def _judgement(self) -> tuple[WorkerRates, dict[int, str]]:
        self._check_fitted(items=False)
        if self._to_judge is not None:
            votes, judge = self._to_judge
            judgement, counted = judge(), as_engine(votes).total(count_votes)
            rates = worker_rates(votes, judgement, counted)
            self._judged = rates, spam_evidence(votes, judgement, rates, counted)
            self._to_judge = None  # lets go of the votes
        return self._judged

    def _groups(self) -> tuple[Codes, Floats]:
        """Group (−1: none) and weight (NaN: none) of each worker."""
        n_workers = len(self.worker_names_)
        return np.full(n_workers, -1, np.int32), np.full(n_workers, np.nan)

    def _check_fitted(self, *, items: bool = True) -> None:
        if not hasattr(self, "label_prior_"):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet; call fit(votes) first.")
        if items and not hasattr(self, "pair_proba_"):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted to packed votes and holds no results by item; get them with "
                "tables(engine), or for votes in memory with applied_to(votes)."
            )

    # -- keeping -----------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file of plain arrays and text, safe to open (there is no pickle in it)."""
        self._check_fitted(items=False)
        arrays: Arrays = {}
        plain: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name.endswith("_"):
                take_apart(value, name, arrays, plain)
        take_apart(self.worker_rates_, RATES, arrays, plain)
        if self.has_roster:
            take_apart(self.families_, FAMILIES, arrays, plain)
        meta = {"format": FORMAT_VERSION, "model": type(self).__name__, "params": self.get_params(), "plain": plain}
        write_fields(Path(path), {**meta, "evidence": self.worker_evidence_}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` wrote; `amcc.load_model` finds the class by itself."""
        meta, arrays = read_model_file(path)
        if meta["model"] != cls.__name__:
            raise FileFormatError(f"{path} holds a {meta['model']}, not a {cls.__name__}; use amcc.load_model.")
        return cls.from_file(Path(path), meta, arrays)

    @classmethod
    def from_file(cls, path: Path, meta: Mapping[str, Any], arrays: Arrays) -> Self:
        """The model that `read_model_file` found there, once every field of it was checked."""
        stored = Stored(path, arrays, meta.get("plain"))
        model = cls._with_params(meta.get("params"), stored)
        model._take_learned(stored)
        rates = stored.rebuilt(WorkerRates, RATES)
        if model.has_roster:
            model._families = stored.rebuilt(Families, FAMILIES)
        stored.refuse_unknown()
        model._to_judge, model._judged = None, (rates, _checked_evidence(meta.get("evidence"), stored))
        return model

    @classmethod
    def _with_params(cls, params: Any, stored: Stored) -> Self:
        """A model with the parameters of a file."""
        wanted = cls().get_params()
        if not isinstance(params, dict) or set(params) != set(wanted):
            stored.wrong("params", f"must hold {', '.join(wanted)}")
        model = cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in params.items()})
        kinds = hints_of(cls.__init__)
        for name, value in params.items():
            if not (value is None or fits(value, kinds[name])):
                stored.wrong(f"params.{name}", f"must be {kinds[name]}; it is {value!r}")
        try:
            model._check_params()
        except (AmccError, TypeError, ValueError, AttributeError) as error:  # text where a number belongs, and so on
            stored.wrong("params", f"cannot be: {error}")
        return model

    def _take_learned(self, stored: Stored) -> None:
        """Set the learned attributes that the file holds, and no others."""
        hints = {name: hint for name, hint in hints_of(type(self)).items() if name.endswith("_")}
        of_items = not stored.roots.isdisjoint(OF_ITEMS)
        for name in sorted(hints, key=lambda name: not name.endswith("_names_")):  # all other sizes follow from names
            if self._is_learned(hints[name], name in stored.roots, name not in OF_ITEMS or of_items):
                setattr(self, name, value := stored.rebuilt(hints[name], name))
                if name.endswith("_names_"):
                    stored.sizes[name.removesuffix("_names_")] = len(value)
        try:
            self._check_learned()
        except (AmccError, ValueError) as error:
            raise FileFormatError(f"{stored.path} is damaged, or amcc did not write it: {error}") from None

    def _is_learned(self, hint: Any, stored: bool, expected: bool) -> bool:
        """Whether an attribute must be in the file of this model, or may be and is."""
        rule = get_args(hint)[1] if get_origin(hint) is Annotated else Each()
        if rule.only is not None:
            return bool(getattr(self, rule.only[0]) == rule.only[1])
        return stored if rule.optional else expected

    def _check_learned(self) -> None:
        """Raise ValueError or an error of amcc unless what was loaded fits together."""
        if not len(self.worker_names_) or not len(self.label_names_):
            raise ValueError("there must be a worker and a label.")
        for item, label in (("pair_item_", "pair_label_"), ("coin_worker_", "coin_label_")):
            if hasattr(self, item):
                key = getattr(self, item).astype(np.int64) * len(self.label_names_) + getattr(self, label)
                if not len(key) or (np.diff(key) <= 0).any():
                    raise ValueError(f"fields {item!r} and {label!r} must be in order, each combination once.")


OF_ROSTER = ("roster_", "vote_worth_", "_families")
"""Learned attributes that only fits with a roster have."""

OF_ITEMS = (
    "item_names_", "pair_item_", "pair_label_", "pair_proba_", "pair_settled_", "item_answered_", "item_prior_",
    "pair_known_", "pair_unseen_",
)  # fmt: skip
"""Learned attributes that only fits in memory have."""


def table_of(
    block: Block, model: ConsensusModel, kind: Literal["_pairs", "sets"], options: Mapping[str, Any]
) -> pa.Table:
    """The model's table of this kind for the items of the block."""
    votes = block.votes(names=True)
    place = {"votes": votes, "first_item": block.first_item} if kind == "_pairs" else {}
    table: pa.Table = getattr(model.applied_to(votes), kind)(**options, **place, frame="arrow")
    return table


def check_all_pairs(n_items: int, n_labels: int) -> None:
    """Raise TooLargeError where the probabilities of all items and labels would not fit in memory."""
    check_size(
        "a table of all items and labels",
        "Only the asked pairs are possible: pairs() (command line: without --sets, --all-labels and --decode).",
        n_items,
        n_labels,
        cell_bytes=PREDICTION_BYTES,
    )


def check_rounds(max_iter: int, tol: float) -> None:
    """Raise ParameterError where a fit could not start or could not stop."""
    check_at_least_one("max_iter", max_iter)
    if not tol > 0:
        raise ParameterError(f"tol must be positive; got {tol!r}.")


def check_positive(name: str, value: float) -> None:
    """Refuse zero, negative and endless numbers."""
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be a positive number; got {value!r}.")


def check_at_least_one(name: str, value: int) -> None:
    """Refuse counts below one."""
    if value < 1:
        raise ParameterError(f"{name} must be at least 1; got {value!r}.")


def read_model_file(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """Description and arrays of a saved model, not yet checked beyond its format."""
    meta, arrays = read_fields(Path(path), "a model saved by amcc")
    version = meta.get("format")
    if version != FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has format {version}; this amcc reads format {FORMAT_VERSION}. Fit and save again."
        )
    if not isinstance(meta.get("model"), str):
        raise FileFormatError(f"{path} is damaged, or amcc did not write it: field 'model' must be a name.")
    return meta, arrays


def _checked_evidence(evidence: Any, stored: Stored) -> dict[int, str]:
    """Sentences by worker code, from JSON, whose keys are text."""
    codes = {str(code) for code in range(stored.sizes["worker"])} if evidence else set()
    if not isinstance(evidence, dict) or not all(
        worker in codes and isinstance(text, str) for worker, text in evidence.items()
    ):
        stored.wrong("evidence", "must hold sentences by worker code")
    return {int(worker): text for worker, text in evidence.items()}


def as_votes(data: Any) -> Votes:
    """Votes as they are, tables read by `Votes.from_frame`."""
    return data if isinstance(data, Votes) else Votes.from_frame(data)


def _rounded_in(proba: Floats) -> Floats:
    """Probabilities that are sums of others, put back where rounding carried them above one."""
    return np.clip(proba, 0.0, 1.0, out=proba)


def checked_features(features: Any, votes: Votes, *, sparse: bool = False) -> Any:
    """Features as numbers, of which every item must have a row; `sparse` where a sparse matrix may stay one."""
    if features is None:
        return None
    if issparse(features) and not sparse:
        check_size("features without their sparse form", "Take fewer features, or AMCC.", *features.shape)
        features = features.toarray()
    try:
        matrix = csr_array(features, dtype=np.float64) if issparse(features) else np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"features must be a table of numbers, one row per item ({error}).") from None
    if matrix.ndim != 2 or matrix.shape[0] != votes.n_items:
        raise ParameterError(f"features must have one row per item ({votes.n_items}); got shape {matrix.shape}.")
    if (wrong := first_not_finite(matrix)) is not None:
        row, column = wrong
        raise ParameterError(f"features must be finite; row {row}, column {column} holds {matrix[row, column]}.")
    return matrix
