"""What a model says about items: the results of a fit, and the tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, Mask, Signs
from amcc.consensus.item_features import ItemPrior
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.pair_columns import PairReader, learn_reader, sample_of
from amcc.consensus.single_choice import ChosenLabels
from amcc.consensus.soft_labels import competence
from amcc.decode import Rule
from amcc.decode import decode as decode_sets
from amcc.engine.base import Block, Engine
from amcc.errors import ParameterError
from amcc.fields import Each, check_in_order
from amcc.memory import check_size
from amcc.truth import BY_REFERENCE, BY_TRUTH, TOLD, TOLD_LABELS
from amcc.votes import Votes

if TYPE_CHECKING:
    from amcc.consensus.about_items import AboutItems

# What a pair of an item and a label takes while it is predicted: its probability, what that was made of, its rank.
PREDICTION_BYTES = 32


@dataclass(frozen=True)
class ItemResults:
    """What a model says about the items of some votes; a fit to packed votes has none.

    item_names, item_answered : of every item, the name and whether anybody answered; if not, only priors are known.
    label_names, label_prior : of every label of these votes, the name and how likely it is where nobody was asked.
    pair_item, pair_label : the (item, label) pairs that anybody was asked about.
    pair_proba : probability that the label is present.
    pair_settled : where more answers are hardly needed.
    pair_told : what the model was told, and did not find out: nothing may be measured by these pairs.
    pair_known, pair_unseen : where truth is known, and the probabilities of a fit without it; None where there is none.
    item_prior : what features say about the items, where a model takes them as a prior.
    chosen : the label of each choice, where labels exclude each other.
    """

    item_names: Annotated[pa.Array, Each("item")]
    item_answered: Annotated[Mask, Each("item")]
    label_names: Annotated[pa.Array, Each("label of items")]
    label_prior: Annotated[Floats, Each("label of items", share=True)]
    pair_item: Annotated[Codes, Each("pair", code="item")]
    pair_label: Annotated[Codes, Each("pair", code="label of items")]
    pair_proba: Annotated[Floats, Each("pair", share=True)]
    pair_settled: Annotated[Mask, Each("pair")]
    pair_told: Annotated[Mask, Each("pair")]
    pair_known: Annotated[Mask | None, Each("pair")] = None
    pair_unseen: Annotated[Floats | None, Each("pair", share=True)] = None
    item_prior: ItemPrior | None = None
    chosen: ChosenLabels | None = None

    def __post_init__(self) -> None:
        check_in_order(self.pair_keys, "pairs")

    @property
    def pair_keys(self) -> Ints:
        """(n_pairs,) a number for each pair, in rising order: its place in a table of all items and labels."""
        keys = self.pair_item.astype(np.int64)
        keys *= len(self.label_names)  # in place: there are many pairs
        keys += self.pair_label
        return keys

    @property
    def told_by(self) -> Signs:
        """(n_pairs,) by what the model was told: `BY_TRUTH`, `BY_REFERENCE`, or 0 where it was not."""
        told = np.where(self.pair_told, BY_REFERENCE, 0).astype(np.int8)
        return told if self.pair_known is None else np.where(self.pair_known, np.int8(BY_TRUTH), told)

    @property
    def likely(self) -> Mask:
        """(n_pairs,) whether the label is in its item's set: the likeliest of those that exclude each other."""
        likely = self.pair_proba > 0.5
        return likely if self.chosen is None else np.where(self.chosen.pair == 0, likely, self.chosen.pair > 0)

    def decode(self, proba: Floats, rule: Rule, k: int | None) -> Mask:
        """(n_items, n_labels) label sets from the probabilities of all pairs, see `amcc.decode`."""
        if self.chosen is None:
            return decode_sets(proba, rule, k)
        return self.chosen.decode(proba, (self.pair_item, self.pair_label), rule, k)

    def ruled_out(self, labels: Ints) -> Mask:
        """(n_items, len(labels)) pairs of labels that exclude each other where one of the item's labels was chosen."""
        assert self.chosen is not None  # whoever asks has looked
        return self.chosen.rules_out(self.pair_item, len(self.item_names), labels, self.pair_label)

    def check_votes(self, votes: Votes) -> None:
        """Raise ParameterError unless these votes are on the same pairs."""
        same = np.array_equal(self.pair_item, votes.pairs.item) and np.array_equal(self.pair_label, votes.pairs.label)
        if not same:
            raise ParameterError(
                f"votes must be those of the model's {len(self.pair_item)} (item, label) pairs; {votes!r} are others. "
                "Use applied_to(votes) for other votes."
            )


# -- tables ----------------------------------------------------------------------------------------------------------


