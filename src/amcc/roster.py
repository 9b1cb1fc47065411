"""Who the workers are: people, language models or programs, and which of them are likely to err together.

A roster is a table worker, kind, family, reference; the last two may be missing. Workers of one family make the same
mistakes more often than chance would have it: versions of one language model, annotators who were trained together,
rules by one author. The reference are those whose view counts. A `Roster` knows workers by name; `Seats` is what it
says about the workers of some votes, by code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.arrays import Codes, Mask, Signs
from amcc.errors import ColumnError, ConflictError, EmptyInputError, InputError
from amcc.fields import Each
from amcc.tables import a_few
from amcc.truth import positions

Kind = Literal["human", "model", "code"]
WORKER_KINDS: tuple[Kind, ...] = get_args(Kind)
HUMAN, MODEL, CODE = range(len(WORKER_KINDS))

# The columns of a roster; the first name of each is its own.
COLUMNS: dict[str, tuple[str, ...]] = {
    "worker": tables.ALIASES["worker"],
    "kind": ("kind", "worker_kind", "type", "worker_type"),
    "family": ("family", "worker_family", "model_family"),
    "reference": ("reference", "is_reference"),
}
# What a cell of the column reference may say; empty is no.
YES, NO = ("yes", "true", "1", "x"), ("", "no", "false", "0")


@dataclass(frozen=True)
class Seats:
    """What a roster says about the workers of some votes.

    kind : (n_workers,) code into `WORKER_KINDS`; family : (n_workers,) code into `family_names`, −1 for none
    reference : (n_workers,) whose view counts: who is marked, else the people whom the roster names
    """

    kind: Annotated[Signs, Each("worker", least=0)]
    family: Annotated[Codes, Each("worker", least=-1)]
    reference: Annotated[Mask, Each("worker")]
    family_names: pa.Array

    def __post_init__(self) -> None:
        # Seats may come from a file; `fields` turns a ValueError into an error that names the field.
        if self.kind.max(initial=0) >= len(WORKER_KINDS) or self.family.max(initial=-1) >= len(self.family_names):
            raise ValueError("must hold kinds that there are, and families that have a name")

    def kinds(self) -> pa.Array:
        """(n_workers,) the kinds by name."""
        return pa.array(np.array(WORKER_KINDS, dtype=object)[self.kind], pa.string())

    def families(self) -> pa.Array:
        """(n_workers,) the families by name, missing where there is none."""
        return self.family_names.take(pa.array(self.family, mask=self.family < 0))


@dataclass(frozen=True)
class Roster(tables.Tabular):
    """Kind and family of workers, by name as text, and who is the reference; a missing family is none.

    >>> roster = Roster.from_frame(pa.table({"worker": ["ann", "gpt"], "kind": ["", "model"]}))
    >>> roster.kind, roster.seats(pa.array(["gpt", "bob"])).kind
    (('human', 'model'), array([1, 0], dtype=int8))

    ignored : columns of the table that were not used, for a note.
    reference : workers that the table names as the reference; none where it does not say.

    Read it with `amcc.read_roster`, or make it from a data frame with `from_frame`.
    """

    worker: pa.Array
    kind: tuple[Kind, ...]
    family: pa.Array
    ignored: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()

    @classmethod
    def from_frame(cls, frame: Any) -> Roster:
        """Read a table worker, kind, family; one row per worker.

        Raises ColumnError, EmptyInputError, ConflictError or InputError where that is not so.

        kind is human, model or code; an empty cell is human. An empty family, or no such column, is no family. A
        column reference says yes for the workers whose view counts; without it, these are the people. Other columns
        are ignored.
        """
        names = tables.column_names(frame)
        found = {
            role: tables.only_column(role, aliases, names, lambda *_: "Rename the others.")
            for role, aliases in COLUMNS.items()
        }
        for role in ("worker", "kind"):
            if found[role] is None:
                raise ColumnError(
                    f"a workers file must have the columns worker and kind (and may have family and reference); {role} "
                    f"is missing, the columns are {', '.join(map(repr, names))}. Rename the column to {role!r}."
                )
        # In the order of COLUMNS: worker, kind, and family if it is there.
        used = [column for column in found.values() if column is not None]
        table = tables.as_arrow(frame, lambda _: used)
        if table.num_rows == 0:
            raise EmptyInputError("a workers file must name at least one worker; it has columns but no rows.")
        # Rosters have some thousand rows at most: Python lists are quick enough from here on.
        worker = tables.encode_ids(table[used[0]], "worker", str(used[0]))
        kind = _kinds(table[used[1]], str(used[1]))
        no_family: list[str | None] = [None] * table.num_rows
        family = no_family if found["family"] is None else _families(table[found["family"]], found["family"])
        text = tables.text_of(worker.names, worker.codes)
        _refuse_repeats(text.to_pylist(), kind, family)
        _refuse_mixed_families(kind, family)
        ignored = tuple(name for name in names if name not in used)
        marked = [] if found["reference"] is None else _marked(table[found["reference"]], found["reference"])
        reference = tuple(name for name, yes in zip(text.to_pylist(), marked, strict=False) if yes)
        return cls(text, tuple(kind), pa.array(family, pa.string()), ignored, reference)

    def to_arrow(self) -> pa.Table:
        """Table worker, kind, family, and reference where somebody is, as `from_frame` reads it."""
        table = {"worker": self.worker, "kind": list(self.kind), "family": self.family}
        if self.reference:
            table["reference"] = ["yes" if name in self.reference else "no" for name in self.worker.to_pylist()]
        return pa.table(table)

    def seats(self, worker_names: pa.Array) -> Seats:
        """Kinds and families of these workers; those who are not on the roster are people without a family."""
        names, place = tables.text_of(worker_names), positions(worker_names, self.worker)
        listed = place >= 0
        if not listed.any():
            raise EmptyInputError(
                f"a workers file must name workers of the votes; none of its {len(self.worker):,} workers voted. It "
                f"names {a_few(self.worker)}; the votes {a_few(names)}. Write them alike."
            )
        # A slip in one name would make a language model a human, silently.
        tables.refuse_slips(self.worker, names, "worker")
        code = np.array([WORKER_KINDS.index(each) for each in self.kind], np.int8)
        # Sorted, so that codes of families do not depend on the order of rows.
        families = pc.unique(self.family.drop_null()).sort()
        of_row = positions(self.family, families)  # −1 for no family
        # Place −1, of workers who are not listed, takes the last row, which is then not used.
        kind = np.where(listed, code[place], HUMAN).astype(np.int8)
        # A newcomer whom nobody has named yet may be anybody, so the reference are people who are named.
        marked = np.isin(np.array(names.to_pylist(), dtype=object), self.reference)
        reference = marked if self.reference else listed & (kind == HUMAN)
        return Seats(kind, np.where(listed, of_row[place], -1).astype(np.int32), reference, families)

    def notes(self, worker_names: pa.Array) -> list[str]:
        """What a person should know about how the roster meets these workers."""
        names = tables.text_of(worker_names)
        # Neither is an error: a file of all workers serves for any part of the votes.
        absent = names.filter(pc.invert(pc.is_in(names, value_set=self.worker)))
        silent = self.worker.filter(pc.invert(pc.is_in(self.worker, value_set=names)))
        sentences = []
        if self.ignored:
            sentences.append(f"workers file: columns that are not used: {', '.join(map(repr, self.ignored))}")
        if len(absent):
            sentences.append(
                f"{len(absent):,} of {len(names):,} workers are not in the workers file and count as people without a "
                f"family: {a_few(absent)}"
            )
        if len(silent):
            sentences.append(f"{len(silent):,} of the workers file never voted: {a_few(silent)}")
        return sentences + tables.note_on_lookalikes(pc.unique(self.family.drop_null()), "family")


def _kinds(column: pa.ChunkedArray, name: str) -> list[Kind]:
    """The kind in each row; case and spaces do not matter, and an empty cell is a human."""
    kinds: list[Kind] = []
    for row, cell in enumerate(column.to_pylist(), start=1):
        word = "" if cell is None else str(cell).strip().lower()
        if word not in (*WORKER_KINDS, ""):
            raise InputError(
                f"a kind must be {', '.join(WORKER_KINDS[:-1])} or {WORKER_KINDS[-1]}, or empty for human; column "
                f"{name!r} has "
                f"{cell!r} in row {row}. Correct it."
            )
        kinds.append(next((kind for kind in WORKER_KINDS if kind == word), WORKER_KINDS[HUMAN]))
    return kinds


def _marked(column: pa.ChunkedArray, name: str) -> list[bool]:
    """Whether each row says that the worker is the reference."""
    words = ["" if cell is None else str(cell).strip().lower() for cell in column.to_pylist()]
    for row, word in enumerate(words, start=1):
        if word not in YES + NO:
            raise InputError(
                f"the column {name!r} must say yes for workers whose view counts, and no or nothing for others; got "
                f"{word!r} in row {row}. Correct it."
            )
    return [word in YES for word in words]


def _families(column: pa.ChunkedArray, name: str) -> list[str | None]:
    """The family in each row, None where the cell is empty."""
    if not (tables.is_text(tables.value_type(column)) or pa.types.is_null(column.type)):
        tables.encode_ids(column.drop_null(), "family", name)  # numbers, if nothing else: for its errors
    cells = column.to_pylist()
    return [None if cell is None or not str(cell).strip() else str(cell) for cell in cells]


def _refuse_repeats(workers: list[str], kind: list[Kind], family: list[str | None]) -> None:
    """A worker stands there once: a second row would be a slip, or say something else."""
    first: dict[str, int] = {}
    for row, worker in enumerate(workers):
        before = first.setdefault(worker, row)
        if before == row:
            continue
        if (kind[before], family[before]) != (kind[row], family[row]):
            said = [f"{kind[at]}, family {family[at] or 'none'} in row {at + 1}" for at in (before, row)]
            raise ConflictError(
                f"a workers file must say one thing of each worker; {worker!r} is {' and '.join(said)}. Drop one row."
            )
        raise InputError(
            f"every worker must stand in a workers file once; row {row + 1} repeats row {before + 1} ({worker!r}). "
            "Drop one."
        )


def _refuse_mixed_families(kind: list[Kind], family: list[str | None]) -> None:
    """All of a family are of one kind: what they share depends on it."""
    first: dict[str, int] = {}
    for row, name in enumerate(family):
        # Workers without a family have nothing in common.
        before = row if name is None else first.setdefault(name, row)
        if kind[before] != kind[row]:
            raise ConflictError(
                f"workers of one family must be of one kind; family {name!r} has a {kind[before]} in row {before + 1} "
                f"and a {kind[row]} in row {row + 1}. Give them different families, or correct the kind."
            )
