"""Where data come from: named public sets, features of items, and simulated crowds, where the truth is known.

registry, reading        which public sets there are; how they are found, read and checked
layout, sonyc, mulan     one reader for each way in which sets lie on disk
features, feature_set    features of items that were voted on; features and labels without votes
simulate                 crowds of any size, drawn from a `CrowdSpec`
parts                    fewer answers per item, fewer items
simulated_workers        the paper's workers: classifiers (ranksvm) and spammers
"""

from typing import TYPE_CHECKING

from amcc.lazy import lazy_names

if TYPE_CHECKING:
    from amcc.data.feature_set import FeatureSet
    from amcc.data.layout import read_crowd
    from amcc.data.parts import of_some_items, thinned, without_idle
    from amcc.data.reading import data_folder, is_present, read_feature_set, read_set
    from amcc.data.registry import DATASETS, family_of
    from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
    from amcc.data.simulated_workers import ANSWERED_SHARE, TRAINING_SHARES, cached_workers, without_answers

__all__ = [
    "ANSWERED_SHARE",
    "DATASETS",
    "TRAINING_SHARES",
    "CrowdSpec",
    "FeatureSet",
    "SimulatedWorld",
    "cached_workers",
    "data_folder",
    "family_of",
    "is_present",
    "of_some_items",
    "read_crowd",
    "read_feature_set",
    "read_set",
    "simulate_crowd",
    "thinned",
    "without_answers",
    "without_idle",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "feature_set": ("FeatureSet",),
        "layout": ("read_crowd",),
        "parts": ("of_some_items", "thinned", "without_idle"),
        "reading": ("data_folder", "is_present", "read_feature_set", "read_set"),
        "registry": ("DATASETS", "family_of"),
        "simulate": ("CrowdSpec", "SimulatedWorld", "simulate_crowd"),
        "simulated_workers": ("ANSWERED_SHARE", "TRAINING_SHARES", "cached_workers", "without_answers"),
    },
)
