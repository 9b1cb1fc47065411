"""From votes in the order of a table to sorted votes: blanks and duplicates go, contradictions are refused or resolved.

Almost all tables have neither duplicates nor contradictions, so that is asked first, without a copy. Only where there
are some are the rows told apart again, which needs the packed keys in the order of the table a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Codes, Ints, Signs
from amcc.errors import ConflictError, EmptyInputError, ParameterError
from amcc.tables import Coded
from amcc.votes.reading import OnConflict, Reading
from amcc.votes.vote_keys import KeyLayout, any_neighbours, same_question


@dataclass(frozen=True)
class VoteRows:
    """Votes as codes, in the order of the table, not yet sorted; value 0 is a blank row.

    codes : item, worker and label of each vote; names : their vocabularies
    time, sample : (n_votes,) when each vote was given, and which of a worker's samples it belongs to, if known
    row : (n_votes,) the table's row of each vote, from 0, where a row makes several votes
    """

    codes: Mapping[str, Coded]
    value: Coded
    names: Mapping[str, pa.Array]
    reading: Reading
    time: npt.NDArray[Any] | None = None
    sample: npt.NDArray[Any] | None = None
    row: Ints | None = None

    def keys(self, layout: KeyLayout) -> Ints:
        """(n_votes,) the votes packed, negative where blank."""
        return layout.pack(self.codes["item"], self.codes["label"], self.codes["worker"], self.value)

    def asked(self, layout: KeyLayout) -> tuple[Ints, Ints]:
        """The places of votes that are not blank, and their keys: only made where rows must be told apart."""
        keys = self.keys(layout)
        places = np.flatnonzero(keys >= 0)
        return places, keys[places]

    def moments(self, places: Ints) -> npt.NDArray[Any]:
        """What orders votes in time: their time if there is one, else their place in the table."""
        return places if self.time is None else self.time[places]

    def contradiction(self, key: int, places: Sequence[int], n_conflicts: int, layout: KeyLayout) -> ConflictError:
        """The error that a worker says both yes and no in these two places."""
        rows = sorted(int(place if self.row is None else self.row[place]) + 1 for place in places)
        item, worker, label, _ = (int(code[0]) for code in layout.unpack(np.array([key])))
        names = {"item": item, "worker": worker, "label": label}
        said = {role: self.names[role][code].as_py() for role, code in names.items()}
        more = f" There are {n_conflicts} such cases." if n_conflicts > 1 else ""
        return ConflictError(
            f"a worker must say yes or no to a question, not both; worker {said['worker']!r} says both "
            f"for item {said['item']!r}, label {said['label']!r} (row {rows[0]} and "
            f"{rows[1]}).{more} "
            "Remove one of them, or let the last one count: on_conflict='last' (command line: --on-conflict last). For "
            "a language model that was asked several times, say so: a column 'sample', or on_conflict='samples'."
        )


def sort_and_merge(rows: VoteRows, on_conflict: OnConflict) -> tuple[tuple[Codes, Codes, Codes, Signs], Reading]:
    """Sort votes by item, label, worker; drop blanks and duplicates; refuse or resolve contradictions; keep samples.

    Returns item, worker, label and value of the votes that are left, and what was decided.
    """
    if on_conflict not in get_args(OnConflict):
        raise ParameterError(f"on_conflict must be 'error', 'last' or 'samples'; got {on_conflict!r}.")
    layout = KeyLayout.of(rows.names)
    keys = rows.keys(layout)
    if any_neighbours(keys, np.greater_equal):  # files are often sorted already
        keys.sort()
    n_blanks = int(np.searchsorted(keys, 0))  # blank rows are negative
    if n_blanks:
        keys = keys[n_blanks:].copy()  # its own memory, which is given back while votes are made of it
    if len(keys) == 0:
        raise EmptyInputError("there must be at least one vote; every row is blank, so nobody was asked anything.")
    reading = replace(rows.reading, blanks=rows.reading.blanks + n_blanks)
    if any_neighbours(keys, same_question):
        merge = _one_per_question if rows.sample is None else _one_per_sample
        keys, reading = merge(keys, rows, on_conflict, reading, layout)
    return layout.unpack(keys), reading


def _one_per_question(
    keys: Ints, rows: VoteRows, on_conflict: OnConflict, reading: Reading, layout: KeyLayout
) -> tuple[Ints, Reading]:
    """One vote of a worker on a pair, unless all of them are samples.

    keys : sorted. Returns those that are kept, sorted, and what was decided.
    """
    again = same_question(keys[1:], keys[:-1])
    if on_conflict == "samples":
        return keys, replace(reading, samples=int(again.sum()))
    # Of [no, no, yes], the first two repeat each other, and the last two contradict each other: one case of each.
    repeated = keys[1:] == keys[:-1]
    contradicts = again & ~repeated
    n_conflicts = int(contradicts.sum())
    if n_conflicts == 0:
        kept = keys[np.append(True, ~repeated)]
    elif on_conflict == "error":
        key = int(keys[contradicts.argmax()])
        places, unsorted = rows.asked(layout)
        # The no comes before the yes, so that `key` ends in 0.
        first = [int(places[(unsorted == (key | said)).argmax()]) for said in (1, 0)]
        raise rows.contradiction(key, first, n_conflicts, layout)
    else:
        places, unsorted = rows.asked(layout)
        latest = unsorted[np.lexsort((rows.moments(places), unsorted >> 1))]
        kept = latest[np.append(latest[1:] >> 1 != latest[:-1] >> 1, True)]  # the last of each question
    return kept, replace(reading, duplicates_dropped=int(repeated.sum()), conflicts_resolved=n_conflicts)


def _one_per_sample(
    keys: Ints, rows: VoteRows, on_conflict: OnConflict, reading: Reading, layout: KeyLayout
) -> tuple[Ints, Reading]:
    """One vote of each sample of a worker on a pair: of what is said twice in one sample, the last counts.

    The sample is no part of a key, which has no bits left for it; so rows are sorted by question, sample and time.
    """
    places, keys = rows.asked(layout)
    assert rows.sample is not None  # for the type checker: else `_one_per_question` is called
    sample = rows.sample[places]
    order = np.lexsort((rows.moments(places), sample, keys >> 1))
    keys, sample, places = keys[order], sample[order], places[order]
    again = same_question(keys[1:], keys[:-1]) & (sample[1:] == sample[:-1])
    contradicts = again & (keys[1:] != keys[:-1])
    n_conflicts = int(contradicts.sum())
    if n_conflicts and on_conflict == "error":
        first = int(contradicts.argmax())
        raise rows.contradiction(int(keys[first]), places[[first, first + 1]].tolist(), n_conflicts, layout)
    kept = np.sort(keys[np.append(~again, True)])
    return kept, replace(
        reading,
        duplicates_dropped=int((again & ~contradicts).sum()),
        conflicts_resolved=n_conflicts,
        samples=int((np.diff(kept >> 1) == 0).sum()),
    )
