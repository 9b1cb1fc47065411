"""The public data sets that amcc knows: where they come from and what is in them.

The entries stand in data_sets.toml; a new set is a new table there. How sets are found and read: `amcc.data.reading`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from amcc.data.layout import FEATURES_FILE, VOTES_FILE
from amcc.errors import ParameterError

__all__ = ["DATASETS", "LAYOUTS", "DataSet", "family_of", "known_set"]

# Found without the votes; made from the very votes; not there; or there without votes, to simulate workers.
TruthKind = Literal["independent", "own", "none", "labels"]
Layout = Literal["votes", "features"]
# What a set's folder holds; said to people who want to lay out a set themselves.
LAYOUTS: dict[Layout, str] = {
    "votes": (
        f"{VOTES_FILE} (worker,item,label,value; 1 = given, -1 = answered and not given, no row = not asked), "
        "truth.csv (item,label: what is true), truth_items.csv (items whose truth is known; without it, all) or "
        "truth_known.csv (item,label: pairs whose truth is known)"
    ),
    "features": f"{FEATURES_FILE} (arrays X, Y, items, label_names)",
}


@dataclass(frozen=True)
class DataSet:
    """What is known about a data set before it is read.

    Parameters
    ----------
    name : str. Also the name of its folder.
    title : str. What it is about.
    source : str. Where its makers or others publish it.
    files : str. Which files there; empty where nobody knows.
    licence : str. As stated at the source.
    layout : "votes" or "features"; see `LAYOUTS`.
    counts : what `reading.check_set` verifies.
    truth : "independent", "own", "none" or "labels". Where the truth comes from; see `TruthKind`.
    votes_from : str. How the published answers become votes, and what is taken as truth.
    in_paper : bool. Whether the paper reports results on it.
    original : str. Files of the source that are read as they are, beside the layout; empty if there are none.
    scored_voters : names of the workers who had no part in the truth, where others had; empty where all may be scored.
    family : str. Sets with the same one share people, questions or makers, so that together they count once when
        methods are compared; empty where a set stands alone.
    """

    name: str
    title: str
    source: str
    files: str
    licence: str
    layout: Layout
    counts: Mapping[str, int]
    truth: TruthKind
    votes_from: str
    in_paper: bool = False
    original: str = ""
    scored_voters: tuple[str, ...] = ()
    family: str = ""


def _load_sets(text: str) -> dict[str, DataSet]:
    """Sets by name, in the order of the file; what a set does not say is as in the set it is `like`."""
    entries: dict[str, dict[str, Any]] = {}
    for name, said in tomllib.loads(text).items():
        # The other set must stand before, so that no two sets can be like each other.
        other = entries[said.pop("like")] if "like" in said else {}
        entries[name] = {**other, **said, "name": name}
        # TOML has lists only, and a frozen entry should hold nothing that can be changed in place.
        entries[name]["scored_voters"] = tuple(entries[name].get("scored_voters", ()))
    return {name: DataSet(**entry) for name, entry in entries.items()}


DATASETS: dict[str, DataSet] = _load_sets(files("amcc.data").joinpath("data_sets.toml").read_text(encoding="utf-8"))


def known_set(name: str) -> DataSet:
    """The entry of that name; raises ParameterError where there is none."""
    if name not in DATASETS:
        raise ParameterError(f"a data set must be one of {', '.join(DATASETS)}; got {name!r}.")
    return DATASETS[name]


def family_of(name: str) -> str:
    """The family of a set; its own name where it stands alone or is not known here.

    >>> family_of("love_ekman"), family_of("affective"), family_of("a set of mine")
    ('stories', 'affective', 'a set of mine')
    """
    known = DATASETS.get(name)
    return known.family if known and known.family else name
