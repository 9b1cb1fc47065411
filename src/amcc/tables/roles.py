"""Which column is what: the worker, the item, the label, the value, … and a table where that is known (`Columns`).

A user may say it (`columns=`, `--columns`); otherwise a column is found by its name. Where two columns could be meant
nothing is guessed: the error says how to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa

from amcc.errors import ColumnError, ParameterError
from amcc.tables.arrow_types import is_list, value_type
from amcc.tables.frames import as_arrow
from amcc.tables.ids_to_codes import Ids, distinct_ids, encode_ids
from amcc.tables.label_lists import LabelLists, encode_lists
from amcc.tables.quoting import listed

Role = Literal["worker", "item", "label", "labels", "value", "asked", "time", "sample"]
ROLES: tuple[Role, ...] = get_args(Role)

# The first name of a role is its own; the others are what other tools and platforms call it. Compared without
# case, spaces, dashes and underscores, so that "Worker ID" is "worker_id". "sample" is an item for most tools; it
# is the number of a sample only where another column is the item, since roles are filled in the order of ROLES.
ALIASES: dict[Role, tuple[str, ...]] = {
    "worker": (
        "worker", "worker_id", "annotator", "annotator_id", "annotator_name", "rater", "rater_id", "user", "user_id",
        "labeler", "labeler_id", "labeller", "labeller_id", "coder", "coder_id", "performer", "performer_id",
        "judge", "judge_id", "participant", "participant_id",
    ),
    "item": (
        "item", "item_id", "task", "task_id", "sample", "sample_id", "instance", "instance_id", "example",
        "example_id", "unit", "unit_id", "document", "document_id", "doc", "doc_id", "image", "image_id",
    ),
    "label": ("label", "label_name", "tag", "tag_name", "class", "class_name", "category"),
    "labels": ("labels", "label_set", "tags", "tag_set", "classes", "categories"),
    "value": ("value", "vote", "answer", "response", "present", "given", "score", "rating"),
    "asked": ("asked", "asked_labels", "labels_asked"),
    "time": ("time", "timestamp", "submitted_at", "created_at"),
    "sample": ("sample", "sample_number", "draw", "repetition", "repeat", "replicate", "run"),
}  # fmt: skip

# A table has one of the two; the one that is mapped explicitly wins.
OTHER_LAYOUT: dict[Role, Role] = {"label": "labels", "labels": "label"}


def match_columns(
    names: Sequence[str],
    wanted: Mapping[str, str] | None = None,
    needed: Sequence[Role] = ("worker", "item", "label"),
    roles: Sequence[Role] = ROLES,
) -> dict[Role, str]:
    """Decide which column plays which of `roles`, by an explicit mapping first and known aliases second.

    Where "label" is needed, "labels" will do.

    >>> match_columns(["task", "Annotator ID", "label", "noise"])
    {'worker': 'Annotator ID', 'item': 'task', 'label': 'label'}
    """
    wanted = dict(wanted or {})
    _check_mapping(wanted, names)
    found: dict[Role, str] = {}
    for role in roles:
        if role in wanted:
            found[role] = wanted[role]
        # Whoever maps `label` does not mean `labels`, even if there is such a column.
        elif OTHER_LAYOUT.get(role) in wanted:
            continue
        else:
            # A column that is mapped, or has a role already, has no second one.
            free = [name for name in names if name not in {*wanted.values(), *found.values()}]
            if alike := only_column(role, ALIASES[role], free, _say_which):
                found[role] = alike
    for role in needed:
        if role not in found and not (role == "label" and "labels" in found):
            raise ColumnError(_missing(role, names))
    if "label" in found and "labels" in found:
        raise ColumnError(
            f"a table has one label per row or one list per row; columns {found['label']!r} and {found['labels']!r} "
            f"are both there. Leave one out, or map the one that counts: columns={{'label': {found['label']!r}}} "
            f"(command line: --columns label={found['label']})."
        )
    return found


def _check_mapping(wanted: Mapping[str, str], names: Sequence[str]) -> None:
    """What the user says about columns must be about roles and columns that there are, each once."""
    for role, column in wanted.items():
        if role not in ROLES:
            raise ParameterError(f"columns can be mapped for {', '.join(ROLES)}; got {role!r}.")
        if column not in names:
            raise ColumnError(f"column {column!r}, given for {role!r}, is missing; the columns are {listed(names)}.")
    if len(set(wanted.values())) < len(wanted):
        raise ColumnError(f"a column can be one thing only; the mapping {wanted} names one twice.")


def columns_named(aliases: tuple[str, ...], names: Iterable[str]) -> list[str]:
    """Those of the names that are one of the aliases, whatever their case, spaces, dashes and underscores.

    >>> columns_named(("worker_id",), ["WorkerID", "worker id", "worker"])
    ['WorkerID', 'worker id']
    """
    return [name for name in names if _plain(name) in _plain_names(aliases)]


@cache  # asked for every role of every batch of a large file
def _plain_names(aliases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_plain, aliases))


def _plain(name: str) -> str:
    # A byte-order mark before the first column's name is left by some spreadsheets.
    return "".join(char for char in name.lower().lstrip("\ufeff") if char.isalnum())


def only_column(
    role: str, aliases: tuple[str, ...], names: Sequence[str], way_out: Callable[[str, str], str]
) -> str | None:
    """The column that is called like the role, None if there is none; ColumnError where several could be meant.

    The role's own name, the first of the aliases, beats the others. `way_out(role, column)` ends the error's text.
    """
    candidates = columns_named(aliases, names)
    own = columns_named(aliases[:1], candidates)
    chosen = own if len(own) == 1 else candidates
    if len(chosen) > 1:
        raise ColumnError(
            f"one column must hold the {role}; {listed(chosen)} all look like it. {way_out(role, chosen[0])}"
        )
    return chosen[0] if chosen else None


def _say_which(role: str, column: str) -> str:
    return f"Say which: columns={{{role!r}: {column!r}}} (command line: --columns {role}={column})."


def _missing(role: Role, names: Sequence[str]) -> str:
    """The error's text where no column plays a role that is needed."""
    # A header that is one name with a separator in it was cut at another separator.
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        hint = " The header looks as if another separator were used: give it with separator= (--separator)."
    return (
        f"a column for the {role} is missing; the columns are {listed(names)}. Rename it to {role!r}, or map it: "
        f"columns={{{role!r}: 'your column'}} (command line: --columns {role}=your_column).{hint}"
    )


