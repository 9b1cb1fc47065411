"""Workers who err together although nobody said so: a warning, never a correction.

If votes followed the truth and nothing else, those of two workers would correlate by the product of their skills,
λ λ'. The skills that explain most pairs of workers are found first, so that a few who agree for other reasons do not
count. What two workers agree beyond that is shared error. On hard or ambiguous pairs everybody's errors go together a
little, so a family shows by errors that go together much more than those of others in the same crowd. Where a family
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
import scipy

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.families.correlations import MOST_CORRELATED, CentredVotes, centred_votes, vote_correlations
from amcc.consensus.families.tree import ViewTree
from amcc.consensus.families.weights import MOST_SQUARED
from amcc.roster import MODEL, WORKER_KINDS, Seats
from amcc.special import ndtri
from amcc.votes import Votes

# Workers who are compared, those with the most votes: pairs of workers grow with the square.
MOST_WORKERS = 300

# Votes that are looked at, on a random part of the items: a warning about what matters needs no more.
MOST_VOTES = 500_000

# Pairs that two workers must both have voted on, and of how many items these must be: with fewer, the error of a
# correlation is above 0.13, and half of `ABOVE_USUAL` would be noise.
FEWEST_SHARED, FEWEST_ITEMS = 60, 30

# Others with whom each worker must be compared. With two, three correlations fix three skills exactly, and nothing is
# left that could show sharing; four leave enough.
FEWEST_OTHERS = 4

# Pairs of workers that must be compared: with fewer, there is no usual correlation to compare with.
FEWEST_COMPARISONS = 10

# How much higher than usual the errors of two workers correlate at least, as estimated and as is nearly sure. Below,
# shared errors hardly change a consensus.
ABOVE_USUAL, SURELY_ABOVE = 0.3, 0.1

# Pairs of workers that get a second look, those who err together most: each takes a pass over their votes.
MOST_TESTED = 400

# Probability that a crowd without families gets a warning, over all its pairs of workers (Bonferroni). A false alarm
# accuses people, so it must be rare.
FALSE_ALARMS = 0.01

# Rounds of fitting skills (each goes half the way, so many are needed; all are cheap), and the deviation from λ λ' at
# which two workers count half (Cauchy's weights): three times the error of a correlation of 3,000 pairs.
SKILL_ROUNDS, LIKELY = 60, 0.05

# Where skills start, and as how many comparisons the skill of a usual worker holds each of them. The start is low:
# otherwise a family that agrees nearly always is taken for experts, and the others for those who err together.
SKILL, SKILL_PAIRS = 0.5, 1.0

# Skills stay in this range, so that no worker explains everything or nothing in a round.
LEAST_SKILL, MOST_SKILL = 0.05, 0.97

# By how much the variance of a correlation exceeds that of independent pairs: labels of an item go together.
CLUSTERED = 2.0

# Median absolute deviation times this is the standard deviation, if the distribution is normal.
MAD_TO_DEVIATION = 1.4826

# Workers that a sentence names.
MOST_NAMED = 8

# What names of language models begin with. No letter may stand before it, nor three behind it: people have such names.
MODEL_NAMES = re.compile(
    r"(?<![a-z])(gpt|chatgpt|claude|gemini|gemma|palm|llama|mistral|mixtral|qwen|deepseek|phi-?\d|command-r|falcon|"
    r"vicuna|grok|yi-\d|flan-t5|davinci|sonnet|haiku|opus|llm)(?![a-z]{3})",
    re.IGNORECASE,
)

WAY_OUT = (
    "say so in a workers file (worker,kind,family): --workers FILE. One to correct is written by amcc workers with "
    "--suggest-workers FILE"
)


# -- what is reported ------------------------------------------------------------------------------------------------


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
        who = ", ".join(repr(str(names[code].as_py())) for code in self.workers[:MOST_NAMED])
        if len(self.workers) > MOST_NAMED:
            who += f" and {len(self.workers) - MOST_NAMED} others"
        if self.correlation is None:
            return f"{who} are named like language models, which share errors. If that is what they are, {WAY_OUT}"
        return (
            f"{who} make the same mistakes more often than others (correlation of errors {self.correlation:.2f}, usual "
            f"is {self.usual:.2f}). If they are of one family, {WAY_OUT}"
        )

    def as_json(self, names: pa.Array) -> dict[str, Any]:
        """The same for scripts."""
        return vars(self) | {"workers": [names[code].as_py() for code in self.workers]}


def suggested_roster(suspicions: Sequence[Suspicion], names: pa.Array) -> pa.Table:
    """Rows worker, kind, family for a workers file, to be corrected by somebody who knows the workers."""
    family: dict[int, str] = {}
    for number, suspicion in enumerate(suspicions, start=1):
        for code in suspicion.workers:
            called = MODEL_NAMES.search(str(names[code].as_py()))
            family.setdefault(code, called[1].lower() if called else f"family {number}")
    codes = sorted(family)
    columns = {"kind": [WORKER_KINDS[MODEL]] * len(codes), "family": [family[code] for code in codes]}
    texts = {name: pa.array(column, pa.string()) for name, column in columns.items()}
    return pa.table({"worker": names.take(pa.array(codes, pa.int64())), **texts})


def suspected_families(votes: Votes, seats: Seats | None = None) -> list[Suspicion]:
    """Groups of workers whose errors go together beyond the usual, the largest first; not those that were declared.

    seats : what a roster says about the workers. Without it, workers who are named like language models come as well.
    """
    found = [] if seats is not None else named_like_models(votes)
    votes, worker = _part_to_look_at(votes)
    if len(worker) < 2:
        return found
    comparisons = _comparisons(votes, worker)
    if np.triu(comparisons.compared, 1).sum() < FEWEST_COMPARISONS:
        return found
    usual = _usual(comparisons)
    linked = _surely_beyond(votes, comparisons, usual)
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


# -- how errors go together ------------------------------------------------------------------------------------------


class _Comparisons(NamedTuple):
    """Workers who are compared; arrays are (n, n).

    correlation : of errors; compared : where there is enough to compare; shared : pairs that both voted on
    scale : the product of two centred votes that a correlation of errors of 1 would give on average
    centred : the votes, with workers as sources
    """

    correlation: Floats
    compared: Mask
    shared: Floats
    scale: Floats
    centred: CentredVotes


def _part_to_look_at(votes: Votes) -> tuple[Votes, Ints]:
    """The votes of workers who can be compared, on a random part of the items where there are many; and the workers."""
    if len(votes) > MOST_VOTES:
        chosen = np.random.default_rng(0).random(votes.n_items) < MOST_VOTES / len(votes)
        votes = votes.select(chosen[votes.item])
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    worker = np.flatnonzero(n_votes >= FEWEST_SHARED)
    worker = np.sort(worker[np.argsort(-n_votes[worker], kind="stable")][:MOST_WORKERS])
    return votes.select(np.isin(votes.worker, worker)), worker


def _comparisons(votes: Votes, worker: Ints) -> _Comparisons:
    """How votes and errors of these workers go together.

    Errors are what truth leaves of the votes. If λ is the skill of each, they correlate by (r − λ λ') over
    √(1 − λ²) √(1 − λ'²), where r is the correlation of the votes.
    """
    n = len(worker)
    place, none = np.zeros(votes.n_workers, np.int64), np.zeros(n, np.int64)
    place[worker] = np.arange(n)
    # A tree without views: every worker is a source, and nothing lies between them and the truth.
    tree = ViewTree(place, np.zeros((n, 0), dtype=bool), none[:0], none[:0], none, none > 0)
    nothing = np.zeros(len(votes.pairs), dtype=bool)
    centred = centred_votes(votes, tree, nothing, nothing)
    seen, shared, _ = vote_correlations(centred, len(votes.pairs))
    compared = shared >= FEWEST_SHARED
    np.fill_diagonal(compared, False)
    skill = _skills(seen, compared)
    unexplained = 1 - np.clip(skill**2, 0.0, MOST_SQUARED)  # variance of a vote that truth leaves
    errors = np.sqrt(np.outer(unexplained, unexplained))
    correlation = np.clip((seen - np.outer(skill, skill)) / errors, -MOST_CORRELATED, MOST_CORRELATED)
    variance = centred.variance()
    enough = compared.sum(axis=1) >= FEWEST_OTHERS  # nobody knows the skills of the others
    compared &= np.outer(enough, enough)
    return _Comparisons(correlation, compared, shared, np.sqrt(np.outer(variance, variance)) * errors, centred)


def _skills(seen: Floats, compared: Mask) -> Floats:
    """(n,) correlation of votes with truth, if most pairs of workers share nothing but truth.

    Least squares of the (n, n) correlations on λ λ', with weights that fall with the distance from it, so that pairs of
    workers who share something else do not count.
    """
    skill = np.full(len(seen), SKILL)
    for _ in range(SKILL_ROUNDS):
        weight = compared / (1 + ((seen - np.outer(skill, skill)) / LIKELY) ** 2)
        usual = skill.mean()
        told = (weight * seen) @ skill + SKILL_PAIRS * usual**3
        better = told / (weight @ skill**2 + SKILL_PAIRS * usual**2)
        # Halfway only: both factors of a product move, and whole steps would overshoot and swing.
        skill = np.clip((skill + better) / 2, LEAST_SKILL, MOST_SKILL)
    return skill


class UsualCorrelation(NamedTuple):
    """What is usual in a crowd: median correlation of errors, and the variance around it beyond that of chance."""

    centre: float
    variance: float


def _usual(comparisons: _Comparisons) -> UsualCorrelation:
    """By all pairs of workers who can be compared; medians, so that families among them do not count."""
    errors, shared = comparisons.correlation[comparisons.compared], comparisons.shared[comparisons.compared]
    centre = float(np.median(errors))
    spread = (MAD_TO_DEVIATION * float(np.median(np.abs(errors - centre)))) ** 2
    return UsualCorrelation(centre, max(spread - CLUSTERED / float(np.median(shared)), 0.0))


def _surely_beyond(votes: Votes, comparisons: _Comparisons, usual: UsualCorrelation) -> Mask:
    """(n, n) pairs of workers whose errors go together more than usual, except for `FALSE_ALARMS`.

    A first look sorts out most pairs; the others get a standard error that is clustered by item. What the crowd's own
    correlations vary by, beyond chance, is added to it: in a crowd in which all differ, a difference says less.
    """
    compared, apart = comparisons.compared, comparisons.correlation - usual.centre
    first, second = np.nonzero(np.triu(compared & (apart > ABOVE_USUAL), 1))
    best = np.argsort(-apart[first, second], kind="stable")[:MOST_TESTED]
    limit = -float(ndtri(FALSE_ALARMS / max(int(np.triu(compared, 1).sum()), 1)))
    linked = np.zeros_like(compared)
    pair, worker, value, _ = comparisons.centred
    by_worker = scipy.sparse.coo_array((value, (pair, worker)), shape=(len(votes.pairs), len(compared))).tocsc()
    for one, other in zip(first[best].tolist(), second[best].tolist(), strict=True):
        deviation = _deviation_by_item(votes, by_worker, one, other)
        if len(deviation) < FEWEST_ITEMS:
            continue
        scale = comparisons.shared[one, other] * comparisons.scale[one, other]
        error = np.sqrt((deviation**2).sum()) / max(scale, 1e-12)
        surely = apart[one, other] - limit * np.sqrt(error**2 + usual.variance)
        linked[one, other] = linked[other, one] = surely > SURELY_ABOVE
    return linked


def _deviation_by_item(votes: Votes, by_worker: scipy.sparse.csc_array, one: int, other: int) -> Floats:
    """(n_items that both voted on,) sum of the products of two workers' votes, less what is usual for so many pairs."""
    product = (by_worker[:, [one]] * by_worker[:, [other]]).tocoo()
    # Votes that are exactly at their mean are entries, too, while their products are not.
    mine, theirs = (by_worker.indices[slice(*by_worker.indptr[column : column + 2])] for column in (one, other))
    shared = np.intersect1d(mine, theirs, assume_unique=True)
    of_item = np.bincount(votes.pairs.item[product.coords[0]], product.data, votes.n_items)
    n_pairs = np.bincount(votes.pairs.item[shared], minlength=votes.n_items)
    met = n_pairs > 0
    return np.asarray(of_item[met] - of_item.sum() / n_pairs.sum() * n_pairs[met])


def _clusters(linked: Mask) -> list[Ints]:
    """Groups of two or more in which each is linked to at least half of the others, the most linked first."""
    left = np.ones(len(linked), dtype=bool)
    groups = []
    for seed in np.argsort(-linked.sum(axis=1), kind="stable").tolist():
        if not left[seed]:
            continue
        group = np.append(np.flatnonzero(left & linked[seed]), seed)
        while len(group) > 1:
            inside = linked[np.ix_(group, group)].sum(axis=1)
            if inside.min() >= (len(group) - 1) / 2:
                break
            group = np.delete(group, inside.argmin())  # whoever is linked least, until the rest holds together
        if len(group) > 1:
            left[group] = False
            groups.append(np.sort(group))
    return groups
