"""The data of the paper's experiments, by the paper's names.

A `PaperSet` says which data: a set of answers, features on which classifiers act as workers, or a generated crowd, all
of it or with fewer answers. `PaperSet.draw(seed)` gives votes with their truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from amcc.data import (
    DATASETS,
    CrowdSpec,
    FeatureSet,
    cached_workers,
    is_present,
    of_some_items,
    read_feature_set,
    read_set,
    simulate_crowd,
    thinned,
    without_answers,
    without_idle,
)
from amcc.experiments.cells import Draw
from amcc.io import read_roster

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
    "SONYC-UST 2+": "sonyc_ust_fine_val",
}

# Sets without the workers who answered one item only, as the paper uses SONYC-UST; → what the paper calls them.
WITHOUT_ONE_TIMERS = {"SONYC-UST 2+": "SONYC-UST"}

# Sets that the paper does not have, for our larger replay: with independent truth and at least five answers per item.
FURTHER = {
    "AppleNakamura 10": "apple_nakamura_run10",
    "ImageNet": "imagenet_real_golden",
    "Medical": "crowdtruth_medical",
    "Tweets": "crowdtruth_tweets",
    "Framing": "llm_framing",
    "CEBaB": "llm_cebab_aspects",
    "CivilComments": "llm_civilcomments",
}
# What is used of those that are large. Everybody answered all of ImageNet, which nobody would pay for: 20 answers. Of
# all so many items, others with every seed, that a run has 7,000 to 12,000 votes and takes seconds; ten times as many
# would take ten times as long, and the seeds tell how far items matter.
ANSWERS = {"ImageNet": 20}
ITEMS = {"ImageNet": 60, "Medical": 80, "Tweets": 200, "CivilComments": 400}
# Who the workers are, beside the votes of a set, where language models are among them.
ROSTER_FILE = "workers.csv"

# Sets whose truth is made from the very answers: on all of them, majority is right almost by definition.
OWN_TRUTH = tuple(name for name, entry in REAL.items() if DATASETS[entry].truth == "own")

# A crowd of `amcc.data.simulate`, which needs no data: small enough for all methods, with features for NAM.
GENERATED = "generated crowd"
GENERATED_SPEC = CrowdSpec(n_items=400, n_workers=40, n_labels=8, answers_per_item=5, n_features=10)


def printed_name(name: str) -> str:
    """What the paper calls a set: its figures stand beside all our readings of the set.

    >>> printed_name("SONYC-UST 2+"), printed_name("Movie")
    ('SONYC-UST', 'Movie')
    """
    return WITHOUT_ONE_TIMERS.get(name, name)


@dataclass(frozen=True)
class PaperSet:
    """Data to measure on.

    name : as the paper calls the set, or as `WITHOUT_ONE_TIMERS` does.
    data, cache : folders of data sets and of simulated workers.
    answers : thinned to so many answers per item.
    removed : without this share of each worker's answers.
    items : cut to so many random items.
    """

    name: str
    data: str | None = None
    cache: str = ""
    answers: int | None = None
    removed: float = 0.0
    items: int | None = None

    @property
    def title(self) -> str:
        """Name with what was left out.

        >>> PaperSet("Affective", answers=3, removed=0.5).title
        'Affective @3 −50%'
        """
        few = (f" @{self.answers}" if self.answers else "") + (f" ({self.items} items)" if self.items else "")
        return f"{self.name}{few}" + (f" −{self.removed:.0%}" if self.removed else "")

    @property
    def fixed(self) -> bool:
        """Whether all seeds give the same votes: a set of people, as it is."""
        return self.name in REAL | FURTHER and self.answers is None and not self.removed and self.items is None

    def draw(self, seed: int) -> Draw:
        """The votes that this seed gives, with their truth."""
        return _drawn(self, 0 if self.fixed else seed)


# Several methods in a row want the same draw; more than a few would fill the memory with votes.
@lru_cache(maxsize=4)
def _drawn(paper_set: PaperSet, seed: int) -> Draw:
    """Thinned first and then removed from, as two people would do it who do not know of each other."""
    whole = _whole(paper_set, seed)
    if paper_set.items is not None:
        kept, item = without_idle(of_some_items(whole.votes, paper_set.items, seed))
        whole = replace(whole, votes=kept, truth=whole.truth[item], known=whole.known[item])
    votes = whole.votes
    if paper_set.answers is not None:
        votes = thinned(votes, paper_set.answers, seed)
    if paper_set.removed:
        votes = without_answers(votes, paper_set.removed, seed)
    return replace(whole, votes=votes)


def _whole(paper_set: PaperSet, seed: int) -> Draw:
    """Everything there is of a set: generated, answered by simulated workers, or read."""
    if paper_set.name == GENERATED:
        made = simulate_crowd(replace(GENERATED_SPEC, seed=seed))
        features = None if made.features is None else made.features.astype(np.float64)
        return Draw(made.votes, made.truth, np.ones_like(made.truth), features=features)
    if paper_set.name in MULAN:
        workers = cached_workers(feature_set(paper_set), seed, Path(paper_set.cache))
        return Draw(workers.votes, workers.truth, np.ones_like(workers.truth), features=workers.features)
    found = read_set((REAL | FURTHER)[paper_set.name], Path(str(paper_set.data)))
    # Without features, even where a set has some: the paper's methods see votes only.
    listed = Path(str(paper_set.data)) / (REAL | FURTHER)[paper_set.name] / ROSTER_FILE
    draw = Draw(found.votes, found.truth, found.known, roster=read_roster(listed) if listed.exists() else None)
    return without_one_timers(draw) if paper_set.name in WITHOUT_ONE_TIMERS else draw


def without_one_timers(draw: Draw) -> Draw:
    """Without the workers who answered one item, and without the items that nobody else answered.

    About such an item no method could say more than how frequent labels are, and the paper does not count it either.
    """
    kept, item = without_idle(draw.votes.select(draw.votes.answers_per_worker[draw.votes.worker] > 1))
    return replace(draw, votes=kept, truth=draw.truth[item], known=draw.known[item])


def feature_set(paper_set: PaperSet) -> FeatureSet:
    """The items of which one half is learned from and the other answered."""
    return read_feature_set(MULAN[paper_set.name], Path(str(paper_set.data)))


def further_sets(data: Path | None) -> list[PaperSet]:
    """Sets beside those of the paper whose data are there."""
    there = [name for name, entry in FURTHER.items() if data and is_present(entry, data)]
    return [PaperSet(name, str(data), answers=ANSWERS.get(name), items=ITEMS.get(name)) for name in there]