class Columns(NamedTuple):
    """The columns of a table that play a role, and which is which.

    Ask with `has` whether a role is there before asking for its cells, ids or lists.
    """

    table: pa.Table
    roles: Mapping[Role, str]

    def has(self, role: Role) -> bool:
        """Whether a column plays this role."""
        return role in self.roles

    def cells(self, role: Role) -> pa.ChunkedArray:
        """The column as it is."""
        return self.table[self.roles[role]]

    def ids(self, role: Role) -> Ids:
        """The column's names as codes."""
        return encode_ids(self.cells(role), role, self.roles[role])

    def distinct_ids(self, role: Role) -> Ids:
        """The same where the names need no order."""
        return distinct_ids(self.cells(role), role, self.roles[role])

    def lists(self, role: Role, separator: str | None = None) -> LabelLists:
        """The column's lists of labels as codes."""
        return encode_lists(self.cells(role), self.roles[role], separator)


def read_columns(
    frame: Any,
    wanted: Mapping[str, str] | None = None,
    needed: Sequence[Role] = ("worker", "item", "label"),
    roles: Sequence[Role] = ROLES,
) -> Columns:
    """The columns of a data frame that play a role; a `label` column of lists is `labels`.

    Columns without a role are not even converted. The arguments are those of `match_columns`.

    >>> columns = read_columns(pa.table({"Rater": ["bob", "ann"], "task": [7, 8], "tag": ["x", "y"]}))
    >>> columns.roles["worker"], columns.ids("worker").codes.tolist()
    ('Rater', [1, 0])
    """
    found: dict[Role, str] = {}

    def choose(names: Sequence[str]) -> list[str]:
        found.update(match_columns(names, wanted, needed, roles))
        return list(found.values())

    table = as_arrow(frame, choose)
    if "label" in found and is_list(value_type(table[found["label"]])):
        found["labels"] = found.pop("label")
    return Columns(table, found)
