"""Tables that record only what was ticked: what was not ticked must be made a "no", or left out.

Each row is a tick (worker, item, label) or an answer (worker, item, labels). Whether an unticked label is a "no" is
said by a column `asked`, which lists the labels that were asked about, or by the user for the whole table
(`unmentioned`). Votes are made as keys row · n_labels + label: such keys are unique for a question.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import tables
from amcc.arrays import Ints, Signs, find_sorted
from amcc.errors import ColumnError, EmptyInputError, ParameterError, VoteValueError
from amcc.memory import check_size
from amcc.tables import Coded, Columns, Ids
from amcc.votes.reading import Unmentioned

# What a vote that was not written down takes while it is made: its row, its label, and both sorted.
VOTE_BYTES = 40


class Ticks(NamedTuple):
    """What was ticked, answer by answer.

    answer_row : (n_answers,) the row that stands for each answer, sorted; n_blanks : rows without an answer
    row, labels : (n_ticks,) the answer's row and the label of each tick
    """

    answer_row: Ints
    n_blanks: int
    row: Ints
    labels: Ids


class TickedVotes(NamedTuple):
    """Votes that ticks stand for: the row, label and value of each, and how many rows were blank."""

    row: Ints
    labels: Ids
    value: Signs
    n_blanks: int


def votes_from_ticks(
    columns: Columns,
    item: Ids,
    worker: Ids,
    sample: npt.NDArray[Any] | None,
    *,
    known_labels: pa.Array | None,
    unmentioned: Unmentioned | None,
    label_separator: str | None,
) -> TickedVotes:
    """Expand a table that records only what was ticked to votes, in the order of its rows.

    Parameters
    ----------
    columns : the table; item, worker, sample : its rows as codes.
    known_labels : the whole label list, if the user gave it; else it is what the table names.
    unmentioned, label_separator : see `Votes.from_frame`.
    """
    _refuse_unclear(columns, unmentioned)
    if columns.has("labels"):
        lists = columns.lists("labels", label_separator)
        ticks = Ticks(np.flatnonzero(~lists.missing), int(lists.missing.sum()), lists.row, lists.labels)
    else:
        ticks = _ticks_by_answer(columns, item, worker, sample)
    questions: Ints | None
    if columns.has("asked"):
        vocabulary, questions = _listed_questions(columns, ticks, known_labels, label_separator)
    else:
        vocabulary = ticks.labels.names if known_labels is None else known_labels
        questions = _all_questions(ticks, vocabulary, unmentioned)
    n_labels = len(vocabulary)
    # Only now: `asked` may have named labels that nobody ticked.
    column = columns.roles.get("labels") or columns.roles["label"]
    ticked = np.unique(ticks.row * n_labels + tables.recode(ticks.labels, vocabulary, "label", column).codes)
    if questions is None:  # only the ticks are known, and all of them are yes
        vote, value = ticked, np.ones(len(ticked), dtype=np.int8)
    else:
        vote, value = questions, np.full(len(questions), -1, dtype=np.int8)
        place, was_asked = find_sorted(questions, ticked)
        if not was_asked.all():
            bad_row, code = divmod(int(ticked[~was_asked][0]), n_labels)
            raise VoteValueError(
                f"a label that was given must be among those asked; row {bad_row + 1} gives "
                f"{vocabulary[code].as_py()!r}, which column {columns.roles['asked']!r} does not list."
            )
        value[place] = 1
    row, label = np.divmod(vote, max(n_labels, 1))  # without a label there is no vote either
    return TickedVotes(row, Ids(Coded.of(label.astype(np.int32)), vocabulary), value, ticks.n_blanks)


def _refuse_unclear(columns: Columns, unmentioned: Unmentioned | None) -> None:
    """Raise an error where it cannot be known what a row, or a label that it does not mention, says."""
    if columns.has("value"):
        raise ColumnError(
            f"a table with lists of labels cannot have a value per row; columns {columns.roles['labels']!r} and "
            f"{columns.roles['value']!r} are both there. Drop or rename one of them."
        )
    if unmentioned is None and not columns.has("asked"):
        raise ParameterError(
            "the table records only the labels that were given, so it must be said what the others mean: "
            "unmentioned='absent' (the worker saw the whole list and did not give them) or 'unknown' "
            "(command line: --unmentioned absent, --unmentioned unknown). "
            "A column 'asked' with the labels that were asked about says it row by row."
        )


def _ticks_by_answer(columns: Columns, item: Ids, worker: Ids, sample: npt.NDArray[Any] | None) -> Ticks:
    """One row per tick: all rows of a worker on an item (in one sample) are one answer, kept under its first row."""
    answer = item.codes.astype(np.int64) * len(worker.names) + worker.codes
    if sample is not None:  # a worker who is asked again gives another answer
        answer = answer * (int(sample.max(initial=0)) + 1) + sample
    _, first, inverse = np.unique(answer, return_index=True, return_inverse=True)
    return Ticks(np.sort(first), 0, first[inverse], columns.ids("label"))  # which refuses a row without a label


def _listed_questions(
    columns: Columns, ticks: Ticks, known_labels: pa.Array | None, label_separator: str | None
) -> tuple[pa.Array, Ints]:
    """The label list, and the keys of the questions that the column `asked` lists, sorted."""
    asked = columns.lists("asked", label_separator)
    if known_labels is None:
        known_labels = tables.with_further_names(ticks.labels.names, asked.labels.names)
    label = tables.recode(asked.labels, known_labels, "label", columns.roles["asked"]).codes
    # Ticks of one answer repeat the same list: the one of the row that stands for the answer counts. A row without an
    # answer asks nothing: whoever was asked and did not answer has not said no.
    counts = np.isin(asked.row, ticks.answer_row)
    return known_labels, np.unique(asked.row[counts] * len(known_labels) + label[counts])


def _all_questions(ticks: Ticks, vocabulary: pa.Array, unmentioned: Unmentioned | None) -> Ints | None:
    """The keys of every label of every answer, sorted; None where labels that are not mentioned are unknown."""
    if len(vocabulary) == 0:
        raise EmptyInputError(
            "there must be at least one label; no row names any. Give the label list: labels=[…] (--labels FILE)."
        )
    if unmentioned != "absent":
        return None
    check_size(
        "a vote for every label of every answer",
        "Say in a column 'asked' which labels were asked about, or use unmentioned='unknown' (command line: "
        "--unmentioned unknown).",
        len(ticks.answer_row),
        len(vocabulary),
        cell_bytes=VOTE_BYTES,
    )
    # Rows are sorted, so that these keys are too: sorting them would take most of the time of reading.
    return np.add.outer(ticks.answer_row * len(vocabulary), np.arange(len(vocabulary))).ravel()
