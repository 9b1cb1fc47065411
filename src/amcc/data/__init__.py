"""Where data come from: named public sets, a crowd simulator that knows the truth, and classifiers as workers.

`read_set` and `read_feature_set` read a set of the registry `DATASETS`, `read_crowd` any folder in its layout;
`simulate_crowd` draws a crowd from a `CrowdSpec`; `cached_workers` are the paper's classifiers that act as workers.
"""

from amcc.data.features import FeatureSet
from amcc.data.layout import read_crowd
from amcc.data.registry import DATASETS, family_of, is_present, read_set
from amcc.data.registry import read_features as read_feature_set
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.data.simulated_workers import ANSWERED_SHARE, TRAINING_SHARES, cached_workers, without_answers

__all__ = [
    "ANSWERED_SHARE",
    "DATASETS",
    "TRAINING_SHARES",
    "CrowdSpec",
    "FeatureSet",
    "cached_workers",
    "family_of",
    "is_present",
    "read_crowd",
    "read_feature_set",
    "read_set",
    "simulate_crowd",
    "without_answers",
]
