"""A multi-label crowd with known truth, drawn block by block, so that 10⁸ votes need little memory.

Truth     item factors → label scores (probit factor model) → correlated labels of unequal frequency
Workers   kind and specialty → hit and false-alarm rate per label; activity; price
Votes     presence, rates and item difficulty → ±1 for each label asked in an answer
Troubles  what the workers share (`amcc.data.troubles`), all off by default: faint and tempting pairs, taste,
          families of language models, experts with another convention

A `CrowdSpec` fixes everything. `crowd_blocks` yields the crowd in blocks of items, each from its own child of
the seed; `simulate_crowd` gathers these blocks in memory, `write_crowd` streams the same blocks to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite
from numbers import Integral, Real
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from pyarrow.csv import CSVWriter, WriteOptions, write_csv
from pyarrow.parquet import ParquetWriter

from amcc.data import troubles
from amcc.errors import ParameterError
from amcc.files import make_folder, written_to
from amcc.io.csv import LIST_SEPARATOR
from amcc.votes import Votes

__all__ = [
    "KINDS",
    "KIND_WEIGHTS",
    "CrowdBlock",
    "CrowdSpec",
    "SimulatedWorld",
    "crowd_blocks",
    "simulate_crowd",
    "write_crowd",
]

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Flags = NDArray[np.bool_]

# Honest kinds with their usual (hit rate, false-alarm rate); what spammers say does not depend on the truth.
HONEST_RATES = {"reliable": (0.92, 0.02), "normal": (0.78, 0.05), "sloppy": (0.50, 0.12)}
KIND_WEIGHTS = {"reliable": 1.0, "normal": 2.0, "sloppy": 2.0, "random_spammer": 1.0, "uniform_spammer": 1.0}
KINDS = tuple(KIND_WEIGHTS)
IS_SPAMMER = np.array([kind not in HONEST_RATES for kind in KINDS])

# Log-odds by which honest workers differ.
PERSON_SPREAD = 0.4  # between workers of one kind
LABEL_SPREAD = 0.4  # between labels of one worker
SPECIALTY_EDGE = 2.0  # between a worker's own cluster of labels and the others
DIFFICULTY_SHIFT = np.array([0.25, -1.0], dtype=np.float32)  # of (false alarms, hits) per unit of difficulty

N_FACTORS = 3  # few, so that many pairs of labels point in similar directions
ZIPF_EXPONENT = 0.8  # of a label's odds against its rank
RANDOM_YES_RATES = (0.1, 0.5)  # range of the random spammers' yes rates
FEATURE_NOISE = 0.5  # beside factors of unit variance

BLOCK_VOTES = 2**20
BLOCK_TRUTHS = 2**22  # item × label cells: the larger part of a block when few labels are asked
RACE_CELLS = 2**23

_LIMITS: dict[str, tuple[type, float, float]] = {
    "n_items": (Integral, 1, 2**31 - 1),
    "n_workers": (Integral, 1, 2**31 - 1),
    "n_labels": (Integral, 1, 2**31 - 1),
    "answers_per_item": (Integral, 1, inf),
    "labels_per_item": (Real, 0, inf),
    "correlation": (Real, 0, 1),
    "spammers": (Real, 0, 1),
    "n_specialties": (Integral, 1, inf),
    "activity_exponent": (Real, 0, 3),
    "difficulty": (Real, 0, 10),
    "asked_share": (Real, 0, 1),
    "n_features": (Integral, 0, inf),
    "faint": (Real, 0, 1),
    "tempting": (Real, 0, 1),
    "pair_spread": (Real, 0, 10),
    "taste": (Real, 0, 10),
    "n_tastes": (Integral, 1, 1000),
    "taste_labels": (Real, 0, 1),
    "n_models": (Integral, 0, 2**31 - 1),
    "n_families": (Integral, 1, 1000),
    "family_correlation": (Real, 0, 1),
    "model_correlation": (Real, 0, 1),
    "people_share": (Real, 0, 1),
    "convention": (Real, 0, 1),
    "convention_spread": (Real, 0, 10),
    "seed": (Integral, 0, inf),
}


def _check_number(name: str, value: Any, kind: type, low: float, high: float) -> None:
    """Raise ParameterError unless `value` is a finite number of this kind from `low` to `high`."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not (is_number and isfinite(value) and low <= value <= high):
        noun = "a whole number" if kind is Integral else "a number"
        limits = f"of at least {low}" if high == inf else f"from {low} to {high}"
        raise ParameterError(f"{name} must be {noun} {limits}; got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class CrowdSpec:
    """Everything that fixes a simulated crowd.

    Parameters
    ----------
    n_items, n_workers, n_labels : int
    answers_per_item : int. How many different workers answer each item; at most `n_workers`.
    labels_per_item : float. Mean number of true labels; above 0, below `n_labels`. An item may have none.
    correlation : float in [0, 1]. Share of the label scores' variance that comes from common factors.
    spammers : float in [0, 1]. Share of the workers who spam.
    kind_weights : mapping from kind to weight. How the honest workers split among the honest kinds, and the
        spammers among theirs. A kind left out keeps its weight in `KIND_WEIGHTS`.
    n_specialties : int. Clusters of related labels; an honest worker is better on one of them and worse on
        the others. 1 means no specialists; at most `n_labels`.
    activity_exponent : float. Activity falls with a worker's rank to this power; 0 makes all equally active.
    difficulty : float. Spread of the items' difficulty, in log-odds; on hard items most labels are missed.
    asked_share : float in (0, 1]. Share of the labels asked in an answer, chosen anew for each answer.
    n_features : int. Item features: a noisy linear view of the factors behind the labels.
    seed : int

    Troubles, all off by default: with them, votes are no longer independent given what is present.

    faint, tempting : float in [0, 1]. Share of the present pairs that most workers miss, and of the absent pairs
        that most tick.
    pair_spread : float. Spread of an offset of each pair, in log-odds, common to all workers.
    taste : float. Spread of the leanings, in log-odds, that a group of workers shares on a label of an item.
    n_tastes : int. Such groups. taste_labels : float in (0, 1]. Share of the labels that are a matter of taste.
    n_models : int. So many of the workers, the last ones, are language models: each answers every item.
    n_families : int. Families of models, equally large up to one; at most `n_models`.
    family_correlation : float in [0, 1]. Correlation of the errors of models of one family and equal rates.
    model_correlation : float in [0, 1]. The same for models of different families; at most `family_correlation`.
    people_share : float in (0, 1]. Share of the items that people answer, `answers_per_item` each; below 1, there
        must be models.
    convention : float in [0, 1). Experts call true what at least this share of the honest workers would see: 1/3 is
        lenient, 0.8 strict. 0: what is present is true. Matters where pairs differ (`faint`, `tempting`,
        `pair_spread`).
    convention_spread : float. Log-odds by which that share differs between labels.

    Examples
    --------
    >>> CrowdSpec.for_votes(10**7).n_items
    100000
    >>> CrowdSpec(n_labels=20, asked_share=0.3).n_votes
    30000
    """

    n_items: int = 1000
    n_workers: int = 50
    n_labels: int = 10
    answers_per_item: int = 5
    labels_per_item: float = 2.0
    correlation: float = 0.9
    spammers: float = 0.2
    kind_weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    n_specialties: int = 3
    activity_exponent: float = 0.7
    difficulty: float = 0.5
    asked_share: float = 1.0
    n_features: int = 0
    seed: int = 0
    faint: float = 0.0
    tempting: float = 0.0
    pair_spread: float = 0.0
    taste: float = 0.0
    n_tastes: int = 2
    taste_labels: float = 0.5
    n_models: int = 0
    n_families: int = 1
    family_correlation: float = 0.0
    model_correlation: float = 0.0
    people_share: float = 1.0
    convention: float = 0.0
    convention_spread: float = 0.0

    def __post_init__(self) -> None:
        for name, limits in _LIMITS.items():
            _check_number(name, getattr(self, name), *limits)
        n_labels, n_workers = f"n_labels={self.n_labels}", f"n_workers={self.n_workers}"
        within_labels = 0 < self.labels_per_item < self.n_labels
        self._require(within_labels, "labels_per_item", f"above 0 and below {n_labels}")
        self._require(self.n_specialties <= self.n_labels, "n_specialties", f"at most {n_labels}")
        self._require(self.n_models <= self.n_workers, "n_models", f"at most {n_workers}")
        people = f"n_workers - n_models={self.n_people}" if self.n_models else n_workers
        enough_people = self.answers_per_item <= self.n_people or self.n_people == 0
        self._require(enough_people, "answers_per_item", f"at most {people}")
        self._require(self.asked_share > 0, "asked_share", "above 0")
        self._require(set(self.kind_weights) <= set(KINDS), "kind_weights", f"weights of {', '.join(KINDS)}")
        for kind, weight in self.kind_weights.items():
            _check_number(f"kind_weights[{kind!r}]", weight, Real, 0, inf)
        everybody_placed = bool(np.isclose(self.kind_shares.sum(), 1))
        needed_kinds = f"positive for some honest and some spammer kind when spammers={self.spammers}"
        self._require(everybody_placed, "kind_weights", needed_kinds)
        self._check_troubles()

    def _check_troubles(self) -> None:
        """Raise ParameterError where troubles contradict each other, or would do nothing."""
        models = self.n_models > 0
        self._require(self.taste_labels > 0, "taste_labels", "above 0")
        self._require(self.people_share > 0, "people_share", "above 0; for models alone, make all workers models")
        self._require(models or self.people_share == 1, "people_share", "1 where there are no models (n_models=0)")
        self._require(models or self.family_correlation == 0, "family_correlation", "0 without models (n_models=0)")
        self._require(self.n_families <= max(1, self.n_models), "n_families", f"at most n_models={self.n_models}")
        within = f"at most family_correlation={self.family_correlation}"
        self._require(self.model_correlation <= self.family_correlation, "model_correlation", within)
        self._require(self.convention < 1, "convention", "below 1: nothing is seen by all")
        shifted = self.convention > 0 or self.convention_spread == 0
        self._require(shifted, "convention_spread", "0 without a convention (convention=0)")
        honest_needed = (models or self.convention > 0) and not self.honest_shares.sum() > 0
        self._require(not honest_needed, "kind_weights", "positive for some honest kind, as models and experts are")

    def _require(self, holds: bool, name: str, what: str) -> None:
        if not holds:
            raise ParameterError(f"{name} must be {what}; got {getattr(self, name)!r}.")

    @property
    def kind_shares(self) -> Floats:
        """Share of the workers of each kind, in the order of `KINDS`."""
        weights = np.array([(KIND_WEIGHTS | dict(self.kind_weights))[kind] for kind in KINDS])
        shares = np.zeros(len(KINDS))
        for camp, camp_share in ((IS_SPAMMER, self.spammers), (~IS_SPAMMER, 1 - self.spammers)):
            shares[camp] = camp_share * weights[camp] / (weights[camp].sum() or 1)
        return shares

    @property
    def honest_shares(self) -> Floats:
        """Share of each honest kind among the honest, in the order of `HONEST_RATES`; zeros where none has weight."""
        weights = np.array([(KIND_WEIGHTS | dict(self.kind_weights))[kind] for kind in HONEST_RATES])
        return np.asarray(weights / (weights.sum() or 1))

    @property
    def n_people(self) -> int:
        """Workers who are no models."""
        return self.n_workers - self.n_models

    @property
    def has_shared_offsets(self) -> bool:
        """Whether pairs differ for everybody."""
        return max(self.faint, self.tempting, self.pair_spread) > 0

    @property
    def is_independent(self) -> bool:
        """Whether votes are independent given the truth and the item's difficulty."""
        return not (self.has_shared_offsets or self.taste > 0 or self.family_correlation > 0 or self.convention > 0)

    @property
    def labels_per_answer(self) -> int:
        """Labels asked in one answer, at least one."""
        return max(1, round(self.asked_share * self.n_labels))

    @property
    def votes_per_item(self) -> int:
        """Votes on one item; without people, the models' alone."""
        return (self.n_models + (self.answers_per_item if self.n_people else 0)) * self.labels_per_answer

    @property
    def n_votes(self) -> int:
        """Votes of the whole crowd."""
        n_covered = int(troubles.n_covered(np.array(self.n_items), self._covered_share))
        return (self.n_items * self.n_models + n_covered * self.answers_per_item) * self.labels_per_answer

    @property
    def _covered_share(self) -> float:
        """Share of the items that people answer."""
        return self.people_share if self.n_people else 0.0

    @property
    def _layers(self) -> int:
        """Numbers that a block holds for each of its pairs: presence, and what tastes and families share."""
        return 1 + self.n_tastes * (self.taste > 0) + self.n_families * (self.family_correlation > 0)

    @classmethod
    def for_votes(cls, n_votes: int, **changes: Any) -> CrowdSpec:
        """Spec of about `n_votes` votes: more votes come from more items, workers and (up to 20) labels.

        `changes` are any fields but `n_items`, which follows from them.
        """
        _check_number("n_votes", n_votes, Integral, 1, inf)
        if "n_items" in changes:
            raise ParameterError(f"n_items must be left to for_votes; got {changes['n_items']!r}. Use CrowdSpec().")
        size = n_votes / 10**7
        needed = changes.get("answers_per_item", cls.answers_per_item) + changes.get("n_models", 0)
        sizes = {
            "n_labels": int(np.clip(round(20 * size**0.15), 5, 20)),
            "n_workers": max(needed, round(5000 * size**0.65)),
        }
        spec = cls(n_items=1, **(sizes | changes))
        answers = spec.n_models + spec._covered_share * spec.answers_per_item
        return replace(spec, n_items=max(1, round(n_votes / (answers * spec.labels_per_answer))))


@dataclass(frozen=True)
class CrowdBlock:
    """Some consecutive items of a crowd with all their votes.

    Attributes
    ----------
    first_item : int. Code of the block's first item.
    item, worker, label : (n_votes,) codes in the whole crowd, by item, then answer.
    value : (n_votes,) +1 or -1.
    truth : (block items, n_labels) bool, what the experts say.
    present : (block items, n_labels) bool, what is there; the same unless experts have a convention of their own.
    difficulty : (block items,) 0 on average.
    features : (block items, n_features)
    """

    first_item: int
    item: Codes
    worker: Codes
    label: Codes
    value: NDArray[np.int8]
    truth: Flags
    present: Flags
    difficulty: Floats32
    features: Floats32


@dataclass(frozen=True)
class SimulatedWorld:
    """Votes of a simulated crowd and the truth behind them.

    Attributes
    ----------
    votes : Votes
    truth : (n_items, n_labels) bool, what the experts say.
    present : (n_items, n_labels) bool, what is there; the same unless experts have a convention of their own.
    worker_kind : (n_workers,) str, one of `KINDS`.
    family : (n_workers,) the family of each model, -1 for people.
    taste_group : (n_workers,) whose leanings a worker shares.
    specialty : (n_workers,) the label cluster a worker is best at; -1 for spammers.
    label_cluster : (n_labels,) the cluster each label belongs to.
    hit_rate, false_alarm_rate : (n_workers, n_labels) chance of a yes to a label that is present, absent, on
        an item of difficulty 0, where nothing that is shared moves it.
    difficulty : (n_items,) 0 on average; how much it lowers the log-odds of a hit.
    prices : (n_workers,) cents for one vote.
    features : (n_items, n_features), None without features.
    independent : whether the votes are independent given truth and difficulty, as they are without troubles.
    """

    votes: Votes
    truth: Flags
    present: Flags
    worker_kind: NDArray[np.str_]
    family: Codes
    taste_group: Codes
    specialty: Codes
    label_cluster: Codes
    hit_rate: Floats
    false_alarm_rate: Floats
    difficulty: Floats32
    prices: NDArray[np.int64]
    features: Floats32 | None
    independent: bool = True


def simulate_crowd(spec: CrowdSpec) -> SimulatedWorld:
    """The whole crowd of `spec` in memory."""
    labels, workers = _draw_world(spec)
    blocks = list(_draw_blocks(spec, labels, workers))

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(block, name) for block in blocks])

    return SimulatedWorld(
        votes=Votes.from_codes(
            *map(joined, ("item", "worker", "label", "value")),
            item_names=_item_names(spec, 0, spec.n_items),
            worker_names=_worker_names(spec),
            label_names=_label_names(spec),
        ),
        truth=joined("truth"),
        present=joined("present"),
        worker_kind=workers.kind_names,
        family=workers.family,
        taste_group=workers.taste,
        specialty=workers.specialty,
        label_cluster=labels.cluster,
        hit_rate=workers.hit_rate,
        false_alarm_rate=workers.false_alarm_rate,
        difficulty=joined("difficulty"),
        prices=workers.prices,
        features=joined("features") if spec.n_features else None,
        independent=spec.is_independent,
    )


