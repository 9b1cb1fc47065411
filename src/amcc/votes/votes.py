"""The type `Votes`: integer codes with three vocabularies, and views of them by pair and by coin.

Votes are sorted by item, label and worker. So the votes on a pair stand together, and a sum over pairs is one pass
without an index; `pairs`, `n_yes` and all engines rely on that order. Views are made once, when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import passes, tables
from amcc.arrays import Codes, Ints, Mask, Signs, distinct
from amcc.errors import IdError, ParameterError
from amcc.memory import check_size
from amcc.tables import Frame, Tabular, Zero, as_frame
from amcc.votes.description import Description, describe
from amcc.votes.from_tools import FromTools
from amcc.votes.merging import VoteRows, sort_and_merge
from amcc.votes.other_layouts import AXES, dense_votes, long_from_wide
from amcc.votes.reading import OnConflict, Reading, Unmentioned
from amcc.votes.rows_to_codes import check_codes, rows_to_codes


@dataclass(frozen=True)
class Pairs:
    """The (item, label) pairs that anybody was asked about, sorted; votes of pair p are start[p]:start[p + 1].

    item, label : (n_pairs,) codes; start : (n_pairs + 1,) where each pair's votes begin.
    """

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
class Votes(FromTools, Tabular):
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

    Use `amcc.read_votes` for files and the `from_...` constructors for everything else; `from_tools` has those for
    exports of other tools.

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
    def _of(cls, rows: VoteRows, on_conflict: OnConflict) -> Votes:
        """Sort the rows of a table, and merge what is there more than once."""
        codes, reading = sort_and_merge(rows, on_conflict)
        return cls(*codes, rows.names["item"], rows.names["worker"], rows.names["label"], reading)

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
        codes = {"item": item, "worker": worker, "label": label}
        names = {"item": item_names, "worker": worker_names, "label": label_names}
        return cls._of(check_codes(codes, value, names, time, reading), on_conflict)

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
        rows = rows_to_codes(
            frame, columns=columns, unmentioned=unmentioned, labels=labels, items=items, threshold=threshold,
            zero=zero, label_separator=label_separator, on_conflict=on_conflict,
        )  # fmt: skip
        return cls._of(rows, on_conflict)

    @classmethod
    def from_dense(
        cls,
        array: npt.ArrayLike,
        *,
        axes: Sequence[str] = AXES,
        item_names: Iterable[Any] | None = None,
        worker_names: Iterable[Any] | None = None,
        label_names: Iterable[Any] | None = None,
    ) -> Votes:
        """Read a three-way array of −1, 0, 1 with 0 = not asked, or of 0, 1 and NaN with NaN = not asked.

        `axes` says what the axes of the array are. Names default to 0, 1, 2, … along each axis.
        """
        codes, value, sizes = dense_votes(array, axes)
        names: dict[str, Iterable[Any]] = {}
        for role, given in (("worker", worker_names), ("item", item_names), ("label", label_names)):
            names[role] = listed = list(range(sizes[role]) if given is None else given)
            if len(listed) != sizes[role]:
                raise ParameterError(f"{role}_names must have {sizes[role]} entries; got {len(listed)}.")
        return cls._of(check_codes(codes, value, names), "error")

    @classmethod
    def from_wide(cls, frames: Mapping[Any, Any], *, threshold: float | None = None, zero: Zero | None = None) -> Votes:
        """Read cleanlab's multi-annotator frames, one per label: rows are items, columns workers, NaN not asked.

        Items are named by the index of a pandas frame, by their row number otherwise. `threshold` and `zero` are those
        of `from_frame`.
        """
        table, labels = long_from_wide(frames, threshold, zero)
        return cls.from_frame(table, zero="unasked", labels=labels)  # there, 0 is "not asked" already

    # -- looking -----------------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        # Views are cached and arrays are shared with engines: a change in place would go unnoticed.
        for column in (self.item, self.worker, self.label, self.value):
            column.flags.writeable = False

    def __repr__(self) -> str:
        return f"Votes({len(self)} votes: {self.n_workers} workers, {self.n_items} items, {self.n_labels} labels)"

    def _heading(self) -> str:
        return repr(self)

    def __len__(self) -> int:
        return len(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Votes):
            return NotImplemented
        return all(a.equals(b) for a, b in zip(self._names(), other._names(), strict=True)) and all(
            np.array_equal(a, b) for a, b in zip(self._codes(), other._codes(), strict=True)
        )

    # Equal votes would need equal hashes, and a hash of all votes costs as much as comparing them.
    __hash__: ClassVar[None]  # type: ignore[assignment]

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
        # A pair begins where item or label differs from the vote before; written in place, to save memory.
        new = np.empty(len(self), dtype=bool)
        new[:1] = True
        np.not_equal(self.item[1:], self.item[:-1], out=new[1:])
        new[1:] |= self.label[1:] != self.label[:-1]
        first = np.flatnonzero(new)
        return Pairs(self.item[first], self.label[first], np.append(first, len(self)))

    @cached_property
    def coins(self) -> Coins:
        """The (worker, label) combinations that occur, and each vote's place among them."""
        n_keys = self.n_labels * self.n_workers
        # In place, and no wider than needed: these arrays are as long as the votes, and memory is highest here.
        key: npt.NDArray[Any] = self.worker.astype(np.int32 if n_keys <= np.iinfo(np.int32).max else np.int64)
        key *= self.n_labels
        key += self.label
        found, slot = distinct(key, n_keys)
        worker, label = np.divmod(found, self.n_labels)
        # One index for coin and value: a compiled loop looks up what a vote is worth in one step.
        slot *= 2
        slot += self.value > 0
        return Coins(worker.astype(np.int32), label.astype(np.int32), slot)

    @cached_property
    def n_yes(self) -> Ints:
        """(n_pairs,) how many workers said yes to each asked pair."""
        # Votes of a pair stand together: each sum runs from where it begins to where the next one does.
        counted: Ints = np.add.reduceat(self.value > 0, self.pairs.start[:-1], dtype=np.int64)
        return counted

    @cached_property
    def answers_per_item(self) -> Ints:
        """(n_items,) how many workers answered each item, that is, were asked about any label of it."""
        return self._answer_counts[0]

    @cached_property
    def answers_per_worker(self) -> Ints:
        """(n_workers,) how many items each worker answered."""
        return self._answer_counts[1]

    @cached_property
    def _answer_counts(self) -> tuple[Ints, Ints]:
        return passes.count_answers(self.item, self.worker, self.n_items, self.n_workers)

    def select(self, keep: Mask) -> Votes:
        """The votes where `keep`, (n_votes,), holds, with unchanged vocabularies: codes mean the same in both."""
        # Kept votes stay in order, so that nothing need be sorted again.
        return replace(self, **{role: getattr(self, role)[keep] for role in ("item", "worker", "label", "value")})

    def with_workers_renamed(self, rename: Callable[[str], str]) -> Votes:
        """The same votes with other names for the workers; no two may get the same one."""
        names = pa.array([rename(str(name)) for name in self.worker_names.to_pylist()], pa.string())
        if len(pc.unique(names)) < len(names):
            raise IdError("workers must keep different names; two of them would get the same one.")
        return replace(self, worker_names=names)

    def with_sorted_names(self, *, labels: bool) -> Votes:
        """The same votes with workers, and `labels` where they have no order of their own, numbered by name."""
        changed: dict[str, Any] = {}
        for role in ("worker", "label")[: 1 + labels]:
            names = getattr(self, f"{role}_names")
            order = np.asarray(pc.sort_indices(names))
            rank = np.argsort(order).astype(np.int32)
            changed |= {role: rank[getattr(self, role)], f"{role}_names": names.take(pa.array(order))}
        votes = replace(self, **changed)
        order = np.lexsort((votes.worker, votes.label, votes.item))
        return replace(votes, **{role: getattr(votes, role)[order] for role in ("item", "worker", "label", "value")})

    # -- giving back -------------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Long table worker, item, label, value (±1), names dictionary-encoded; `sample` where there are several.

        In pandas and polars, names are categorical columns.
        """
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
        # The running maximum of the places of first votes is the place where the current worker's votes began.
        return place - np.maximum.accumulate(np.where(first, place, 0)) + 1

    def _is_further_sample(self) -> Mask:
        """(n_votes − 1,) whether the vote after each is of the same worker on the same pair."""
        same = (self.item[1:] == self.item[:-1]) & (self.label[1:] == self.label[:-1])
        return np.asarray(same & (self.worker[1:] == self.worker[:-1]))

    def one_per_worker(self) -> Votes:
        """The same with one vote of each worker on a pair: yes where more than half of their samples say so.

        A tie is a no, as everywhere: a label is present if more say so than not.
        """
        if not self.reading.samples:
            return self
        first = np.flatnonzero(np.append(True, ~self._is_further_sample())[: len(self)])
        yes = 2 * np.add.reduceat((self.value > 0).astype(np.int64), first) > np.diff(np.append(first, len(self)))
        codes = {role: getattr(self, role)[first] for role in ("item", "worker", "label")}
        value = np.where(yes, 1, -1).astype(np.int8)
        return replace(self, **codes, value=value, reading=replace(self.reading, samples=0))

    def to_sets(self, frame: Frame = "pandas") -> Any:
        """Table worker, item, labels, asked: one row per answer with its ticked and its asked labels.

        Read back with `from_frame`, it gives the same votes: `asked` keeps what nobody was asked apart from a no.
        """
        # Votes are sorted by label before worker; an answer is all labels of one worker on one item.
        order = np.lexsort((self.label, self.worker, self.item))
        item, worker = self.item[order], self.worker[order]
        new = np.append(True, (item[1:] != item[:-1]) | (worker[1:] != worker[:-1]))[: len(self)]
        first = np.flatnonzero(new)

        def lists(kept: Mask) -> pa.Array:
            """For each answer, the labels of those of its votes that are kept."""
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
        """(n_workers, n_items, n_labels) int8 with 0 = not asked; for small data only.

        >>> Votes.from_dense([[[1, -1]], [[0, 1]]]).to_dense().tolist()
        [[[1, -1]], [[0, 1]]]
        """
        check_size("a dense array", "Use to_arrow().", self.n_workers, self.n_items, self.n_labels, cell_bytes=1)
        dense = np.zeros((self.n_workers, self.n_items, self.n_labels), dtype=np.int8)
        dense[self.worker, self.item, self.label] = self.value
        return dense

    # -- counting ----------------------------------------------------------------------------------------------

    def describe(self, *, n_boot: int = 200, seed: int = 0) -> Description:
        """Counts and agreement. `seed` fixes the bootstrap, and the sample of items where there are very many.

        Several samples of one worker on a pair agree with each other rather than with others: they count as one vote.
        """
        return describe(self, n_boot, seed)