def pair_table(
    model: AboutItems, *, all_labels: bool, decode: Rule, k: int | None,
    reader: PairReader | None = None, votes: Votes | None = None, first_item: int = 0,
) -> pa.Table:  # fmt: skip
    """The table of `ConsensusModel.pairs`, with the columns that a reader finds in the votes."""
    found = model.item_results()
    more = {} if reader is None or votes is None else reader.columns(votes, found.pair_proba, first_item)
    if all_labels:
        n_items, n_labels = len(found.item_names), len(found.label_names)
        item, label = np.divmod(np.arange(n_items * n_labels), n_labels)
        matrix = model.predict_proba()
        proba, present = matrix.ravel(), found.decode(matrix, decode, k).ravel()
        done = np.zeros(n_items * n_labels, dtype=bool)
        asked = found.pair_keys
        done[asked] = found.pair_settled
        told = np.zeros(n_items * n_labels, dtype=np.int8)
        told[asked] = found.told_by
        more = {} if reader is None else reader.all_columns(more, asked, n_items)
    else:
        item, label, proba, done = found.pair_item, found.pair_label, found.pair_proba, found.pair_settled
        told = found.told_by
        present = model.pair_present(decode=decode, k=k)
    return pa.table(
        {
            "item": found.item_names.take(pa.array(item)),
            "label": found.label_names.take(pa.array(label)),
            "probability": proba,
            "present": present.astype(np.int8),
            "settled": done.astype(np.int8),
            **({TOLD: told} if told.any() else {}),
            **more,
        }
    )


def set_table(model: AboutItems, *, decode: Rule, k: int | None) -> pa.Table:
    """The table of `ConsensusModel.sets`."""
    found = model.item_results()
    unasked = model.expected_unasked() if decode == "threshold" else None
    if unasked is not None:
        present = model.pair_present(decode=decode, k=k)
        item = np.concatenate([found.pair_item[present], unasked[0]]).astype(np.int32)
        label = np.concatenate([found.pair_label[present], unasked[1]]).astype(np.int32)
        if len(unasked[0]):  # asked pairs alone are in order already
            order = np.lexsort((label, item))
            item, label = item[order], label[order]
    else:  # any label may be expected where nobody was asked
        rows, columns = np.nonzero(model.predict(decode=decode, k=k))
        item, label = rows.astype(np.int32), columns.astype(np.int32)
    lists = {"labels": label_lists(found, item, label)}
    if found.pair_told.any():
        lists[TOLD_LABELS] = label_lists(found, found.pair_item[found.pair_told], found.pair_label[found.pair_told])
    return pa.table({"item": found.item_names, **lists})


def label_lists(found: ItemResults, item: Codes, label: Codes) -> pa.Array:
    """The list of labels of each item, by name; pairs are in the order of items."""
    start = np.append(0, np.cumsum(np.bincount(item, minlength=len(found.item_names))))
    return pa.LargeListArray.from_arrays(pa.array(start, pa.int64()), found.label_names.take(pa.array(label)))


def block_table(
    block: Block, model: AboutItems, kind: Literal["pairs", "sets"], options: Mapping[str, Any]
) -> pa.Table:
    """The model's table of this kind for the items of a block."""
    votes = block.votes(names=True)
    here = model.applied_to(votes)
    if kind == "sets":
        return set_table(here, **options)
    return pair_table(here, votes=votes, first_item=block.first_item, **options)


def block_tables(model: AboutItems, engine: Engine, sets: bool, options: Mapping[str, Any]) -> Iterator[pa.Table]:
    """Such tables for all blocks of an engine, in the order of the items."""
    return engine.each(block_table, model, "sets" if sets else "pairs", options)


def pair_reader(
    model: AboutItems, engine: Engine, disagreement: bool, soft: bool, own: Floats | None = None
) -> PairReader:
    """How to find the columns disagreement and soft in votes; `own` are probabilities of the engine's pairs."""
    items, sample = sample_of(engine)
    proba = model.applied_to(sample).pair_proba_ if own is None else own[np.isin(model.pair_item_, items)]
    weight = None
    if soft:
        weight = known_or_mean(competence(model.worker_rates_), new_code(engine.worker_names, model.worker_names_))
    return learn_reader(items, sample, proba, weight, disagreement=disagreement)


def check_all_pairs(n_items: int, n_labels: int) -> None:
    """Raise TooLargeError where the probabilities of all items and labels would not fit in memory."""
    check_size(
        "a table of all items and labels",
        "Only the asked pairs are possible: pairs() (command line: without --sets, --all-labels and --decode).",
        n_items,
        n_labels,
        cell_bytes=PREDICTION_BYTES,
    )
