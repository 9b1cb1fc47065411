"""Folders in which votes and their truth lie side by side: the common layout of all data sets.

What each file holds: `registry.LAYOUTS`. Not asked, asked and denied, known and not known are kept apart all the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Mask
from amcc.data.feature_set import read_npz
from amcc.errors import InputError
from amcc.io import read_truth, read_votes
from amcc.truth import positions
from amcc.votes import Votes

VOTES_FILE, FEATURES_FILE = "annotations.csv.gz", "features.npz"


@dataclass(frozen=True)
class CrowdSet:
    """Votes with what is true, where that is known, and perhaps features.

    Parameters
    ----------
    votes : Votes
    truth, known : (n_items, n_labels) bool, in the order of `votes.item_names` and `votes.label_names`. What is not
        known is False in both: look at `truth` only where `known`.
    features : (n_items, n_features), None without features.
    """

    votes: Votes
    truth: Mask
    known: Mask
    features: Floats | None = None


def read_crowd(folder: Path) -> CrowdSet:
    """Read annotations.csv.gz and, where they are there, the truth and the features beside it.

    truth.csv lists what is true, of all items or of those in truth_items.csv, or of the pairs in truth_known.csv.
    """
    votes = read_votes(folder / VOTES_FILE)
    return CrowdSet(votes, *_truth_of(votes, folder), _features_of(votes.item_names, folder / FEATURES_FILE))


def _truth_of(votes: Votes, folder: Path) -> tuple[Mask, Mask]:
    """What is true, and which pairs that is known for, both (n_items, n_labels)."""
    listed, known_pairs, known_items = (folder / f"truth{part}.csv" for part in ("", "_known", "_items"))
    if not listed.exists():
        nothing = np.zeros((votes.n_items, votes.n_labels), dtype=bool)
        return nothing, nothing.copy()
    # Pairs first: who lists them knows more exactly than who lists items.
    if known_pairs.exists():
        truth = read_truth(listed, known_pairs=known_pairs)
    elif known_items.exists():
        truth = read_truth(listed, known_items=known_items)
    else:
        truth = read_truth(listed, unmentioned="absent")
    return truth.matrices(votes.item_names, votes.label_names)


def _features_of(item_names: pa.Array, path: Path) -> Floats | None:
    """Features of these items, in this order; the file may describe others, too."""
    if not path.exists():
        return None
    described = read_npz(path)
    row = positions(item_names, pa.array(described.item_names, pa.string()))
    if (row < 0).any():
        missing = item_names[int(np.argmin(row))].as_py()
        raise InputError(f"{path} must describe all items of the votes; item {missing!r} is not in it.")
    return described.features[row]
