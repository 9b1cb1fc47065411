"""Workers who err together although nobody said so: a warning, never a correction.

If votes followed the truth and nothing else, those of two workers would correlate by the product of their skills,
λ λ'. The skills that explain most pairs of workers are found first, so that a few who agree for other reasons do not
count; what two workers agree beyond that is shared error. On hard or ambiguous pairs everybody's errors go together a
little, so a family is told by errors that go together much more than those of others in the same crowd. Where a family
outnumbers the others, its agreement *is* what explains most; nobody can see that in votes alone. For that case, names
that language models have are pointed out, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.stats import norm

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.families.correlations import centred_votes, vote_correlations
from amcc.consensus.families.tree import ViewTree
from amcc.consensus.families.weights import MOST_SQUARED
from amcc.roster import KINDS, MODEL, Seats
from amcc.votes import Votes

MOST_WORKERS = 300
"""Workers who are compared, those with the most votes: pairs of workers grow with the square."""

MOST_VOTES = 500_000
"""Votes that are looked at, on a random part of the pairs: enough to see what matters."""

FEWEST_SHARED, FEWEST_ITEMS, FEWEST_OTHERS = 60, 30, 4
"""Pairs that two workers both voted on, of how many items, and with how many others each of them must be compared."""

FEWEST_COMPARISONS = 10
"""Pairs of workers without which there is no usual correlation to compare with."""

ABOVE_USUAL, SURELY_ABOVE = 0.3, 0.1
"""How much higher than usual the errors of two workers correlate at least, and surely: below, it hardly matters."""

MOST_TESTED = 400
"""Pairs of workers that get a second look, those who err together most."""

FALSE_ALARMS = 0.01
"""Probability that a crowd without families gets a warning, over all its pairs of workers (Bonferroni)."""

ROUNDS, LIKELY = 60, 0.05
"""Of fitting skills, and the deviation from λ λ' up to which two workers count fully in it (Cauchy's weights)."""

SKILL, SKILL_PAIRS = 0.5, 1.0
"""Where skills start, and as how many comparisons that of a usual worker holds each of them. The start is low, so that
a family that agrees nearly always is not taken for a crowd of experts, and the others for those who err together."""

CLUSTERED = 2.0
"""By how much the variance of a correlation exceeds that of independent pairs: labels of an item go together."""

MODEL_NAMES = re.compile(
    r"(?<![a-z])(gpt|chatgpt|claude|gemini|gemma|palm|llama|mistral|mixtral|qwen|deepseek|phi-?\d|command-r|falcon|"
    r"vicuna|grok|yi-\d|flan-t5|davinci|sonnet|haiku|opus|llm)(?![a-z]{3})",
    re.IGNORECASE,
)
"""What names of language models begin with."""


@dataclass(frozen=True)
class Suspicion:
    """Workers who may be a family.

    workers : (n,) codes
    correlation : mean correlation of their errors; usual : that of other pairs of workers; None if only names say it
    """

    workers: tuple[int, ...]
    correlation: float | None = None
    usual: float | None = None

    def sentence(self, names: pa.Array) -> str:
        """What was seen, and the way out."""
        who = ", ".join(repr(str(names[code].as_py())) for code in self.workers[:8])
        who += f" and {len(self.workers) - 8} others" * (len(self.workers) > 8)
        if self.correlation is None:
            return f"{who} are named like language models, which share errors. If that is what they are, {WAY_OUT}"
        return (
            f"{who} make the same mistakes more often than others (correlation of errors {self.correlation:.2f}, usual "
            f"is {self.usual:.2f}). If they are of one family, {WAY_OUT}"
        )

    def as_json(self, names: pa.Array) -> dict[str, Any]:
        """The same for scripts."""
        who = [names[code].as_py() for code in self.workers]
        return {"workers": who, "correlation": self.correlation, "usual": self.usual}


WAY_OUT = (
    "say so in a workers file (worker,kind,family): --workers FILE. One to correct is written by amcc workers with "
    "--suggest-workers FILE"
)


def suggested_roster(suspicions: Sequence[Suspicion], names: pa.Array) -> pa.Table:
    """Rows worker, kind, family for a workers file, to be corrected by somebody who knows the workers."""
    rows: dict[int, tuple[str, str]] = {}
    for number, suspicion in enumerate(suspicions, start=1):
        for code in suspicion.workers:
            called = MODEL_NAMES.search(str(names[code].as_py()))
            rows.setdefault(code, (KINDS[MODEL], called[1].lower() if called else f"family {number}"))
    codes = sorted(rows)
    columns = zip(*(rows[code] for code in codes), strict=True) if codes else ((), ())
    kind, family = (pa.array(column, pa.string()) for column in columns)
    return pa.table({"worker": names.take(pa.array(codes, pa.int64())), "kind": kind, "family": family})


def suspected_families(votes: Votes, seats: Seats | None = None) -> list[Suspicion]:
    """Groups of workers whose errors go together beyond the usual, the largest first; not those that were declared."""
    found = [] if seats is not None else named_like_models(votes)
    votes, worker = _part_to_look_at(votes)
    if len(worker) < 2:
        return found
    comparisons = _comparisons(votes, worker)
    if np.triu(comparisons.compared, 1).sum() < FEWEST_COMPARISONS:
        return found
    usual = _usual(comparisons.correlation, comparisons.compared, comparisons.shared)
    linked = _surely_beyond(votes, worker, comparisons, usual)
    if seats is not None:  # what was declared is no news: families, and all models
        family, is_model = seats.family[worker], seats.kind[worker] == MODEL
        linked &= ~((family[:, None] == family[None, :]) & (family >= 0)[:, None])
        linked &= ~np.outer(is_model, is_model)
    for group in _clusters(linked):
        inside = np.ix_(group, group)
        errors = comparisons.correlation[inside][np.triu(comparisons.compared[inside], 1)]
        found.append(Suspicion(tuple(worker[group].tolist()), float(errors.mean()), usual.centre))
    return sorted(found, key=lambda suspicion: -len(suspicion.workers))


def named_like_models(votes: Votes) -> list[Suspicion]:
    """Workers whose names say that they are language models, if there are several."""
    voted = np.bincount(votes.worker, minlength=votes.n_workers) > 0
    names = votes.worker_names.cast(pa.string()).to_pylist()
    called = tuple(code for code, name in enumerate(names) if voted[code] and MODEL_NAMES.search(name))
    return [Suspicion(called)] if len(called) > 1 else []


@dataclass(frozen=True)
class _Comparisons:
    """Workers who are compared.

    correlation : (n, n) of errors; compared : where there is enough to compare
    shared : (n, n) pairs that both voted on; scale : (n, n) what turns a product of centred votes into the latter
    votes : pair, worker and centred vote, of each
    """

    correlation: Floats
    compared: Mask
    shared: Floats
    scale: Floats
    votes: tuple[Ints, Ints, Floats]


def _part_to_look_at(votes: Votes) -> tuple[Votes, Ints]:
    """The votes of workers who can be compared, on a random part of the pairs where there are many; and the workers."""
    if len(votes) > MOST_VOTES:
        chosen = np.random.default_rng(0).random(votes.n_items) < MOST_VOTES / len(votes)
        votes = votes.select(chosen[votes.item])
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    worker = np.flatnonzero(n_votes >= FEWEST_SHARED)
    worker = np.sort(worker[np.argsort(-n_votes[worker], kind="stable")][:MOST_WORKERS])
    known = np.zeros(votes.n_workers, dtype=bool)
    known[worker] = True
    return votes.select(known[votes.worker]), worker


def _comparisons(votes: Votes, worker: Ints) -> _Comparisons:
    """How votes and errors of these workers go together."""
    place = np.zeros(votes.n_workers, np.int64)
    place[worker] = np.arange(len(worker))
    none, nobody = np.zeros(len(worker), np.int64), np.zeros(len(worker), dtype=bool)
    tree = ViewTree(place, np.zeros((len(worker), 0), dtype=bool), none[:0], none[:0], none, none - 1, nobody)
    nothing = np.zeros(len(votes.pairs), dtype=bool)
    correlations = vote_correlations(votes, tree, nothing, nothing)
    pair, code, error, _ = centred_votes(votes, tree, nothing, nothing)
    compared = correlations.shared >= FEWEST_SHARED
    np.fill_diagonal(compared, False)
    skill = _skills(correlations.correlation, compared)
    squared = np.clip(skill**2, 0.0, MOST_SQUARED)
    errors = np.sqrt(np.outer(1 - squared, 1 - squared))
    correlation = np.clip((correlations.correlation - np.outer(skill, skill)) / errors, -0.99, 0.99)
    variance = np.bincount(code, error**2, len(worker)) / np.maximum(np.bincount(code, minlength=len(worker)), 1)
    scale = np.sqrt(np.outer(variance, variance)) * errors
    enough = compared.sum(axis=1) >= FEWEST_OTHERS  # skills of the others are not known
    compared &= np.outer(enough, enough)
    return _Comparisons(correlation, compared, correlations.shared, scale, (pair, code, error))


def _skills(seen: Floats, compared: Mask) -> Floats:
    """(n,) correlation of votes with truth, if most pairs of workers share nothing but truth."""
    skill = np.full(len(seen), SKILL)
    for _ in range(ROUNDS):
        weight = compared / (1 + ((seen - np.outer(skill, skill)) / LIKELY) ** 2)
        usual = skill.mean()
        told = (weight * seen) @ skill + SKILL_PAIRS * usual**3
        better = told / (weight @ skill**2 + SKILL_PAIRS * usual**2)
        skill = np.clip((skill + better) / 2, 0.05, 0.97)  # halfway, since both factors of a product move
    return skill


class UsualCorrelation(NamedTuple):
    """What is usual in a crowd: median correlation of errors, and the variance around it beyond that of chance."""

    centre: float
    variance: float


def _usual(correlation: Floats, compared: Mask, shared: Floats) -> UsualCorrelation:
    """By all pairs of workers who can be compared."""
    errors = correlation[compared]
    centre = float(np.median(errors))
    spread = (1.4826 * float(np.median(np.abs(errors - centre)))) ** 2  # as if normal
    return UsualCorrelation(centre, max(spread - CLUSTERED / float(np.median(shared[compared])), 0.0))


def _surely_beyond(votes: Votes, worker: Ints, comparisons: _Comparisons, usual: UsualCorrelation) -> Mask:
    """(n, n) pairs of workers whose errors go together more than usual, but for `FALSE_ALARMS`.

    A first look sorts out most pairs; the others get a standard error that is clustered by item.
    """
    apart = comparisons.correlation - usual.centre
    first, second = np.nonzero(np.triu(comparisons.compared & (apart > ABOVE_USUAL), 1))
    best = np.argsort(-apart[first, second], kind="stable")[:MOST_TESTED]
    limit = float(norm.isf(FALSE_ALARMS / max(int(np.triu(comparisons.compared, 1).sum()), 1)))
    linked = np.zeros_like(comparisons.compared)
    pair, code, error = comparisons.votes
    by_worker = coo_array((error, (pair, code)), shape=(len(votes.pairs), len(worker))).tocsc()
    for one, other in zip(first[best].tolist(), second[best].tolist(), strict=True):
        product = (by_worker[:, [one]] * by_worker[:, [other]]).tocoo()
        shared = np.intersect1d(_rows(by_worker, one), _rows(by_worker, other), assume_unique=True)
        scale = comparisons.shared[one, other] * comparisons.scale[one, other]
        of_item = np.bincount(votes.pairs.item[product.coords[0]], product.data, votes.n_items)
        n_item = np.bincount(votes.pairs.item[shared], minlength=votes.n_items)
        there = n_item > 0
        if there.sum() < FEWEST_ITEMS:
            continue
        off = of_item[there] - of_item.sum() / n_item.sum() * n_item[there]
        error_of_mean = np.sqrt((off**2).sum()) / max(scale, 1e-12)
        surely = apart[one, other] - limit * np.sqrt(error_of_mean**2 + usual.variance)
        linked[one, other] = linked[other, one] = surely > SURELY_ABOVE
    return linked


def _rows(matrix: Any, column: int) -> Ints:
    """Where a column has entries."""
    return np.asarray(matrix.indices[matrix.indptr[column] : matrix.indptr[column + 1]], dtype=np.int64)


def _clusters(linked: Mask) -> list[Ints]:
    """Groups of two or more in which each is linked to at least half of the others, the most linked first."""
    left = np.ones(len(linked), dtype=bool)
    groups = []
    for seed in np.argsort(-linked.sum(axis=1), kind="stable").tolist():
        if not left[seed]:
            continue
        group = np.flatnonzero(left & linked[seed])
        group = np.append(group, seed)
        while len(group) > 1:
            inside = linked[np.ix_(group, group)].sum(axis=1)
            if inside.min() >= (len(group) - 1) / 2:
                break
            group = np.delete(group, inside.argmin())
        if len(group) > 1:
            left[group] = False
            groups.append(np.sort(group))
    return groups
