"""Votes: the one input type of every model, strategy and report.

A *vote* is one worker's yes (+1) or no (−1) to "does this item have this label?". An *answer* is all votes of one
worker on one item. A question that nobody asked has no vote: it is never a "no".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import agreement, passes, tables
from amcc.arrays import Codes, Ints, Mask, Signs
from amcc.errors import ColumnError, ConflictError, EmptyInputError, IdError, ParameterError, VoteValueError
from amcc.memory import check_size
from amcc.tables import Coded, Frame, Ids, Zero, as_frame
from amcc.threads import in_threads

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Unmentioned = Literal["absent", "unknown"]
OnConflict = Literal["error", "last", "samples"]


def roles_read(on_conflict: OnConflict) -> tuple[tables.Role, ...]:
    """The columns that matter: when a vote was given does so only where the last one counts."""
    return tuple(role for role in tables.ROLES if role != "time" or on_conflict == "last")


@dataclass(frozen=True)
class Reading:
    """What was decided and set aside while a table became votes."""

    columns: Mapping[str, str] = field(default_factory=dict)
    duplicates_dropped: int = 0
    conflicts_resolved: int = 0
    samples: int = 0
    blanks: int = 0
    unmentioned: Unmentioned | None = None

    def notes(self) -> list[str]:
        """Sentences for a person, empty when nothing is worth saying."""
        renamed = [f"{role} = {column!r}" for role, column in self.columns.items() if role != column]
        counted = [
            (self.duplicates_dropped, "identical votes were there more than once and count once"),
            (self.conflicts_resolved, "contradicting votes were resolved: the last one counts"),
            (self.samples, "votes are further samples of a worker who was asked before; together they count as one"),
            (self.blanks, "rows without a value count as not asked"),
        ]
        return [f"columns: {', '.join(renamed)}"] * bool(renamed) + [f"{n} {text}" for n, text in counted if n]


@dataclass(frozen=True)
class Pairs:
    """The (item, label) pairs that anybody was asked about, sorted; votes of pair p are start[p]:start[p + 1]."""

    item: Codes
    label: Codes
    start: Ints

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_votes(self) -> Ints:
        """How many workers were asked about each pair."""
        return np.diff(self.start)


@dataclass(frozen=True)
class Coins:
    """The (worker, label) combinations that occur: each is a pair of coins, one for present and one for absent.

    `slot` gives for each vote 2 · coin + (1 for yes, 0 for no), so that tables indexed by slot hold what a yes or a
    no of this worker on this label is worth. Sorted by worker, then label: the votes on an item stay close together.
    """

    worker: Codes
    label: Codes
    slot: Codes

    def __len__(self) -> int:
        return len(self.worker)


@dataclass(frozen=True, eq=False, repr=False)
class Votes:
    """Immutable votes as integer codes with three vocabularies, sorted by item, label and worker.

    Parameters
    ----------
    item, worker, label : (n_votes,) int32
        Codes into the vocabularies.
    value : (n_votes,) int8
        +1 for yes, −1 for no.
    item_names, worker_names, label_names : pyarrow.Array
        The vocabularies: text or int64. They may hold names without any vote.
    reading : Reading
        What was decided while reading.

    Use `amcc.read_votes` for files and the `from_...` constructors for everything else.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [0, 1]]])  # workers × items × labels
    >>> votes
    Votes(7 votes: 2 workers, 2 items, 2 labels)
    >>> votes.pairs.n_votes
    array([2, 2, 1, 2])
    """

    item: Codes
    worker: Codes
    label: Codes
    value: Signs
    item_names: pa.Array
    worker_names: pa.Array
    label_names: pa.Array
    reading: Reading = field(default_factory=Reading)

    # -- making ------------------------------------------------------------------------------------------------

    @classmethod
    def from_codes(
        cls,
        item: npt.ArrayLike,
        worker: npt.ArrayLike,
        label: npt.ArrayLike,
        value: npt.ArrayLike,
        *,
        item_names: Iterable[Any],
        worker_names: Iterable[Any],
        label_names: Iterable[Any],
        on_conflict: OnConflict = "error",
        time: npt.ArrayLike | None = None,
        reading: Reading | None = None,
    ) -> Votes:
        """Sort, merge duplicates and refuse contradictions; 0 in `value` is "not asked" and makes no vote."""
        names = {
            "item": tables.vocabulary_of(item_names, "item"),
            "worker": tables.vocabulary_of(worker_names, "worker"),
            "label": tables.vocabulary_of(label_names, "label"),
        }
        codes = {"item": np.asarray(item), "worker": np.asarray(worker), "label": np.asarray(label)}
        signs = np.asarray(value)
        for role, code in codes.items():
            if code.shape != signs.shape or code.ndim != 1:
                raise ParameterError(f"{role} codes must have the shape of value {signs.shape}; got {code.shape}.")
            if code.size and code.dtype.kind not in "iu":
                raise ParameterError(f"{role} codes must be whole numbers; got {code.dtype}.")
            if code.size and (code.min() < 0 or code.max() >= len(names[role])):
                raise ParameterError(
                    f"{role} codes must lie in 0..{len(names[role]) - 1}; got {code.min()}..{code.max()}."
                )
        if not np.isin(np.unique(signs), (-1, 0, 1)).all():
            raise VoteValueError(f"values must be -1, 0 or 1; got {np.unique(signs)[:8]}.")
        coded = {role: Coded.of(code) for role, code in codes.items()}
        return _assemble(coded, Coded.of(signs), names, on_conflict, time, reading or Reading())

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Mapping[str, str] | None = None,
        unmentioned: Unmentioned | None = None,
        labels: Iterable[Any] | None = None,
        items: Iterable[Any] | None = None,
        threshold: float | None = None,
        zero: Zero | None = None,
        label_separator: str | None = None,
        on_conflict: OnConflict = "error",
    ) -> Votes:
        """Read a pandas, polars or Arrow table, one row per vote, per tick or per answer.

        Parameters
        ----------
        frame
            *Long*: worker, item, label, value. *Ticks*: worker, item, label (crowd-kit's frame): a row is a yes.
            *Sets*: worker, item, labels (lists, or text joined by `label_separator`): a row is an answer. The last
            two may have a column `asked` with the labels that were asked about.
        columns
            Which column is the worker, item, label, labels, value, asked, time, sample; others are found by their name.
            Rows with different samples are further answers of a worker who was asked the same several times, as
            language models are: they are kept, and together count as one vote with a share of yes.
        unmentioned : "absent" or "unknown"
            What a label means that an answer does not mention, where only ticks are recorded and `asked` is not:
            the worker denied it, or nobody knows. There is no default, for both are common and differ greatly.
        labels, items
            `labels` is the whole label list, in the order to keep. `items` adds items that nobody answered yet.
        threshold, zero
            See `amcc.tables.parse_values`.
        on_conflict : "error", "last" or "samples"
            Whether a yes and a no of one worker to one question is an error, or the last one counts (by column
            `time` if there is one, else by row), or all votes of a worker on a question are samples.
        """
        table, roles = tables.read_columns(frame, columns, roles=roles_read(on_conflict))
        if table.num_rows == 0:
            raise EmptyInputError("there must be at least one vote; the table has columns but no rows.")
        if unmentioned is not None and unmentioned not in get_args(Unmentioned):
            raise ParameterError(f"unmentioned must be 'absent' or 'unknown'; got {unmentioned!r}.")
        table = pa.Table.from_batches(table.to_batches(), table.schema)  # all columns cut at the same rows
        item = tables.encode_ids(table[roles["item"]], "item", roles["item"])
        worker = tables.encode_ids(table[roles["worker"]], "worker", roles["worker"])
        if items is not None:
            items = tables.vocabulary_of(items, "item")
            tables.refuse_slips(items, item.names, "item")
            item = tables.recode(item, _extended(item.names, items), "item", roles["item"])
        known_labels = None if labels is None else tables.vocabulary_of(labels, "label")
        reading = Reading(columns={str(role): column for role, column in roles.items()})
        row = None
        coded = {"item": item.coded, "worker": worker.coded}
        sample = (
            tables.encode_ids(table[roles["sample"]], "sample", roles["sample"]).codes if "sample" in roles else None
        )
        if "value" in roles and "label" in roles:
            label = tables.encode_ids(table[roles["label"]], "label", roles["label"])
            if known_labels is not None:
                label = tables.recode(label, known_labels, "label", roles["label"])
            value = tables.parse_values(table[roles["value"]], roles["value"], threshold=threshold, zero=zero)
        else:
            row, label, signs, blanks = _votes_from_ticks(
                table, roles, item, worker, known_labels, unmentioned, label_separator, sample
            )
            value = Coded.of(signs)
            coded = {role: Coded.of(column.codes[row]) for role, column in coded.items()}
            reading = replace(reading, unmentioned=unmentioned, blanks=blanks)
        time = None
        if "time" in roles:
            time = tables.encode_times(table[roles["time"]], roles["time"])
            time = time if row is None else time[row]
        names = {"item": item.names, "worker": worker.names, "label": label.names}
        if sample is not None and row is not None:
            sample = sample[row]
        return _assemble({**coded, "label": label.coded}, value, names, on_conflict, time, reading, row, sample)

    @classmethod
    def from_dense(
        cls,
        array: npt.ArrayLike,
        *,
        axes: Sequence[str] = ("worker", "item", "label"),
        item_names: Iterable[Any] | None = None,
        worker_names: Iterable[Any] | None = None,
        label_names: Iterable[Any] | None = None,
    ) -> Votes:
        """Read a three-way array of −1, 0, 1 with 0 = not asked, or of 0, 1 and NaN with NaN = not asked."""
        if sorted(axes) != ["item", "label", "worker"]:
            raise ParameterError(f"axes must name worker, item and label once each; got {tuple(axes)}.")
        try:
            dense = np.asarray(array)
        except ValueError:
            raise ParameterError(f"a dense array must have three axes {tuple(axes)}; got ragged lists.") from None
        if dense.dtype == bool:
            raise VoteValueError(
                "a dense array must say which questions were not asked; got only true and false. Use 1 for yes, -1 for "
                "no and 0 for not asked: np.where(array, 1, -1) if all were asked."
            )
        if dense.ndim != 3:
            raise ParameterError(f"a dense array must have three axes {tuple(axes)}; got shape {dense.shape}.")
        dense = np.transpose(dense, [list(axes).index(role) for role in ("worker", "item", "label")])
        missing = np.isnan(dense) if dense.dtype.kind == "f" else np.zeros(dense.shape, dtype=bool)
        allowed = (0, 1) if missing.any() else (-1, 0, 1)
        strange = ~missing & ~np.isin(dense, allowed)
        if strange.any():
            place = np.argwhere(strange)[0]
            raise VoteValueError(
                f"a dense array must hold {'0, 1 and NaN (not asked)' if missing.any() else '-1, 0 (not asked) and 1'}"
                f"; got {dense[tuple(place)]!r} at worker {place[0]}, item {place[1]}, label {place[2]}."
            )
        asked = ~missing if missing.any() else dense != 0
        worker, item, label = np.nonzero(asked)
        names: dict[str, Iterable[Any]] = {}
        for size, role, given in zip(
            dense.shape, ("worker", "item", "label"), (worker_names, item_names, label_names), strict=True
        ):
            names[role] = listed = list(range(size) if given is None else given)
            if len(listed) != size:
                raise ParameterError(f"{role}_names must have {size} entries; got {len(listed)}.")
        return cls.from_codes(
            item, worker, label, np.where(dense[asked] > 0, 1, -1),
            item_names=names["item"], worker_names=names["worker"], label_names=names["label"],
        )  # fmt: skip

    @classmethod
    def from_wide(cls, frames: Mapping[Any, Any], *, threshold: float | None = None, zero: Zero | None = None) -> Votes:
        """Read cleanlab's multi-annotator frames, one per label: rows are items, columns workers, NaN not asked.

        Items are named by the index of a pandas frame, by their row number otherwise. `threshold` and `zero` are those
        of `from_frame`.
        """
        if not isinstance(frames, Mapping):
            raise ParameterError(f"frames must be a mapping label → frame; got {type(frames).__name__}.")
        labels = tables.vocabulary_of(frames, "label")
        pieces: list[pa.Table] = []
        for label, frame in zip(labels.to_pylist(), frames.values(), strict=True):
            table = tables.as_arrow(frame)
            indexed = hasattr(frame, "index") and hasattr(frame, "iloc")
            items = tables.vocabulary_of(frame.index if indexed else range(table.num_rows), "item")
            if pieces and pieces[0]["item"].type != items.type:
                raise IdError(
                    f"items must be named alike in all frames; those of label {label!r} are {items.type}, those before "
                    f"are {pieces[0]['item'].type}. Give the frames the same index."
                )
            pieces += [
                pa.table({"worker": _constant(worker, len(items)), "item": items, "label": _constant(label, len(items)),
                          "value": tables.parse_values(table[worker], worker, threshold=threshold, zero=zero).codes})
                for worker in table.column_names if len(items)
            ]  # fmt: skip
        if not pieces:
            raise EmptyInputError("there must be a frame with a row and a worker's column; there is none.")
        # parse_values has already made +1, −1 and 0 = not asked of whatever the frames used
        return cls.from_frame(pa.concat_tables(pieces), zero="unasked", labels=labels)

    # -- looking -----------------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        for column in (self.item, self.worker, self.label, self.value):
            column.flags.writeable = False

    def __repr__(self) -> str:
        return f"Votes({len(self)} votes: {self.n_workers} workers, {self.n_items} items, {self.n_labels} labels)"

    def __len__(self) -> int:
        return len(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Votes):
            return NotImplemented
        return all(a.equals(b) for a, b in zip(self._names(), other._names(), strict=True)) and all(
            np.array_equal(a, b) for a, b in zip(self._codes(), other._codes(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _codes(self) -> tuple[npt.NDArray[Any], ...]:
        return self.item, self.worker, self.label, self.value

    def _names(self) -> tuple[pa.Array, ...]:
        return self.item_names, self.worker_names, self.label_names

    @property
    def n_items(self) -> int:
        """Items in the vocabulary, answered or not."""
        return len(self.item_names)

    @property
    def n_workers(self) -> int:
        """Workers in the vocabulary."""
        return len(self.worker_names)

    @property
    def n_labels(self) -> int:
        """Labels in the vocabulary."""
        return len(self.label_names)

    def notes(self) -> list[str]:
        """What a person should know about the reading of these votes, in sentences; mostly there is nothing."""
        names = {"worker": self.worker_names, "item": self.item_names, "label": self.label_names}
        alike = (tables.note_on_lookalikes(vocabulary, role) for role, vocabulary in names.items())
        return [*self.reading.notes(), *chain.from_iterable(alike)]

    @cached_property
    def pairs(self) -> Pairs:
        """The asked (item, label) pairs."""
        new = np.empty(len(self), dtype=bool)
        new[:1] = True
        np.not_equal(self.item[1:], self.item[:-1], out=new[1:])
        new[1:] |= self.label[1:] != self.label[:-1]
        first = np.flatnonzero(new)
        return Pairs(self.item[first], self.label[first], np.append(first, len(self)))

    @cached_property
    def coins(self) -> Coins:
        """The (worker, label) combinations that occur, and each vote's place among them."""
        key = self.worker.astype(np.int64) * self.n_labels + self.label
        n_keys = self.n_labels * self.n_workers
        if n_keys <= max(4 * len(self), 1_000_000):  # a table of all combinations is affordable: no sorting
            used = np.zeros(n_keys, dtype=bool)
            used[key] = True
            distinct = np.flatnonzero(used)
            coin = (np.cumsum(used, dtype=np.int32) - 1)[key]
        else:
            distinct, coin = np.unique(key, return_inverse=True)
        worker, label = np.divmod(distinct, self.n_labels)
        slot = coin.astype(np.int32) * 2 + (self.value > 0)
        return Coins(worker.astype(np.int32), label.astype(np.int32), slot)

    @cached_property
    def n_yes(self) -> Ints:
        """(n_pairs,) how many workers said yes to each asked pair."""
        return (
            np.add.reduceat(self.value > 0, self.pairs.start[:-1], dtype=np.int64)
            if len(self)
            else np.empty(0, dtype=np.int64)
        )

    @cached_property
    def answers_per_item(self) -> Ints:
        """(n_items,) how many workers answered each item."""
        return self._answer_counts[0]

    @cached_property
    def answers_per_worker(self) -> Ints:
        """(n_workers,) how many items each worker answered."""
        return self._answer_counts[1]

    @cached_property
    def _answer_counts(self) -> tuple[Ints, Ints]:
        return passes.count_answers(self.item, self.worker, self.n_items, self.n_workers)

    def select(self, keep: Mask) -> Votes:
        """The votes where `keep` holds, with unchanged vocabularies."""
        return replace(self, **{role: getattr(self, role)[keep] for role in ("item", "worker", "label", "value")})

    # -- giving back -------------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Long table worker, item, label, value (±1), names dictionary-encoded."""
        columns = {
            role: pa.DictionaryArray.from_arrays(pa.array(code), names)
            for role, code, names in (
                ("worker", self.worker, self.worker_names),
                ("item", self.item, self.item_names),
                ("label", self.label, self.label_names),
            )
        }
        if self.reading.samples:
            columns["sample"] = pa.array(self._sample_numbers())
        return pa.table({**columns, "value": pa.array(self.value)})

    def _sample_numbers(self) -> Ints:
        """(n_votes,) 1 for the first vote of a worker on a pair, 2 for the second, and so on."""
        place = np.arange(len(self))
        first = np.append(True, ~self._is_further_sample())[: len(self)]
        return place - np.maximum.accumulate(np.where(first, place, 0)) + 1

    def _is_further_sample(self) -> Mask:
        """(n_votes − 1,) whether the vote after each is of the same worker on the same pair."""
        same = (self.item[1:] == self.item[:-1]) & (self.label[1:] == self.label[:-1])
        return np.asarray(same & (self.worker[1:] == self.worker[:-1]))

    def one_per_worker(self) -> Votes:
        """The same with one vote of each worker on a pair: yes where more than half of their samples say so."""
        if not self.reading.samples:
            return self
        first = np.flatnonzero(np.append(True, ~self._is_further_sample())[: len(self)])
        yes = 2 * np.add.reduceat((self.value > 0).astype(np.int64), first) > np.diff(np.append(first, len(self)))
        codes = {role: getattr(self, role)[first] for role in ("item", "worker", "label")}
        value = np.where(yes, 1, -1).astype(np.int8)
        return replace(self, **codes, value=value, reading=replace(self.reading, samples=0))

    def to_pandas(self) -> pd.DataFrame:
        """Long pandas frame; names are categorical columns."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Long polars frame; names are categorical columns."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # for the type checker: a table becomes a frame
        return frame

    def to_sets(self, frame: Frame = "pandas") -> Any:
        """Table worker, item, labels, asked: one row per answer with its ticked and its asked labels."""
        order = np.lexsort((self.label, self.worker, self.item))
        item, worker = self.item[order], self.worker[order]
        new = np.append(True, (item[1:] != item[:-1]) | (worker[1:] != worker[:-1]))[: len(self)]
        first = np.flatnonzero(new)

        def lists(kept: Mask) -> pa.Array:
            start = np.append(0, np.cumsum(kept))[np.append(first, len(self))]
            return pa.LargeListArray.from_arrays(
                pa.array(start, pa.int64()), self.label_names.take(pa.array(self.label[order][kept]))
            )

        table = pa.table(
            {
                "worker": self.worker_names.take(pa.array(worker[first])),
                "item": self.item_names.take(pa.array(item[first])),
                "labels": lists(self.value[order] > 0),
                "asked": lists(np.ones(len(self), dtype=bool)),
            }
        )
        return as_frame(table, frame)

    def to_dense(self) -> Signs:
        """(n_workers, n_items, n_labels) int8 with 0 = not asked; for small data only."""
        check_size("a dense array", "Use to_arrow().", self.n_workers, self.n_items, self.n_labels, cell_bytes=1)
        dense = np.zeros((self.n_workers, self.n_items, self.n_labels), dtype=np.int8)
        dense[self.worker, self.item, self.label] = self.value
        return dense

    # -- counting ----------------------------------------------------------------------------------------------

    def describe(self, *, n_boot: int = 200, seed: int = 0) -> Description:
        """Counts and agreement. `seed` fixes the bootstrap, and the sample of items where there are very many.

        Several samples of one worker on a pair agree with each other rather than with others: they count as one vote.
        """
        if self.reading.samples:
            return replace(self.one_per_worker().describe(n_boot=n_boot, seed=seed), votes=len(self))
        rng = np.random.default_rng(seed)
        n_answers = int(self.answers_per_item.sum())
        yes = int((self.value > 0).sum())
        per_item = self.answers_per_item
        by_label = np.bincount(self.label, minlength=self.n_labels)
        yes_by_label = np.bincount(self.label[self.value > 0], minlength=self.n_labels)
        sets, labels = _agreements(self, rng, n_boot)
        return Description(
            workers=self.n_workers,
            items=self.n_items,
            labels=self.n_labels,
            votes=len(self),
            answers=n_answers,
            answers_per_item_mean=float(per_item.mean()) if per_item.size else 0.0,
            answers_per_item_min=int(per_item.min(initial=n_answers)),
            answers_per_item_max=int(per_item.max(initial=0)),
            labels_per_answer=yes / n_answers if n_answers else 0.0,
            share_unasked=1 - len(self) / (n_answers * self.n_labels) if n_answers else 1.0,
            items_without_answer=int((per_item == 0).sum()),
            workers_with_one_answer=int((self.answers_per_worker == 1).sum()),
            agreement=sets,
            by_label=[
                LabelDescription(
                    label=str(name),
                    asked=int(by_label[code]),
                    yes_share=float(yes_by_label[code] / by_label[code]) if by_label[code] else None,
                    agreement=labels[code],
                )
                for code, name in enumerate(self.label_names.to_pylist())
            ],
        )


@dataclass(frozen=True)
class Interval:
    """An estimate with the bounds of its 95 % bootstrap interval; None where it is not defined."""

    estimate: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, estimate: float, low: float, high: float) -> Interval:
        """From numbers that may be NaN."""
        return cls(*(None if np.isnan(bound) else float(bound) for bound in (estimate, low, high)))


@dataclass(frozen=True)
class LabelDescription:
    """One label of a `Description`."""

    label: str
    asked: int
    yes_share: float | None
    agreement: Interval


@dataclass(frozen=True)
class Description:
    """Statistics of votes. `agreement` is Krippendorff's α: with MASI distance on sets, nominal per label."""

    workers: int
    items: int
    labels: int
    votes: int
    answers: int
    answers_per_item_mean: float
    answers_per_item_min: int
    answers_per_item_max: int
    labels_per_answer: float
    share_unasked: float
    items_without_answer: int
    workers_with_one_answer: int
    agreement: Interval
    by_label: list[LabelDescription]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return asdict(self)


def _assemble(
    coded: Mapping[str, Coded],
    value: Coded,
    names: Mapping[str, pa.Array],
    on_conflict: OnConflict,
    time: npt.ArrayLike | None,
    reading: Reading,
    row: Ints | None = None,
    sample: npt.NDArray[Any] | None = None,
) -> Votes:
    """Sort votes by item, label, worker; drop blanks and duplicates; refuse or resolve contradictions; keep samples."""
    if on_conflict not in get_args(OnConflict):
        raise ParameterError(f"on_conflict must be 'error', 'last' or 'samples'; got {on_conflict!r}.")
    layout = _Layout.of(names)

    def rows_in_order() -> tuple[Ints, Ints]:
        """Which rows ask something, and their votes packed: only made where rows must be told apart."""
        keys = layout.pack(coded["item"], coded["label"], coded["worker"], value)
        rows = np.flatnonzero(keys >= 0)
        return rows, keys[rows]

    packed = layout.pack(coded["item"], coded["label"], coded["worker"], value)
    if _any_neighbours(packed, np.greater_equal):
        packed.sort()
    n_blanks = int(np.searchsorted(packed, 0))  # blank rows are negative
    packed = packed[n_blanks:]
    if len(packed) == 0:
        raise EmptyInputError("there must be at least one vote; every row is blank, so nobody was asked anything.")
    reading = replace(reading, blanks=reading.blanks + n_blanks)
    # Neighbours that differ in nothing are duplicates, those that differ in the last bit only are contradictions.
    if _any_neighbours(packed, lambda one, other: one ^ other <= 1):
        same_question = packed[1:] ^ packed[:-1] <= 1
        if on_conflict == "samples" and sample is None:
            samples = replace(reading, samples=int(same_question.sum()))
            return Votes(*layout.unpack(packed), names["item"], names["worker"], names["label"], samples)
        if sample is not None:
            rows, keys = rows_in_order()
            taken = _Sampled.of(rows, keys, np.asarray(sample)[rows], None if time is None else np.asarray(time)[rows])
            if taken.n_conflicts and on_conflict == "error":
                places = sorted(int(place if row is None else row[place]) + 1 for place in taken.conflict)
                vote = keys[[(rows == taken.conflict[0]).argmax()]]
                raise ConflictError(_conflict(vote, layout, names, places, taken.n_conflicts))
            reading = replace(
                reading,
                duplicates_dropped=taken.n_duplicates,
                conflicts_resolved=taken.n_conflicts,
                samples=int((np.diff(taken.keys >> 1) == 0).sum()),
            )
            return Votes(*layout.unpack(taken.keys), names["item"], names["worker"], names["label"], reading)
        repeated = packed[1:] == packed[:-1]
        n_conflicts = int((same_question & ~repeated).sum())
        if n_conflicts == 0:
            packed = packed[np.append(True, ~repeated)]
        elif on_conflict == "error":
            vote = packed[[(same_question & ~repeated).argmax()]]
            rows, keys = rows_in_order()
            first = [rows[(keys == (vote | said)).argmax()] for said in (1, 0)]
            places = sorted(int(place if row is None else row[place]) + 1 for place in first)
            raise ConflictError(_conflict(vote, layout, names, places, n_conflicts))
        else:
            rows, keys = rows_in_order()
            latest = keys[np.lexsort((rows if time is None else np.asarray(time)[rows], keys >> 1))]
            packed = latest[np.append(latest[1:] >> 1 != latest[:-1] >> 1, True)]
        reading = replace(reading, duplicates_dropped=int(repeated.sum()), conflicts_resolved=n_conflicts)
    return Votes(*layout.unpack(packed), names["item"], names["worker"], names["label"], reading)


@dataclass(frozen=True)
class _Sampled:
    """Packed votes of workers who may have been asked several times: one of each sample, in order.

    conflict : two rows in which one sample says both yes and no, if there are any
    """

    keys: Ints
    n_duplicates: int
    n_conflicts: int
    conflict: tuple[int, ...]

    @classmethod
    def of(
        cls,
        rows: Ints,
        keys: Ints,
        sample: npt.NDArray[Any],
        time: npt.NDArray[Any] | None,
    ) -> _Sampled:
        """From rows, their votes, samples and times: of what is said twice in one sample, the last counts."""
        order = np.lexsort((rows if time is None else time, sample, keys >> 1))
        keys, sample, rows = keys[order], sample[order], rows[order]
        again = (keys[1:] >> 1 == keys[:-1] >> 1) & (sample[1:] == sample[:-1])
        both = again & (keys[1:] != keys[:-1])
        first = int(both.argmax()) if both.any() else -1
        conflict = () if first < 0 else (int(rows[first]), int(rows[first + 1]))
        kept = np.sort(keys[np.append(~again, True)])
        return cls(kept, int((again & ~both).sum()), int(both.sum()), conflict)


@dataclass(frozen=True)
class _Layout:
    """A vote packed in one integer, item bits highest: sorting integers is far faster than sorting rows."""

    label_bits: int
    worker_bits: int

    @classmethod
    def of(cls, names: Mapping[str, pa.Array]) -> _Layout:
        bits = {role: max(len(vocabulary) - 1, 0).bit_length() for role, vocabulary in names.items()}
        if sum(bits.values()) > 62:
            raise ParameterError(f"item, label and worker codes must fit in 62 bits; they need {bits}.")
        return cls(bits["label"], bits["worker"])

    def pack(self, item: Coded, label: Coded, worker: Coded, value: Coded) -> Ints:
        """One integer per row, negative where the row is blank."""
        columns = [column.pieces() for column in (item, label, worker, value)]
        ends = np.cumsum([len(block.raw) for block in columns[-1]])
        keys = np.empty(len(value), dtype=np.int64)

        def pack_block(number: int) -> None:
            items, labels, workers, values = (blocks[number].codes() for blocks in columns)
            key = keys[ends[number] - len(values) : ends[number]]
            key[:] = items
            for code, bits in ((labels, self.label_bits), (workers, self.worker_bits), (values > 0, 1)):
                key <<= bits
                key |= code
            key[values == 0] = -1

        in_threads(pack_block, len(ends))
        return keys

    def unpack(self, keys: Ints) -> tuple[Codes, Codes, Codes, Signs]:
        """Item, worker, label and value of packed votes."""
        return passes.unpack_votes(keys, self.label_bits, self.worker_bits)


def _any_neighbours(keys: Ints, related: Callable[..., Mask]) -> bool:
    """Whether related(key, next key) holds anywhere; looked at in blocks, so that nothing as long as `keys` is made."""
    starts = range(0, len(keys) - 1, tables.PIECE_ROWS)
    blocks = (keys[start : start + tables.PIECE_ROWS + 1] for start in starts)
    return any(related(block[:-1], block[1:]).any() for block in blocks)


def _conflict(
    vote: Ints,
    layout: _Layout,
    names: Mapping[str, pa.Array],
    rows: Sequence[int],
    n: int,
) -> str:
    item, worker, label, _ = (int(code[0]) for code in layout.unpack(vote))
    more = f" There are {n} such cases." if n > 1 else ""
    return (
        f"a worker must say yes or no to a question, not both; worker {names['worker'][worker].as_py()!r} says both "
        f"for item {names['item'][item].as_py()!r}, label {names['label'][label].as_py()!r} (row {rows[0]} and "
        f"{rows[1]}).{more} "
        "Remove one of them, or let the last one count: on_conflict='last' (command line: --on-conflict last). For a "
        "language model that was asked several times, say so: a column 'sample', or on_conflict='samples'."
    )


VOTE_BYTES = 40
"""What a vote that was not written down takes while it is made: its row, its label, and both sorted."""


def _votes_from_ticks(
    table: pa.Table,
    roles: Mapping[tables.Role, str],
    item: Ids,
    worker: Ids,
    known_labels: pa.Array | None,
    unmentioned: Unmentioned | None,
    label_separator: str | None,
    sample: npt.NDArray[Any] | None = None,
) -> tuple[Ints, Ids, Signs, int]:
    """Expand tables that record only what was ticked. Returns each vote's row, label and value, and the blanks."""
    if "value" in roles:
        raise ColumnError(
            f"a table with lists of labels cannot have a value per row; columns {roles['labels']!r} and "
            f"{roles['value']!r} are both there. Drop or rename one of them."
        )
    if unmentioned is None and "asked" not in roles:
        raise ParameterError(
            "the table records only the labels that were given, so it must be said what the others mean: "
            "unmentioned='absent' (the worker saw the whole list and did not give them) or 'unknown' "
            "(command line: --unmentioned absent, --unmentioned unknown). "
            "A column 'asked' with the labels that were asked about says it row by row."
        )
    n_rows = table.num_rows
    if "labels" in roles:
        ticks = tables.encode_lists(table[roles["labels"]], roles["labels"], label_separator)
        answer_row, tick_row, label, blank = np.arange(n_rows), ticks.row, ticks.labels, ticks.missing
    else:
        # One row per tick: all rows of a worker on an item are one answer, kept under its first row.
        label = tables.encode_ids(table[roles["label"]], "label", roles["label"])
        answer = item.codes.astype(np.int64) * len(worker.names) + worker.codes
        if sample is not None:
            answer = answer * (int(sample.max(initial=0)) + 1) + sample
        _, first, inverse = np.unique(answer, return_index=True, return_inverse=True)
        answer_row, tick_row, blank = first, first[inverse], np.zeros(n_rows, dtype=bool)
    if "asked" in roles:
        asked = tables.encode_lists(table[roles["asked"]], roles["asked"], label_separator)
        vocabulary = _extended(label.names, asked.labels.names.to_pylist()) if known_labels is None else known_labels
        asked_row = asked.row
        asked_label = tables.recode(asked.labels, vocabulary, "label", roles["asked"]).codes
        if "labels" not in roles:  # ticks of one answer repeat the same list
            keep = np.isin(asked_row, answer_row)
            asked_row, asked_label = asked_row[keep], asked_label[keep]
    else:
        vocabulary = label.names if known_labels is None else known_labels
        if len(vocabulary) == 0:
            raise EmptyInputError(
                "there must be at least one label; no row names any. Give the label list: labels=[…] (--labels FILE)."
            )
        answered = answer_row[~blank[answer_row] & (unmentioned == "absent")]
        check_size(
            "a vote for every label of every answer",
            "Say in a column 'asked' which labels were asked about, or use unmentioned='unknown' (command line: "
            "--unmentioned unknown).",
            len(answered),
            len(vocabulary),
            cell_bytes=VOTE_BYTES,
        )
        asked_row = np.repeat(answered, len(vocabulary))
        asked_label = np.tile(np.arange(len(vocabulary), dtype=np.int32), len(answered))
    label = tables.recode(label, vocabulary, "label", roles.get("labels") or roles["label"])
    n_labels = len(vocabulary)
    ticked = np.unique(tick_row * n_labels + label.codes)
    if "asked" not in roles and unmentioned == "unknown":
        vote, value = ticked, np.ones(len(ticked), dtype=np.int8)
    else:
        vote = np.unique(asked_row * n_labels + asked_label)
        value = np.where(np.isin(vote, ticked, assume_unique=True), 1, -1).astype(np.int8)
        outside = ticked[~np.isin(ticked, vote, assume_unique=True)]
        if outside.size:
            bad_row, code = divmod(int(outside[0]), n_labels)
            raise VoteValueError(
                f"a label that was given must be among those asked; row {bad_row + 1} gives "
                f"{vocabulary[code].as_py()!r}, which column {roles['asked']!r} does not list."
            )
    row, label_code = np.divmod(vote, n_labels)
    return row, Ids(Coded.of(label_code.astype(np.int32)), vocabulary), value, int(blank.sum())


def _constant(name: Any, n_rows: int) -> pa.DictionaryArray:
    """A column that says the same in every row."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array([name]))


def _extended(names: pa.Array, more: Iterable[Any]) -> pa.Array:
    """The vocabulary with further names, sorted."""
    other = tables.vocabulary_of(more, "item")
    if len(names) == 0 or len(other) == 0:
        return names if len(other) == 0 else other.take(pc.sort_indices(other))
    if names.type != other.type:
        names, other = names.cast(pa.string()), other.cast(pa.string())
    union = pc.unique(pa.concat_arrays([names, other]))
    return union.take(pc.sort_indices(union))


def _agreements(votes: Votes, rng: np.random.Generator, n_boot: int) -> tuple[Interval, list[Interval]]:
    """Krippendorff's α on sets (MASI) and per label, with intervals."""
    pairs = votes.pairs
    labels = agreement.nominal_alpha_per_label(
        pairs.item.astype(np.int64),
        pairs.label.astype(np.int64),
        votes.n_yes,
        pairs.n_votes,
        votes.n_labels,
        rng=rng,
        n_boot=n_boot,
    )
    answer_item, yes, asked = _answer_matrices(votes, rng)
    sets = agreement.masi_alpha(answer_item, yes, asked, rng=rng, n_boot=n_boot, max_patterns=2000)
    per_label = zip(labels.alpha, labels.low, labels.high, strict=True)
    return Interval.of(sets.alpha, sets.low, sets.high), [Interval.of(*bounds) for bounds in per_label]


MAX_AGREEMENT_CELLS = 20_000_000
MAX_AGREEMENT_ANSWERS = 50_000


def _answer_matrices(votes: Votes, rng: np.random.Generator) -> tuple[Ints, Mask, Mask]:
    """Item, ticked labels and asked labels of each answer, (n_answers,) and twice (n_answers, labels that occur).

    Where that would be very many, a random sample of whole items: agreement on 50 000 answers is known well enough.
    """
    n_answers = votes.answers_per_item
    if n_answers.sum() > min(MAX_AGREEMENT_ANSWERS, MAX_AGREEMENT_CELLS // max(votes.n_labels, 1)):
        order = rng.permutation(votes.n_items)
        n_rows = np.cumsum(n_answers[order])
        n_cells = n_rows * _labels_so_far(votes, order)
        chosen = np.zeros(votes.n_items, dtype=bool)
        chosen[order[(n_rows <= MAX_AGREEMENT_ANSWERS) & (n_cells <= MAX_AGREEMENT_CELLS)]] = True
        votes = votes.select(chosen[votes.item])
    answer = votes.item.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    distinct, row = np.unique(answer, return_inverse=True)
    labels, column = np.unique(votes.label, return_inverse=True)
    yes, asked = np.zeros((2, len(distinct), len(labels)), dtype=bool)
    yes[row, column] = votes.value > 0
    asked[row, column] = True
    return distinct // max(votes.n_workers, 1), yes, asked


def _labels_so_far(votes: Votes, order: Ints) -> Ints:
    """(n_items,) how many labels the first 1, 2, … items in this order were asked about."""
    place = np.empty(votes.n_items, dtype=np.int64)
    place[order] = np.arange(votes.n_items)
    first = np.full(votes.n_labels, votes.n_items)
    np.minimum.at(first, votes.pairs.label, place[votes.pairs.item])
    return np.cumsum(np.bincount(first, minlength=votes.n_items + 1)[: votes.n_items])
