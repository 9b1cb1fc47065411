"""Items with features and true labels, but without votes: the sets on which workers are simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amcc.arrays import Floats, Mask
from amcc.errors import FileFormatError, InputError
from amcc.files import check_readable
from amcc.linalg import first_not_finite


@dataclass(frozen=True)
class FeatureSet:
    """Features and true labels of the same items.

    Parameters
    ----------
    features : (n_items, n_features) finite numbers.
    truth : (n_items, n_labels) bool.
    item_names : (n_items,); label_names : (n_labels,).
    """

    features: Floats
    truth: Mask
    item_names: tuple[str, ...]
    label_names: tuple[str, ...]

    def __post_init__(self) -> None:
        # Sets come from files that others made: checked once here, no reader or simulation needs to check again.
        if self.features.ndim != 2 or self.truth.shape != (len(self.item_names), len(self.label_names)):
            raise InputError(
                f"features and truth must be tables with a row for each of {len(self.item_names)} items, and truth a "
                f"column for each of {len(self.label_names)} labels; got the shapes {self.features.shape} and "
                f"{self.truth.shape}."
            )
        if len(self.features) != len(self.truth):
            raise InputError(
                f"features and truth must have the same items; got {len(self.features)} and {len(self.truth)}."
            )
        if (wrong := first_not_finite(self.features)) is not None:
            item, column = wrong
            raise InputError(
                f"features must be finite numbers; item {self.item_names[item]!r} has {self.features[item, column]} in "
                f"column {column}."
            )


def read_npz(path: Path) -> FeatureSet:
    """Read arrays X (features), Y (labels, 0 and 1), items and label_names from a numpy archive."""
    check_readable(path)
    try:
        # Pickles run code when they are read, and data sets come from strangers.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            features, labels, items, label_names = (held[name] for name in ("X", "Y", "items", "label_names"))
    except Exception as error:  # of zip, zlib, tokenize …: a damaged file fails in a dozen ways
        raise FileFormatError(
            f"{path} must be a numpy archive of X, Y, items and label_names without Python objects; {error}."
        ) from None
    names = tuple(map(str, items)), tuple(map(str, label_names))
    return FeatureSet(np.asarray(features, dtype=np.float64), np.asarray(labels) > 0, *names)