def crowd_blocks(spec: CrowdSpec) -> Iterator[CrowdBlock]:
    """The crowd of `spec` in blocks of items, about a million votes each."""
    return _draw_blocks(spec, *_draw_world(spec))


def _draw_world(spec: CrowdSpec) -> tuple[_Labels, _Workers]:
    """What all blocks share."""
    rng, trouble_rng = _child_rng(spec, 0), _child_rng(spec, 0, TROUBLE)
    labels = _draw_labels(rng, spec)
    return _with_conventions(trouble_rng, spec, labels), _draw_workers(rng, trouble_rng, spec, labels.cluster)


def _draw_blocks(spec: CrowdSpec, labels: _Labels, workers: _Workers) -> Iterator[CrowdBlock]:
    block_items = max(1, min(BLOCK_VOTES // spec.votes_per_item, BLOCK_TRUTHS // (spec.n_labels * spec._layers)))
    for number, first in enumerate(range(0, spec.n_items, block_items), start=1):
        items = range(first, min(first + block_items, spec.n_items))
        yield _draw_block(_child_rng(spec, number), _child_rng(spec, number, TROUBLE), spec, labels, workers, items)


TROUBLE = 1
"""Child, of the world's and each block's generator, from which troubles are drawn: without them nothing changes."""


def _child_rng(spec: CrowdSpec, *number: int) -> np.random.Generator:
    """Generator of the seed's child of this number: 0 for the world, then one for each block."""
    return np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=number))


