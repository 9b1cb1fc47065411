"""Finding the public data sets on this machine, reading them, and comparing them with the registry.

Nothing is downloaded. A folder of data sets holds one folder per set, named as in the registry and laid out as
`registry.LAYOUTS` says; SONYC-UST and the MULAN sets are also read as their makers publish them.
"""

from __future__ import annotations

import os
from pathlib import Path

from amcc.data.feature_set import FeatureSet, read_npz
from amcc.data.layout import FEATURES_FILE, VOTES_FILE, CrowdSet, read_crowd
from amcc.data.mulan import read_mulan
from amcc.data.registry import known_set
from amcc.data.sonyc import Level, read_sonyc
from amcc.errors import FileFormatError, InputError, ParameterError

__all__ = ["VARIABLE", "check_set", "counts_of", "data_folder", "is_present", "read_feature_set", "read_set"]

# The environment variable with the folder of data sets, for those who do not want to name it in each command.
VARIABLE = "AMCC_DATA"

# Level of the tags, and whether only clips with a truth are meant.
SONYC_PARTS: dict[str, tuple[Level, bool]] = {
    "sonyc_ust_fine_val": ("fine", True),
    "sonyc_ust_fine_all": ("fine", False),
    "sonyc_ust_coarse_val": ("coarse", True),
}
# One file serves all three parts: it may lie in the folder of a part or in this one.
SONYC_FOLDER = "sonyc_ust"
# mulan_yeast is read from yeast.xml and yeast.arff.
MULAN_PREFIX = "mulan_"


def data_folder(option: Path | None) -> Path | None:
    """The folder of data sets: the one named, else that of the environment variable AMCC_DATA, else None."""
    named = os.environ.get(VARIABLE)
    folder = option or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        # A folder that is not in the command must come from somewhere: say from where.
        origin = "" if option else f" ({VARIABLE})"
        raise InputError(f"{folder}{origin} must be a folder with data sets in it; there is no such folder.")
    return folder


def is_present(name: str, folder: Path) -> bool:
    """Whether the set's files lie below the folder, in either layout."""
    return (folder / name / _main_file(name)).exists() or _original(name, folder) is not None


def read_set(name: str, folder: Path) -> CrowdSet:
    """Votes and truth of a set below the folder; the common layout comes before the source's own.

    Parameters
    ----------
    name : of the registry, with the layout "votes".
    folder : of all data sets, see `data_folder`.
    """
    if known_set(name).layout != "votes":
        raise ParameterError(
            f"{name} has no votes, only features and labels. Use read_feature_set and simulate workers."
        )
    if (folder / name / VOTES_FILE).exists():
        return read_crowd(folder / name)
    if (original := _original(name, folder)) is not None:
        level, verified_only = SONYC_PARTS[name]
        return read_sonyc(original, level=level, verified_only=verified_only)
    raise FileFormatError(_not_there(name, folder))


def read_feature_set(name: str, folder: Path) -> FeatureSet:
    """Features and labels of a set below the folder; the common layout comes before the source's own.

    Parameters
    ----------
    name : of the registry, with the layout "features".
    folder : of all data sets, see `data_folder`.
    """
    if known_set(name).layout != "features":
        raise ParameterError(f"{name} has no features and labels, but votes. Use read_set.")
    if (path := folder / name / FEATURES_FILE).exists():
        return read_npz(path)
    if (original := _original(name, folder)) is not None:
        return read_mulan(original.parent, original.stem)
    raise FileFormatError(_not_there(name, folder))


def check_set(name: str, folder: Path) -> list[str]:
    """What differs from the registry, one sentence each; empty where nothing does."""
    try:
        found = counts_of(name, folder)
    except InputError as error:
        # Who checks many sets wants to hear of all of them, and not to stop at the first that cannot be read.
        return [str(error)]
    return [
        f"{name} should have {wanted:,} {what}; {folder / name} has {found[what]:,}."
        for what, wanted in known_set(name).counts.items()
        if found[what] != wanted
    ]


def counts_of(name: str, folder: Path) -> dict[str, int]:
    """How many of everything a set below the folder has, in the words of the registry."""
    if known_set(name).layout == "features":
        described = read_feature_set(name, folder)
        (n_items, n_labels), n_features = described.truth.shape, described.features.shape[1]
        true_labels = int(described.truth.sum())
        return {"items": n_items, "labels": n_labels, "features": n_features, "true labels": true_labels}
    crowd = read_set(name, folder)
    return {
        "workers": crowd.votes.n_workers,
        "items": crowd.votes.n_items,
        "labels": crowd.votes.n_labels,
        "answers": int(crowd.votes.answers_per_item.sum()),
        "votes": len(crowd.votes),
        "items with truth": int(crowd.known.any(axis=1).sum()),
        "true labels": int((crowd.truth & crowd.known).sum()),
    }


def _main_file(name: str) -> str:
    """The file without which a folder does not hold the set in its layout."""
    return VOTES_FILE if known_set(name).layout == "votes" else FEATURES_FILE


def _original(name: str, folder: Path) -> Path | None:
    """The file of the source's own layout, if it is there."""
    if name in SONYC_PARTS:
        # The set's own folder first: who put a file there meant this part.
        places = [folder / place / "annotations.csv" for place in (name, SONYC_FOLDER)]
    else:
        bare = name.removeprefix(MULAN_PREFIX)
        places = [folder / name / f"{bare}.xml"] if bare != name else []
    return next((place for place in places if place.exists()), None)


def _not_there(name: str, folder: Path) -> str:
    return f"{folder / name} must hold {_main_file(name)}; there is none. `amcc data where {name}` says how to get it."
