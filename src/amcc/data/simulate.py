"""A multi-label crowd with known truth, drawn block by block, so that 10⁸ votes need little memory.

Truth     item factors → label scores (probit factor model) → correlated labels of unequal frequency
Workers   kind and specialty → hit and false-alarm rate per label; activity; price
Votes     truth, rates and item difficulty → ±1 for each label asked in an answer

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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from pyarrow.csv import CSVWriter, WriteOptions, write_csv
from pyarrow.parquet import ParquetWriter

from amcc.errors import ParameterError
from amcc.files import make_folder, written_to
from amcc.io.csv import LIST_SEPARATOR
from amcc.votes import Votes

__all__ = [
    "KINDS",
    "KIND_WEIGHTS",
    "CrowdBlock",
    "CrowdSpec",
    "SimulatedCrowd",
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

    def __post_init__(self) -> None:
        for name, limits in _LIMITS.items():
            _check_number(name, getattr(self, name), *limits)
        n_labels, n_workers = f"n_labels={self.n_labels}", f"n_workers={self.n_workers}"
        within_labels = 0 < self.labels_per_item < self.n_labels
        self._require(within_labels, "labels_per_item", f"above 0 and below {n_labels}")
        self._require(self.n_specialties <= self.n_labels, "n_specialties", f"at most {n_labels}")
        self._require(self.answers_per_item <= self.n_workers, "answers_per_item", f"at most {n_workers}")
        self._require(self.asked_share > 0, "asked_share", "above 0")
        self._require(set(self.kind_weights) <= set(KINDS), "kind_weights", f"weights of {', '.join(KINDS)}")
        for kind, weight in self.kind_weights.items():
            _check_number(f"kind_weights[{kind!r}]", weight, Real, 0, inf)
        everybody_placed = bool(np.isclose(self.kind_shares.sum(), 1))
        needed_kinds = f"positive for some honest and some spammer kind when spammers={self.spammers}"
        self._require(everybody_placed, "kind_weights", needed_kinds)

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
    def labels_per_answer(self) -> int:
        """Labels asked in one answer, at least one."""
        return max(1, round(self.asked_share * self.n_labels))

    @property
    def votes_per_item(self) -> int:
        """Votes on one item."""
        return self.answers_per_item * self.labels_per_answer

    @property
    def n_votes(self) -> int:
        """Votes of the whole crowd."""
        return self.n_items * self.votes_per_item

    @classmethod
    def for_votes(cls, n_votes: int, **changes: Any) -> CrowdSpec:
        """Spec of about `n_votes` votes: more votes come from more items, workers and (up to 20) labels.

        `changes` are any fields but `n_items`, which follows from them.
        """
        _check_number("n_votes", n_votes, Integral, 1, inf)
        if "n_items" in changes:
            raise ParameterError(f"n_items must be left to for_votes; got {changes['n_items']!r}. Use CrowdSpec().")
        size = n_votes / 10**7
        sizes = {
            "n_labels": int(np.clip(round(20 * size**0.15), 5, 20)),
            "n_workers": max(changes.get("answers_per_item", cls.answers_per_item), round(5000 * size**0.65)),
        }
        one_item = cls(n_items=1, **(sizes | changes))
        return replace(one_item, n_items=max(1, round(n_votes / one_item.votes_per_item)))


@dataclass(frozen=True)
class CrowdBlock:
    """Some consecutive items of a crowd with all their votes.

    Attributes
    ----------
    first_item : int. Code of the block's first item.
    item, worker, label : (n_votes,) codes in the whole crowd, by item, then answer.
    value : (n_votes,) +1 or -1.
    truth : (block items, n_labels) bool.
    difficulty : (block items,) 0 on average.
    features : (block items, n_features)
    """

    first_item: int
    item: Codes
    worker: Codes
    label: Codes
    value: NDArray[np.int8]
    truth: Flags
    difficulty: Floats32
    features: Floats32


@dataclass(frozen=True)
class SimulatedCrowd:
    """Votes of a simulated crowd and the truth behind them.

    Attributes
    ----------
    votes : Votes
    truth : (n_items, n_labels) bool.
    worker_kind : (n_workers,) str, one of `KINDS`.
    specialty : (n_workers,) the label cluster a worker is best at; -1 for spammers.
    label_cluster : (n_labels,) the cluster each label belongs to.
    hit_rate, false_alarm_rate : (n_workers, n_labels) chance of a yes to a label that is present, absent, on
        an item of difficulty 0.
    difficulty : (n_items,) 0 on average; how much it lowers the log-odds of a hit.
    prices : (n_workers,) cents for one vote.
    features : (n_items, n_features), None without features.
    """

    votes: Votes
    truth: Flags
    worker_kind: NDArray[np.str_]
    specialty: Codes
    label_cluster: Codes
    hit_rate: Floats
    false_alarm_rate: Floats
    difficulty: Floats32
    prices: NDArray[np.int64]
    features: Floats32 | None


def simulate_crowd(spec: CrowdSpec) -> SimulatedCrowd:
    """The whole crowd of `spec` in memory."""
    labels, workers = _draw_world(spec)
    blocks = list(_draw_blocks(spec, labels, workers))

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(block, name) for block in blocks])

    return SimulatedCrowd(
        votes=Votes.from_codes(
            *map(joined, ("item", "worker", "label", "value")),
            item_names=_item_names(spec, 0, spec.n_items),
            worker_names=_worker_names(spec),
            label_names=_label_names(spec),
        ),
        truth=joined("truth"),
        worker_kind=workers.kind_names,
        specialty=workers.specialty,
        label_cluster=labels.cluster,
        hit_rate=workers.hit_rate,
        false_alarm_rate=workers.false_alarm_rate,
        difficulty=joined("difficulty"),
        prices=workers.prices,
        features=joined("features") if spec.n_features else None,
    )


def crowd_blocks(spec: CrowdSpec) -> Iterator[CrowdBlock]:
    """The crowd of `spec` in blocks of items, about a million votes each."""
    return _draw_blocks(spec, *_draw_world(spec))


def _draw_world(spec: CrowdSpec) -> tuple[_Labels, _Workers]:
    """What all blocks share."""
    rng = _child_rng(spec, 0)
    labels = _draw_labels(rng, spec)
    return labels, _draw_workers(rng, spec, labels.cluster)


def _draw_blocks(spec: CrowdSpec, labels: _Labels, workers: _Workers) -> Iterator[CrowdBlock]:
    block_items = max(1, min(BLOCK_VOTES // spec.votes_per_item, BLOCK_TRUTHS // spec.n_labels))
    for number, first in enumerate(range(0, spec.n_items, block_items), start=1):
        items = range(first, min(first + block_items, spec.n_items))
        yield _draw_block(_child_rng(spec, number), spec, labels, workers, items)


def _child_rng(spec: CrowdSpec, number: int) -> np.random.Generator:
    """Generator of the seed's child of this number: 0 for the world, then one for each block."""
    return np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=(number,)))