# Truth


@dataclass(frozen=True)
class _Labels:
    """How items come to have labels and features.

    loading : (N_FACTORS, n_labels) unit columns; threshold, cluster : (n_labels,);
    feature_loading : (N_FACTORS, n_features); tasteful : (n_labels,) whether a label is a matter of taste;
    convention : (n_labels,) share of honest workers who must see it for experts to keep it.
    """

    loading: Floats32
    threshold: Floats32
    cluster: Codes
    feature_loading: Floats32
    tasteful: Flags
    convention: Floats32


def _draw_labels(rng: np.random.Generator, spec: CrowdSpec) -> _Labels:
    loading = rng.standard_normal((N_FACTORS, spec.n_labels), dtype=np.float32)
    loading /= np.linalg.norm(loading, axis=0)
    frequency = rng.permutation(_zipf_frequencies(spec.n_labels, spec.labels_per_item))
    threshold = [-NormalDist().inv_cdf(share) for share in frequency.clip(1e-12, 1 - 1e-12)]
    return _Labels(
        loading=loading,
        threshold=np.array(threshold, dtype=np.float32),
        cluster=_cluster_by_first_factor(loading, spec.n_specialties),
        feature_loading=rng.standard_normal((N_FACTORS, spec.n_features), dtype=np.float32),
        tasteful=np.zeros(spec.n_labels, dtype=bool),
        convention=np.zeros(spec.n_labels, dtype=np.float32),
    )


