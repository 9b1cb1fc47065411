"""The crowds of the paper's experiments, by the paper's names."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from amcc.arrays import Floats
from amcc.data.features import FeatureSet
from amcc.data.registry import DATASETS, read_features, read_set
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.data.simulated_workers import cached_workers, without_answers
from amcc.experiments.cells import Draw, thinned

# Feature sets on which classifiers act as workers; paper's name → name in the registry.
MULAN = {"Yeast": "mulan_yeast", "Emotions": "mulan_emotions", "Scene": "mulan_scene"}

# Sets with answers of people, in the order of the paper's Table 5.
REAL = {
    "Movie": "movie",
    "AppleNakamura": "apple_nakamura",
    "AppleEkman": "apple_ekman",
    "LoveNakamura": "love_nakamura",
    "LoveEkman": "love_ekman",
    "Affective": "affective",
    "SONYC-UST": "sonyc_ust_fine_val",
}

# Sets whose truth is made from the very answers: on all of them, majority is right almost by definition.
OWN_TRUTH = tuple(name for name, entry in REAL.items() if DATASETS[entry].truth == "own")

# A crowd of `amcc.data.simulate`, which needs no data.
GENERATED = "generated crowd"
GENERATED_SPEC = CrowdSpec(n_items=400, n_workers=40, n_labels=8, answers_per_item=5, n_features=10)


@dataclass(frozen=True)
class FeaturedDraw(Draw):
    """A draw with features of its items, (n_items, n_features), where there are any."""

    features: Floats | None = None

    def fingerprint(self) -> str:
        """Equal for equal draws with equal features."""
        if self.features is None:
            return super().fingerprint()
        found = hashlib.sha256(super().fingerprint().encode())
        found.update(np.ascontiguousarray(self.features).data)
        return found.hexdigest()


@dataclass(frozen=True)
class Crowd:
    """A crowd to measure on.

    name : as the paper calls the set.
    data, cache : folders of data sets and of simulated workers.
    answers : thinned to so many answers per item.
    removed : without this share of each worker's answers.
    """

    name: str
    data: str | None = None
    cache: str = ""
    answers: int | None = None
    removed: float = 0.0

    @property
    def title(self) -> str:
        """Name with what was left out."""
        thinned = f" @{self.answers}" if self.answers else ""
        return f"{self.name}{thinned}" + (f" −{self.removed:.0%}" if self.removed else "")

    @property
    def fixed(self) -> bool:
        """Whether all seeds give the same crowd."""
        return self.name in REAL and self.answers is None and not self.removed

    def draw(self, seed: int) -> FeaturedDraw:
        """The crowd that this seed gives."""
        return _drawn(self, 0 if self.fixed else seed)


@lru_cache(maxsize=4)  # several methods in a row want the same draw
def _drawn(crowd: Crowd, seed: int) -> FeaturedDraw:
    whole = _whole(crowd, seed)
    votes = whole.votes
    if crowd.answers is not None:
        votes = thinned(votes, crowd.answers, seed)
    if crowd.removed:
        votes = without_answers(votes, crowd.removed, seed)
    return FeaturedDraw(votes, whole.truth, whole.known, features=whole.features)


def _whole(crowd: Crowd, seed: int) -> FeaturedDraw:
    if crowd.name == GENERATED:
        made = simulate_crowd(replace(GENERATED_SPEC, seed=seed))
        features = None if made.features is None else made.features.astype(np.float64)
        return FeaturedDraw(made.votes, made.truth, np.ones_like(made.truth), features=features)
    if crowd.name in MULAN:
        workers = cached_workers(feature_set(crowd), seed, Path(crowd.cache))
        return FeaturedDraw(workers.votes, workers.truth, np.ones_like(workers.truth), features=workers.features)
    found = read_set(REAL[crowd.name], Path(str(crowd.data)))
    return FeaturedDraw(found.votes, found.truth, found.known)


def feature_set(crowd: Crowd) -> FeatureSet:
    """The items of which one half is learned from and the other answered."""
    return read_features(MULAN[crowd.name], Path(str(crowd.data)))
