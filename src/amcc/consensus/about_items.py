"""What a model says about items: probabilities, label sets and tables, of whatever votes it was last applied to."""

from __future__ import annotations

import copy
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, Mask, weight_per_code
from amcc.consensus.about_workers import AboutWorkers
from amcc.consensus.item_features import ItemPrior
from amcc.consensus.item_results import ItemResults, block_tables, check_all_pairs, pair_reader, pair_table, set_table
from amcc.consensus.parameters import check_at_least_one
from amcc.consensus.settling import SettledCounts
from amcc.decode import Rule, check_rule
from amcc.engine.base import Engine, as_engine
from amcc.errors import NotFittedError, ParameterError
from amcc.fields import Each
from amcc.tables import Frame, as_frame, card
from amcc.truth import Truth
from amcc.votes import Votes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class AboutItems(AboutWorkers):
    """The part of a model that is about items; it only reads what `fit` or `applied_to` left in `results_`."""

    results_: Annotated[ItemResults | None, Each(optional=True)] = None
    item_state_: Annotated[Any, Each(optional=True)] = None  # of models that predict pairs that nobody was asked about

    _seen: weakref.ref[Votes] | None = None  # the votes of the pairs, while somebody still has them

    @abstractmethod
    def applied_to(self, votes: Any) -> Self:
        """The same model, with results for the items of other votes."""

    def _unasked(self, found: ItemResults) -> Floats:
        """(n_items, n_labels) probabilities of pairs that nobody was asked about; others are written over these."""
        return self._unasked_of(found, np.arange(len(found.label_names)))

    def _unasked_of(self, found: ItemResults, labels: Ints) -> Floats:
        """(n_items, len(labels)) the same for some labels."""
        return np.tile(found.label_prior[labels], (len(found.item_names), 1))

    def _expected_labels(self, found: ItemResults) -> Ints | None:
        """Labels that may be more likely present than absent where nobody was asked; None where all labels may."""
        if self.item_state_ is not None or found.item_prior is not None:
            return None
        return np.flatnonzero(found.label_prior > 0.5)

    def _repr_html_(self) -> str:
        """For notebooks: what was learned from what, at a glance; nothing is computed for it."""
        if not hasattr(self, "label_prior_"):
            return card(repr(self), {"not fitted yet": "call fit(votes)"})
        sizes = {"workers": f"{len(self.worker_names_):,}", "labels": f"{len(self.label_names_):,}"}
        if (found := self.results_) is None:
            return card(repr(self), sizes | {"items": "not kept, see tables(engine)"})
        settled, asked = int(found.pair_settled.sum()), len(found.pair_settled)
        facts = {"items": f"{len(found.item_names):,}", "settled": f"{settled:,} of {asked:,} asked pairs"}
        return card(repr(self), sizes | facts | {"more": "sets(), pairs(), workers(), plot_workers()"})

    # -- results -----------------------------------------------------------------------------------------------------

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
    def settled_counts_(self) -> SettledCounts:
        """Of the asked pairs called present, and of those called absent: how many there are, and are settled."""
        found = self.item_results()
        return SettledCounts.of(found.likely, found.pair_settled)

    @property
    def pair_told_(self) -> Mask:
        """(n_pairs,) what `fit` was told, and did not find out; nothing may be measured by these pairs."""
        return self.item_results().pair_told

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

    def expected_unasked(self) -> tuple[Ints, Ints] | None:
        """Items and labels that nobody was asked about and that are expected all the same; None where any may be.

        Only for labels that may be: among a million labels these are few, and a table of all does not fit.
        """
        found = self.item_results()
        labels = self._expected_labels(found)
        if labels is None:
            return None
        check_all_pairs(len(found.item_names), len(labels))
        expected = self._unasked_of(found, labels) > 0.5
        column = np.full(len(found.label_names), -1)
        column[labels] = np.arange(len(labels))
        asked = column[found.pair_label] >= 0
        expected[found.pair_item[asked], column[found.pair_label[asked]]] = False
        if found.chosen is not None:
            expected &= ~found.ruled_out(labels)
        item, place = np.nonzero(expected)
        return item, labels[place]

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
        if votes is not None:
            return self.applied_to(votes).predict_proba()
        found = self.item_results()
        check_all_pairs(len(found.item_names), len(found.label_names))
        proba = self._unasked(found)
        proba = proba if found.item_prior is None else found.item_prior.on_all(proba)
        if found.chosen is not None:
            proba[found.ruled_out(np.arange(len(found.label_names)))] = 0.0
        proba[found.pair_item, found.pair_label] = found.pair_proba
        return np.clip(proba, 0.0, 1.0, out=proba)

    def predict(self, votes: Any | None = None, *, decode: Rule = "threshold", k: int | None = None) -> Mask:
        """(n_items, n_labels) indicator of the label sets.

        By default the labels more likely present than absent; `decode` names another rule of `amcc.decode`, "top_k"
        with the number `k` of labels per item. Of labels that exclude each other, an item gets the likeliest.
        """
        if votes is not None:
            return self.applied_to(votes).predict(decode=decode, k=k)
        return self.item_results().decode(self.predict_proba(), decode, k)

    def pair_present(self, *, decode: Rule = "threshold", k: int | None = None) -> Mask:
        """(n_pairs,) whether the label of each asked pair is in its item's set, see `predict`."""
        found = self.item_results()
        check_rule(decode, k)
        if decode == "threshold":  # needs nothing but the pair itself
            return found.likely
        return self.predict(decode=decode, k=k)[found.pair_item, found.pair_label]

    def pairs(
        self, *, all_labels: bool = False, decode: Rule = "threshold", k: int | None = None,
        disagreement: bool = False, soft: bool = False, votes: Any | None = None, frame: Frame = "pandas",
    ) -> Any:  # fmt: skip
        """Table item, label, probability, present, settled: the asked pairs, or with `all_labels` every pair.

        present is 1 for the labels of the item's set, see `predict`; settled is 1 where more answers are hardly needed,
        see `settling_`. Where `fit` was told something, told is 1 for the pairs of `pair_told_`: `amcc.evaluate` and
        `amcc.audit.audit` leave them out.

        With `disagreement`, a column of that name says why people disagree, see `amcc.consensus.disagreement`. With
        `soft`, the column soft is the share of competent people who would say yes, between soft_low and soft_high with
        a probability of 95 %, see `amcc.consensus.soft_labels`. Both look at the votes again: give the `votes` of these
        items where they were not kept.
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
        """Table item, labels: one row per item with the list of its labels, see `predict`.

        Where `fit` was told something, told_labels lists the labels of which it was told whether the item has them.
        """
        return as_frame(set_table(self, decode=decode, k=k), frame)

    def items_per_label(self) -> Floats:
        """(n_labels,) expected number of items with each label.

        Pairs that nobody was asked about count with the prior of their label: not asked is not "no".
        """
        found, n_labels = self.item_results(), len(self.item_results().label_names)
        asked = np.bincount(found.pair_label, minlength=n_labels)
        among_asked = weight_per_code(found.pair_label, found.pair_proba, n_labels)
        return np.asarray(among_asked + found.label_prior * (len(found.item_names) - asked))

    def plot_labels(self, votes: Votes | None = None, *, most: int = 30, ax: Axes | None = None) -> Axes:
        """Draw how frequent the labels are: bars by the model, ticks by the share of yes among the votes.

        A tick far from its bar shows where the model corrects the crowd. See `plot_workers` for `ax`.

        votes : for the ticks; those of the last fit, where somebody still has them, unless they are given.
        most : at most so many labels, the most frequent.
        """
        from amcc.consensus import plots

        check_at_least_one("most", most)
        seen = None if self._seen is None else self._seen()
        return plots.plot_labels(self, seen if votes is None else votes, most, ax)

    def plot_calibration(self, truth: Truth, ax: Axes | None = None) -> Axes:
        """Draw how often the label was there, against the probability that the model gave it; see `plot_workers`.

        Points on the dashed line are as often true as the model says; larger ones are more pairs. Asked pairs count,
        but for those whose truth `fit` was told: the model is sure of them.
        """
        from amcc.consensus import plots

        return plots.plot_calibration(self, truth, ax)

    def label_correlations(self) -> Floats:
        """(n_labels, n_labels) correlation of labels over items, by the probabilities."""
        proba = self.predict_proba()
        spread = np.maximum(proba.std(axis=0), 1e-9)  # a label that is everywhere the same correlates with nothing
        deviation = (proba - proba.mean(axis=0)) / spread
        return np.asarray(np.clip(deviation.T @ deviation / max(len(proba), 1), -1.0, 1.0))

    # -- as crowd-kit's aggregators ----------------------------------------------------------------------------------

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