def _with_conventions(rng: np.random.Generator, spec: CrowdSpec, labels: _Labels) -> _Labels:
    """The labels with what tastes and experts make of them."""
    n_tasteful = max(1, round(spec.taste_labels * spec.n_labels)) if spec.taste > 0 else 0
    shift = spec.convention_spread * rng.standard_normal(spec.n_labels)
    return replace(
        labels,
        tasteful=rng.permutation(spec.n_labels) < n_tasteful,
        convention=_sigmoid(_logit(spec.convention) + shift).astype(np.float32),
    )


def _zipf_frequencies(n_labels: int, total: float) -> Floats:
    """Falling label frequencies that add up to `total`; their odds follow Zipf's law."""
    log_odds = -ZIPF_EXPONENT * np.log(np.arange(1, n_labels + 1))
    low, high = -50.0, 50.0 - log_odds[-1]
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _sigmoid(log_odds + middle).sum() < total else (low, middle)
    frequency: Floats = _sigmoid(log_odds + low)
    return frequency


def _cluster_by_first_factor(loading: Floats32, n_clusters: int) -> Codes:
    """Cluster of each label, (n_labels,): equal slices of the labels in the order of their first loading."""
    rank = loading[0].argsort().argsort()
    cluster: Codes = (rank * n_clusters // rank.size).astype(np.int32)
    return cluster


def _draw_truth(rng: np.random.Generator, spec: CrowdSpec, labels: _Labels, factors: Floats32) -> Flags:
    """Whether each label's score, of unit variance, passes its threshold on each item, (items, n_labels)."""
    noise = rng.standard_normal((len(factors), spec.n_labels), dtype=np.float32)
    common, own = np.sqrt([spec.correlation, 1 - spec.correlation], dtype=np.float32)
    present: Flags = common * (factors @ labels.loading) + own * noise > labels.threshold
    return present


# Workers


@dataclass(frozen=True)
class _Workers:
    """Who the workers are; the rates are (n_workers, n_labels), the rest (n_workers,)."""

    kind: Codes
    specialty: Codes
    hit_rate: Floats
    false_alarm_rate: Floats
    activity: Floats
    prices: NDArray[np.int64]
    family: Codes
    taste: Codes

    @property
    def kind_names(self) -> NDArray[np.str_]:
        return np.array(KINDS)[self.kind]

    @cached_property
    def log_odds(self) -> Floats32:
        """Log-odds of a yes, (2, n_workers, n_labels): label absent, label present."""
        return _logit(np.stack([self.false_alarm_rate, self.hit_rate])).astype(np.float32)


def _draw_workers(
    rng: np.random.Generator, trouble_rng: np.random.Generator, spec: CrowdSpec, label_cluster: Codes
) -> _Workers:
    people = rng.permutation(_fill_shares(spec.kind_shares, spec.n_people))
    models = trouble_rng.permutation(_fill_shares(spec.honest_shares, spec.n_models))  # honest, if not always good
    kind = np.concatenate([people, models])
    own_cluster = rng.integers(spec.n_specialties, size=spec.n_workers, dtype=np.int32)
    edge = SPECIALTY_EDGE * ((own_cluster[:, None] == label_cluster) - 1 / spec.n_specialties)
    spam_rate = _draw_spam_rates(rng, kind, spec.n_labels)
    hit_rate, false_alarm_rate = (
        np.where(IS_SPAMMER[kind, None], spam_rate, _draw_honest_rates(rng, kind, usual, shift))
        for usual, shift in zip(zip(*HONEST_RATES.values(), strict=True), (edge, -edge), strict=True)
    )
    rank = rng.permutation(np.arange(1.0, spec.n_workers + 1))
    return _Workers(
        kind=kind,
        specialty=np.where(IS_SPAMMER[kind], np.int32(-1), own_cluster),
        hit_rate=hit_rate,
        false_alarm_rate=false_alarm_rate,
        activity=rank**-spec.activity_exponent,
        prices=_draw_prices(rng, skill=(hit_rate - false_alarm_rate).mean(axis=1)),
        family=np.append(np.full(spec.n_people, -1), np.arange(spec.n_models) % spec.n_families).astype(np.int32),
        taste=trouble_rng.integers(spec.n_tastes, size=spec.n_workers, dtype=np.int32),
    )


def _fill_shares(shares: Floats, n_workers: int) -> Codes:
    """Kind codes, (n_workers,) sorted, each kind as often as its share says, up to rounding."""
    position = (np.arange(n_workers) + 0.5) / n_workers
    return np.searchsorted(shares.cumsum()[:-1], position, side="right").astype(np.int32)


def _draw_honest_rates(rng: np.random.Generator, kind: Codes, usual: tuple[float, ...], shift: Floats) -> Floats:
    """Rates around the usual rate of each kind, (n_workers, n_labels); those of spammers mean nothing."""
    kind_log_odds = _logit(usual)[np.minimum(kind, len(usual) - 1)]
    person = PERSON_SPREAD * rng.standard_normal((kind.size, 1))
    label = LABEL_SPREAD * rng.standard_normal(shift.shape)
    return _sigmoid(kind_log_odds[:, None] + shift + person + label)


def _draw_spam_rates(rng: np.random.Generator, kind: Codes, n_labels: int) -> Floats:
    """Chance of a yes whatever the truth, (n_workers, n_labels).

    Random spammers have one rate for all labels; the others always tick the same one or two labels.
    """
    yes_rate = rng.uniform(*RANDOM_YES_RATES, size=(kind.size, 1))
    order = rng.random((kind.size, n_labels)).argsort(axis=1)
    ticked = order < rng.integers(1, 3, size=(kind.size, 1))
    is_random = kind == KINDS.index("random_spammer")
    return np.where(is_random[:, None], yes_rate, ticked)


def _draw_prices(rng: np.random.Generator, skill: Floats) -> NDArray[np.int64]:
    """Cents for one vote, (n_workers,), at least 1: skilled workers ask for more, but not reliably so."""
    fair_price = 4 + 8 * skill
    return np.maximum(1, np.rint(fair_price * rng.lognormal(sigma=0.4, size=skill.size))).astype(np.int64)


# Votes


@dataclass(frozen=True)
class _Scene:
    """What the workers see of a block of items.

    present : (items, n_labels) int8, what is there; difficulty : (items,); offset : (items, n_labels) log-odds common
    to all, or None; taste : (items, n_labels, n_tastes) log-odds common to a group, or None.
    """

    present: NDArray[np.int8]
    difficulty: Floats32
    offset: Floats32 | None
    taste: Floats32 | None


def _draw_block(
    rng: np.random.Generator,
    trouble_rng: np.random.Generator,
    spec: CrowdSpec,
    labels: _Labels,
    workers: _Workers,
    items: range,
) -> CrowdBlock:
    """The block of these items."""
    n_items = len(items)
    factors = rng.standard_normal((n_items, N_FACTORS), dtype=np.float32)
    present = _draw_truth(rng, spec, labels, factors)
    difficulty = np.float32(spec.difficulty) * (rng.standard_exponential(n_items, dtype=np.float32) - 1)
    feature_noise = FEATURE_NOISE * rng.standard_normal((n_items, spec.n_features), dtype=np.float32)

    scene = _draw_scene(trouble_rng, spec, labels, present, difficulty)
    votes = _draw_people_votes(rng, spec, workers, scene, items)
    if spec.n_models:
        votes = _by_item(votes, _draw_model_votes(trouble_rng, spec, workers, scene))
    return CrowdBlock(
        first_item=items.start,
        item=votes.item + np.int32(items.start),
        worker=votes.worker,
        label=votes.label,
        value=np.where(votes.yes, np.int8(1), np.int8(-1)),
        truth=_expert_truth(spec, labels, scene) if spec.convention > 0 else present,
        present=present,
        difficulty=difficulty,
        features=factors @ labels.feature_loading + feature_noise,
    )


def _draw_scene(
    rng: np.random.Generator, spec: CrowdSpec, labels: _Labels, present: Flags, difficulty: Floats32
) -> _Scene:
    offset = taste = None
    if spec.has_shared_offsets:
        offset = troubles.pair_offsets(rng, present, faint=spec.faint, tempting=spec.tempting, spread=spec.pair_spread)
    if spec.taste > 0:
        taste = troubles.taste_offsets(rng, len(present), labels.tasteful, spec.n_tastes, spec.taste)
    return _Scene(present.view(np.int8), difficulty, offset, taste)


def _expert_truth(spec: CrowdSpec, labels: _Labels, scene: _Scene) -> Flags:
    """Whether the share of honest workers who would see a label reaches its convention, (items, n_labels).

    Experts know how workers usually see a pair; they have no taste of their own.
    """
    usual = _logit([(false_alarm, hit) for hit, false_alarm in HONEST_RATES.values()])
    shift = DIFFICULTY_SHIFT[scene.present] * scene.difficulty[:, None]
    if scene.offset is not None:
        shift = shift + scene.offset
    kept: Flags = troubles.share_seen(usual[:, scene.present], shift, spec.honest_shares) >= labels.convention
    return kept


class _Votes(NamedTuple):
    """Votes of a block, all (n_votes,); items are counted in the block."""

    item: Codes
    worker: Codes
    label: Codes
    yes: Flags


def _draw_people_votes(
    rng: np.random.Generator, spec: CrowdSpec, workers: _Workers, scene: _Scene, items: range
) -> _Votes:
    """What people say; inside, arrays have the axes (item, answer, label asked)."""
    item = troubles.covered_items(items, spec._covered_share)[:, None, None]
    shape = (len(item), spec.answers_per_item if spec.n_people else 0, spec.labels_per_answer)
    worker = _draw_distinct(rng, workers.activity[: spec.n_people], *shape[:2])[:, :, None]
    label = _draw_distinct(rng, np.ones(spec.n_labels), shape[0] * shape[1], shape[2]).reshape(shape)
    log_odds = _yes_log_odds(workers, scene, item, worker, label)
    return _flat(shape, item, worker, label, rng.random(shape, dtype=np.float32) < _sigmoid(log_odds))


def _draw_model_votes(rng: np.random.Generator, spec: CrowdSpec, workers: _Workers, scene: _Scene) -> _Votes:
    """What the models say, who answer every item; axes as for people."""
    n_items = len(scene.present)
    shape = (n_items, spec.n_models, spec.labels_per_answer)
    item = np.arange(n_items, dtype=np.int32)[:, None, None]
    worker = np.arange(spec.n_people, spec.n_workers, dtype=np.int32)[:, None]
    label = _draw_distinct(rng, np.ones(spec.n_labels), n_items * shape[1], shape[2]).reshape(shape)
    if spec.family_correlation > 0:
        common = troubles.family_luck(
            rng, n_items, spec.n_labels, spec.n_families,
            within=spec.family_correlation, between=spec.model_correlation,
        )  # fmt: skip
        luck = troubles.shared_luck(rng, common[item, label, workers.family[worker]], spec.family_correlation)
    else:
        luck = rng.random(shape, dtype=np.float32)
    return _flat(shape, item, worker, label, luck < _sigmoid(_yes_log_odds(workers, scene, item, worker, label)))


def _yes_log_odds(workers: _Workers, scene: _Scene, item: Codes, worker: Codes, label: Codes) -> Floats32:
    """Log-odds of a yes to each question, (item, answer, label asked); who spams does not look."""
    present = scene.present[item, label]
    looks = ~IS_SPAMMER[workers.kind[worker]]
    log_odds: Floats32 = workers.log_odds[present, worker, label]
    log_odds = log_odds + DIFFICULTY_SHIFT[present] * np.where(looks, scene.difficulty[item], np.float32(0))
    if scene.offset is not None:
        log_odds = log_odds + np.where(looks, scene.offset[item, label], np.float32(0))
    if scene.taste is not None:
        log_odds = log_odds + np.where(looks, scene.taste[item, label, workers.taste[worker]], np.float32(0))
    return log_odds


def _flat(shape: tuple[int, ...], item: Codes, worker: Codes, label: Codes, yes: Flags) -> _Votes:
    """Votes in a row, by item, then answer."""
    spread = [np.broadcast_to(codes, shape).ravel() for codes in (item, worker, label)]
    return _Votes(spread[0], spread[1], spread[2], yes.ravel())


def _by_item(*parts: _Votes) -> _Votes:
    """The votes of all parts, by item; those of an earlier part first."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = columns[0].argsort(kind="stable")
    return _Votes._make(column[order] for column in columns)


def _draw_distinct(rng: np.random.Generator, weight: Floats, n_rows: int, n_draws: int) -> Codes:
    """Codes 0 … weight.size - 1 drawn by weight, (n_rows, n_draws), none twice in a row."""
    if n_draws == weight.size:
        return np.broadcast_to(np.arange(n_draws, dtype=np.int32), (n_rows, n_draws))
    # A race costs one clock per code; redrawing, about 5 clocks per try of the worst last draw (timed).
    worst_last_chance = np.sort(weight)[: weight.size - n_draws + 1].sum() / weight.sum()
    redraws_are_cheap = 5 * n_draws / worst_last_chance < weight.size
    draw = _draw_by_redrawing if redraws_are_cheap else _draw_by_racing
    return draw(rng, weight, n_rows, n_draws)


def _draw_by_redrawing(rng: np.random.Generator, weight: Floats, n_rows: int, n_draws: int) -> Codes:
    """Draw freely, then redraw repeats until none is left: fast as long as repeats are rare."""
    cumulative = np.cumsum(weight) / weight.sum()

    def free_draws(size: int | tuple[int, int]) -> Codes:
        codes: Codes = np.searchsorted(cumulative[:-1], rng.random(size), side="right").astype(np.int32)
        return codes

    codes = free_draws((n_rows, n_draws))
    rows = np.arange(n_rows)
    while rows.size:
        repeated = _is_repeated(codes[rows])
        row, column = repeated.nonzero()
        codes[rows[row], column] = free_draws(row.size)
        rows = rows[repeated.any(axis=1)]
    return codes


def _is_repeated(codes: Codes) -> Flags:
    """Whether a code stood earlier in its row, same shape as `codes`."""
    order = codes.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(codes, order, axis=1)
    repeated = np.zeros(codes.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return repeated


def _draw_by_racing(rng: np.random.Generator, weight: Floats, n_rows: int, n_draws: int) -> Codes:
    """Let exponential clocks run at the speed of the weights and take the first `n_draws` of each row."""
    mean_time = (weight.mean() / weight).astype(np.float32)
    chunk = max(1, RACE_CELLS // weight.size)
    codes = np.empty((n_rows, n_draws), dtype=np.int32)
    for start in range(0, n_rows, chunk):
        rows = codes[start : start + chunk]
        time = rng.standard_exponential((len(rows), weight.size), dtype=np.float32) * mean_time
        rows[:] = time.argpartition(n_draws - 1, axis=1)[:, :n_draws]
    return codes


def _sigmoid(log_odds: NDArray[Any]) -> NDArray[Any]:
    probability: NDArray[Any] = 1 / (1 + np.exp(-log_odds))
    return probability


def _logit(probability: ArrayLike) -> Floats:
    """Log-odds; -inf and inf for what never and always happens."""
    chance = np.asarray(probability, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.log(chance) - np.log1p(-chance)


# Files


def write_crowd(spec: CrowdSpec, folder: Path | str, progress: Callable[[int, int], object] | None = None) -> None:
    """Stream the crowd of `spec` into files; all of them appear together at the end, or none.

    votes.parquet (worker, item, label, value), truth.csv (item, labels: one row for each item, also without label),
    workers.csv (worker, kind, specialty, price), and features.parquet if the spec has features. With models among the
    workers, workers.csv has kind human or model, family (blank for people), skill (what is else called kind), specialty
    and price. Files of these names that are already there make way. `progress(done_votes, total_votes)` follows each
    block.
    """
    folder = Path(folder)
    make_folder(folder)
    with written_to(folder), TemporaryDirectory(prefix=".unfinished-", dir=folder) as staging:
        _write_files(spec, Path(staging), progress or (lambda done, total: None))
        (folder / "features.parquet").unlink(missing_ok=True)
        for path in Path(staging).iterdir():
            path.replace(folder / path.name)


def _write_files(spec: CrowdSpec, folder: Path, progress: Callable[[int, int], object]) -> None:
    labels, workers = _draw_world(spec)
    write_csv(_worker_table(spec, workers), folder / "workers.csv", PLAIN_CSV)
    done_votes = 0
    with ExitStack() as stack:
        writers: dict[str, ParquetWriter | CSVWriter] = {}
        for block in _draw_blocks(spec, labels, workers):
            for name, table in _block_tables(spec, block).items():
                if name not in writers:
                    writers[name] = stack.enter_context(_open_writer(folder / name, table.schema))
                writers[name].write_table(table)
            done_votes += block.value.size
            progress(done_votes, spec.n_votes)


PLAIN_CSV = WriteOptions(quoting_style="none")  # generated names need no quotes


def _open_writer(path: Path, schema: pa.Schema) -> ParquetWriter | CSVWriter:
    """Writer with `write_table`, by the ending of the name."""
    if path.suffix == ".csv":
        return CSVWriter(path, schema, write_options=PLAIN_CSV)
    return ParquetWriter(path, schema, compression="zstd", dictionary_pagesize_limit=2**25)


def _block_tables(spec: CrowdSpec, block: CrowdBlock) -> dict[str, pa.Table]:
    """Rows that a block adds to each file, by file name."""
    item_names = _item_names(spec, block.first_item, block.first_item + len(block.truth))
    label_names = _label_names(spec)
    votes = {
        "worker": pa.DictionaryArray.from_arrays(block.worker, _worker_names(spec)),
        "item": pa.DictionaryArray.from_arrays(block.item - np.int32(block.first_item), item_names),
        "label": pa.DictionaryArray.from_arrays(block.label, label_names),
        "value": block.value,
    }
    ends = np.append(0, block.truth.sum(axis=1).cumsum())
    true_labels = pa.LargeListArray.from_arrays(ends, label_names.take(block.truth.nonzero()[1]))
    tables = {
        "votes.parquet": pa.table(votes),
        "truth.csv": pa.table({"item": item_names, "labels": pc.binary_join(true_labels, LIST_SEPARATOR)}),
    }
    if spec.n_features:
        feature_names = _numbered("feature_", 0, spec.n_features, spec.n_features).to_pylist()
        columns = dict(zip(feature_names, block.features.T, strict=True))
        tables["features.parquet"] = pa.table({"item": item_names, **columns})
    return tables


def _worker_table(spec: CrowdSpec, workers: _Workers) -> pa.Table:
    known: dict[str, Any] = {"worker": _worker_names(spec)}
    if spec.n_models:
        is_model = workers.family >= 0
        family_names = _numbered("family_", 0, spec.n_families, spec.n_families)
        known["kind"] = np.where(is_model, "model", "human")
        known["family"] = family_names.take(pa.array(workers.family, mask=~is_model))
        known["skill"] = workers.kind_names
    else:
        known["kind"] = workers.kind_names
    known["specialty"] = pa.array(workers.specialty, mask=workers.specialty < 0)
    known["price"] = workers.prices
    return pa.table(known)


def _item_names(spec: CrowdSpec, start: int, stop: int) -> pa.Array:
    return _numbered("i", start, stop, spec.n_items)


def _worker_names(spec: CrowdSpec) -> pa.Array:
    return _numbered("w", 0, spec.n_workers, spec.n_workers)


def _label_names(spec: CrowdSpec) -> pa.Array:
    return _numbered("label_", 0, spec.n_labels, spec.n_labels)


def _numbered(prefix: str, start: int, stop: int, total: int) -> pa.Array:
    """Names of the codes start … stop - 1, counted from 1 and padded to the width of `total`."""
    numbers = pc.cast(pa.array(np.arange(start + 1, stop + 1)), pa.string())
    return pc.binary_join_element_wise(prefix, pc.utf8_lpad(numbers, len(str(total)), "0"), "")