# Truth


@dataclass(frozen=True)
class _Labels:
    """How items come to have labels and features.

    loading : (N_FACTORS, n_labels) unit columns; threshold, cluster : (n_labels,);
    feature_loading : (N_FACTORS, n_features).
    """

    loading: Floats32
    threshold: Floats32
    cluster: Codes
    feature_loading: Floats32


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

    @property
    def kind_names(self) -> NDArray[np.str_]:
        return np.array(KINDS)[self.kind]

    @cached_property
    def log_odds(self) -> Floats32:
        """Log-odds of a yes, (2, n_workers, n_labels): label absent, label present."""
        return _logit(np.stack([self.false_alarm_rate, self.hit_rate])).astype(np.float32)


def _draw_workers(rng: np.random.Generator, spec: CrowdSpec, label_cluster: Codes) -> _Workers:
    kind = rng.permutation(_fill_shares(spec.kind_shares, spec.n_workers))
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


def _draw_block(
    rng: np.random.Generator, spec: CrowdSpec, labels: _Labels, workers: _Workers, items: range
) -> CrowdBlock:
    """The block of these items; inside, arrays have the axes (item, answer, label asked)."""
    n_items = len(items)
    factors = rng.standard_normal((n_items, N_FACTORS), dtype=np.float32)
    truth = _draw_truth(rng, spec, labels, factors)
    difficulty = np.float32(spec.difficulty) * (rng.standard_exponential(n_items, dtype=np.float32) - 1)
    feature_noise = FEATURE_NOISE * rng.standard_normal((n_items, spec.n_features), dtype=np.float32)

    shape = (n_items, spec.answers_per_item, spec.labels_per_answer)
    item = np.arange(n_items, dtype=np.int32)[:, None, None]
    worker = _draw_distinct(rng, workers.activity, *shape[:2])[:, :, None]
    label = _draw_distinct(rng, np.ones(spec.n_labels), n_items * shape[1], shape[2]).reshape(shape)

    present = truth[item, label].view(np.int8)
    hardship = np.where(IS_SPAMMER[workers.kind[worker]], np.float32(0), difficulty[item])
    log_odds = workers.log_odds[present, worker, label] + DIFFICULTY_SHIFT[present] * hardship
    yes = rng.random(shape, dtype=np.float32) < _sigmoid(log_odds)
    return CrowdBlock(
        first_item=items.start,
        item=np.broadcast_to(items.start + item, shape).ravel(),
        worker=np.broadcast_to(worker, shape).ravel(),
        label=label.ravel(),
        value=np.where(yes, np.int8(1), np.int8(-1)).ravel(),
        truth=truth,
        difficulty=difficulty,
        features=factors @ labels.feature_loading + feature_noise,
    )


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
    workers.csv (worker, kind, specialty, price), and features.parquet if the spec has features. Files of
    these names that are already there make way. `progress(done_votes, total_votes)` follows each block.
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
    return pa.table(
        {
            "worker": _worker_names(spec),
            "kind": workers.kind_names,
            "specialty": pa.array(workers.specialty, mask=workers.specialty < 0),
            "price": workers.prices,
        }
    )


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
