"""SONYC-UST as its makers publish it: one row per clip and annotator, one column per tag.

Tags are `1-2_medium-sounding-engine_presence` (fine), `1_engine_presence` (coarse) and `1-X_…` (other or unknown, left
out). Values are 1 = present, 0 = absent, −1 = not asked. Annotators above 0 are volunteers; 0 is what the makers of the
data agreed on, which is taken as truth; those below 0 are single members of their team and left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import Ints, Mask
from amcc.data.layout import CrowdSet
from amcc.errors import ColumnError, EmptyInputError, VoteValueError
from amcc.io import read_table
from amcc.tables import vocabulary_of
from amcc.truth import positions
from amcc.votes import Votes

# Fine tags (23) are kinds of the coarse ones (8): a jackhammer is an impact of machines.
Level = Literal["fine", "coarse"]
ANNOTATOR, CLIP = "annotator_id", "audio_filename"
# 1-2_… is fine, 1_… coarse; 1-X_… is neither, because what people meant by "other" is not known.
TAG = {"fine": re.compile(r"\d+-\d+_.+(?=_presence$)"), "coarse": re.compile(r"\d+_.+(?=_presence$)")}
# The annotator who stands for what the makers of the data agreed on.
AGREED = 0


def read_sonyc(path: Path, *, level: Level = "fine", verified_only: bool = True) -> CrowdSet:
    """Read annotations.csv as published.

    Parameters
    ----------
    path : the file.
    level : which tags are the labels.
    verified_only : only the clips that have a truth. Without it, volunteers are known better: they answered more.
    """
    table = read_table(path)
    tags = _tag_columns(path, table.column_names, level)
    annotator = _numbers(path, table, ANNOTATOR)
    clip = pc.cast(table[CLIP], pa.string()).combine_chunks()
    value = np.column_stack([_numbers(path, table, column) for column in tags])
    if not np.isin(value, (-1, 0, 1)).all():
        raise VoteValueError(f"{path}: presence must be 1, 0 or -1 (not asked); got {np.unique(value)[:8].tolist()}.")
    by_crowd, agreed = annotator > AGREED, annotator == AGREED
    if verified_only:
        # A clip is verified if it has a row of the agreed annotator, whatever that row says.
        by_crowd &= np.asarray(pc.is_in(clip, value_set=clip.filter(pa.array(agreed))))
    if not by_crowd.any():
        raise EmptyInputError(f"{path} must hold answers of volunteers ({ANNOTATOR} above 0); there is none to use.")
    votes = _votes(clip.filter(pa.array(by_crowd)), annotator[by_crowd], value[by_crowd], list(tags.values()))
    return CrowdSet(votes, *_truth(votes, clip.filter(pa.array(agreed)), value[agreed]))


def _tag_columns(path: Path, names: list[str], level: Level) -> dict[str, str]:
    """Column → label, of the tags of that level."""
    tags = {name: found.group() for name in names if (found := TAG[level].match(name))}
    missing = [name for name in (ANNOTATOR, CLIP) if name not in names]
    if missing or not tags:
        wanted = ", ".join(missing or [f"{level} tags such as 1-1_…_presence (fine) or 1_…_presence (coarse)"])
        raise ColumnError(f"{path} must have the columns of SONYC-UST; {wanted} is not there.")
    return tags


def _numbers(path: Path, table: pa.Table, column: str) -> Ints:
    """(n_rows,) whole numbers of a column."""
    try:
        # By way of text and float, which takes 1 and 1.0 in whatever type the column was read.
        cells = table[column].cast(pa.string()).cast(pa.float64()).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise VoteValueError(f"{path}: column {column!r} must hold whole numbers; {error}.") from None
    return np.asarray(cells.to_numpy())


def _votes(clip: pa.Array, annotator: Ints, value: Ints, labels: list[str]) -> Votes:
    """Votes of the volunteers.

    clip, annotator : (n_answers,); value : (n_answers, n_labels) of 1, 0 and −1 = not asked, as in the file.
    """
    # Annotators are sorted as numbers, 7 before 12, and clips as text.
    item_names, worker_names = vocabulary_of(sorted(set(clip.to_pylist())), "item"), np.unique(annotator)
    item, worker = positions(clip, item_names), np.searchsorted(worker_names, annotator)
    return Votes.from_codes(
        np.repeat(item, len(labels)),
        np.repeat(worker, len(labels)),
        np.tile(np.arange(len(labels)), len(item)),
        np.where(value < 0, 0, 2 * value - 1).ravel(),  # 0 → −1, a no; −1 → 0, no vote
        item_names=item_names,
        worker_names=worker_names.astype(str),
        label_names=labels,
        on_conflict="last",  # should a volunteer stand twice at a clip: what they said last
    )


def _truth(votes: Votes, clip: pa.Array, value: Ints) -> tuple[Mask, Mask]:
    """What is true, and where that is known, both (n_items, n_labels); clip and value as in `_votes`."""
    truth, known = np.zeros((2, votes.n_items, votes.n_labels), dtype=bool)
    item = positions(clip, votes.item_names)
    truth[item[item >= 0]] = value[item >= 0] == 1
    known[item[item >= 0]] = value[item >= 0] >= 0
    return truth, known
