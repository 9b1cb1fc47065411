"""Measuring: what a task is, the tasks that fit models, and how tasks are run.

A task says what to measure and what the result depends on; `run_tasks` measures those whose result is not in the cache
yet. Tasks that take time run alone, all others several at a time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from amcc import Roster, Votes, metrics
from amcc.arrays import Floats, Mask, weight_per_code
from amcc.consensus import MCMLD, NAM, ConsensusModel, GroupedModel, PaperAMCC
from amcc.data import CrowdSpec, simulate_crowd
from amcc.errors import ConvergenceWarning
from amcc.experiments import cache
from amcc.experiments.cache import Count, Progress, kept, place, silent
from amcc.experiments.cells import Draw
from amcc.experiments.entrants import Entrant
from amcc.experiments.reproduce.sets import PaperSet
from amcc.files import make_folder
from amcc.processes import computed

# What "Accuracy" may mean (deviation D12). The paper's formula is the first; it leaves items without a label out.
READINGS = {
    "precision_skip": "precision",
    "jaccard": "Jaccard",
    "f1": "F1",
    "hamming": "Hamming",
    "subset": "subset",
    "recall": "recall",
    "precision_0": "precision, empty = 0",
    "precision_1": "precision, empty = 1",
}
RANKINGS = {"one_minus_rl": "1−RL", "one_minus_oe": "1−OE"}
# What to know about sets before comparing precision: small ones have it easy.
SIZES = {"labels": "labels per item", "empty": "empty sets"}
MEASURES = READINGS | RANKINGS | SIZES

# Labels of the crowds that are timed: larger ones have more items and workers.
GROWTH_LABELS = 10

# The crowd whose rounds are timed while one of its sizes grows; small, so that each can grow.
ROUND_SPEC = CrowdSpec(n_items=1_000, n_workers=50, n_labels=10, answers_per_item=5)
# Rounds of such a fit, enough to outweigh its start, and a tolerance that no round meets, so that all are made.
ROUNDS, NEVER = 6, 1e-300

SET_RULE = (
    "a label is in the set if its probability is above ½ (the same rule for all methods but one: MCMLD as printed "
    "gives the set that is most likely as a whole, Eq. 24 of its authors)"
)

# What a task has measured, ready for JSON.
Found = Mapping[str, Any]


class Task(Protocol):
    """Something to measure; equal tasks are measured once, so that studies may share them."""

    @property
    def alone(self) -> bool:
        """Whether nothing else may run meanwhile, for seconds are what it measures."""

    @property
    def drawn_from(self) -> tuple[PaperSet, int] | None:
        """The set it needs, and the seed."""

    @property
    def depends_on(self) -> list[Any]:
        """What the result depends on beside the draw and the code, ready for JSON."""

    def measure(self) -> Found:
        """Do it."""


Results = Mapping[Task, Found]


# -- tasks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnOneDraw:
    """What tasks have in common that need one draw of one set."""

    paper_set: PaperSet
    seed: int
    alone = False

    @property
    def drawn_from(self) -> tuple[PaperSet, int]:
        """The set and its seed; that of a set that is always the same is 0, so that it is drawn once."""
        return self.paper_set, 0 if self.paper_set.fixed else self.seed


@dataclass(frozen=True)
class FitTask(OnOneDraw):
    """One entrant on one draw of one set."""

    entrant: Entrant

    @property
    def depends_on(self) -> list[Any]:
        """The model, and whether items are kept; the seed only where it changes the model."""
        seed = self.seed if self.entrant.random else None
        return ["fit", self.entrant.method, self.entrant.params, seed, self.paper_set.fixed]

    def measure(self) -> Found:
        """Scores, seconds, the objective round by round, and of AMCC the groups."""
        draw = self.paper_set.draw(self.seed)
        model, seconds = fit(self.entrant.model(self.seed), draw.votes, draw.features, draw.roster)
        proba = model.predict_proba()
        predicted = label_sets(model, draw.votes, proba)
        found: dict[str, Any] = {
            "scores": scores(draw, predicted, proba),
            "seconds": seconds,
            "history": list(model.objective_history_),
        }
        if self.paper_set.fixed:  # then items are the units of chance, see `statistics`
            found["items"] = {
                name: values.round(6).tolist() for name, values in by_item(draw, predicted, proba).items()
            }
        if isinstance(model, GroupedModel):
            found["groups"] = groups(model) | worker_quality(draw)
        return found


@dataclass(frozen=True)
class GrowthTask:
    """Seconds that an entrant takes on generated crowds of growing size, until a fit takes longer than `patience`."""

    entrant: Entrant
    sizes: tuple[int, ...]
    patience: float
    alone = True
    drawn_from = None

    @property
    def depends_on(self) -> list[Any]:
        """The model and the sizes."""
        return ["growth", self.entrant.method, self.entrant.params, self.sizes, self.patience]

    def measure(self) -> Found:
        """Seconds and votes of each size, the best of three where that is quick.

        The smallest crowd is fitted once before time counts: methods import and compile what they need there.
        """
        fit(self.entrant.model(0), _votes_of_size(self.sizes[0]))  # imports and compiles what it needs
        n_votes: list[int] = []
        seconds: list[float] = []
        for size in self.sizes:
            votes = _votes_of_size(size)
            times = [fit(self.entrant.model(0), votes)[1]]
            # Twice more where that is quick: the best of three is what the machine can do when nobody disturbs it.
            times += [fit(self.entrant.model(0), votes)[1] for _ in range(2 * (times[0] < self.patience / 10))]
            n_votes.append(len(votes))
            seconds.append(min(times))
            if seconds[-1] > self.patience:
                break
        return {"votes": n_votes, "seconds": seconds}


@dataclass(frozen=True)
class RoundTask:
    """Seconds of a round of an entrant on generated crowds in which one thing grows and all else stays.

    grows : "labels", "workers" or "items". sizes : how many of them.
    """

    entrant: Entrant
    grows: str
    sizes: tuple[int, ...]
    alone = True
    drawn_from = None

    @property
    def depends_on(self) -> list[Any]:
        """The model and what grows."""
        return ["round", self.entrant.method, self.entrant.params, self.grows, self.sizes]

    def measure(self) -> Found:
        """Seconds a round at each size: those of a fit with its start, over its rounds; the best of three."""
        seconds = []
        for size in self.sizes:
            votes = simulate_crowd(CrowdSpec(**{**asdict(ROUND_SPEC), f"n_{self.grows}": size})).votes
            fits = [fit(self.entrant.model(0).set_params(max_iter=ROUNDS, tol=NEVER), votes) for _ in range(3)]
            seconds.append(min(taken / len(model.objective_history_) for model, taken in fits))
        return {"sizes": list(self.sizes), "seconds": seconds}


def _votes_of_size(size: int) -> Votes:
    """Seed 0 for all methods and runs, so that times are of the same votes."""
    return simulate_crowd(CrowdSpec.for_votes(size, n_labels=GROWTH_LABELS)).votes


# -- what is measured -----------------------------------------------------------------------------------------------


def fit(
    model: ConsensusModel, votes: Votes, features: Floats | None = None, roster: Roster | None = None
) -> tuple[ConsensusModel, float]:
    """The fitted model, and seconds.

    The votes come as new: what an earlier fit has worked out of them and left there is not used.
    """
    votes = replace(votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        # As in the paper: NAM learns from features, the others see votes.
        used = features if isinstance(model, NAM) else None
        model.fit(votes, features=used, roster=roster if model.uses_roster else None)
        return model, time.perf_counter() - start


def label_sets(model: ConsensusModel, votes: Votes, proba: Floats) -> Mask:
    """(n_items, n_labels) the sets that are scored, by `SET_RULE`; `proba` is what the model says about all pairs."""
    if isinstance(model, MCMLD) and model.variant == "paper":
        return model.most_likely_sets(votes)
    return proba > 0.5


def scores(draw: Draw, predicted: Mask, proba: Floats) -> dict[str, float]:
    """All readings of accuracy, the ranking scores, and how large the sets are, under the names of `MEASURES`.

    predicted : (n_items, n_labels) the label sets; proba : the scores behind them, which ranking is judged by.
    """
    known, truth = draw.known, draw.truth
    # The metrics leave out what is unknown; so must the sizes of sets, or they would count labels that nobody judged.
    usual = metrics.evaluate(truth, predicted, proba, known)
    size = (predicted & known).sum(axis=1)[known.any(axis=1)]
    found = usual | {
        "precision_skip": usual["precision"],
        "precision_0": metrics.precision(truth, predicted, known, empty=0),
        "precision_1": metrics.precision(truth, predicted, known, empty=1),
        "labels": float(size.mean()),
        "empty": float((size == 0).mean()),
    }
    return {name: found[name] for name in MEASURES}


def by_item(draw: Draw, predicted: Mask, proba: Floats) -> dict[str, Floats]:
    """(n_items,) the same scores of each item alone; NaN where an item has none.

    Where all runs see the same votes, these are the units of intervals and tests.
    """
    nothing = dict.fromkeys(MEASURES, np.nan)
    alone = []
    for item, known in enumerate(draw.known):
        row = slice(item, item + 1)  # a table of one item: metrics want two dimensions
        one = replace(draw, truth=draw.truth[row], known=draw.known[row])
        alone.append(scores(one, predicted[row], proba[row]) if known.any() else nothing)
    return {name: np.array([item[name] for item in alone]) for name in MEASURES}


def groups(model: GroupedModel) -> dict[str, Any]:
    """Rates, weights and workers of a model's groups; of the paper's objective also its matrices, averaged by group.

    hit, false_alarm : (n_groups, n_labels). weights : (n_groups,). worker_group : (n_workers,).
    individuality, commonality : (n_groups, n_labels, n_labels), mean D_w of a group and its C_m.
    """
    found = {
        "hit": model.commonality_[0],
        "false_alarm": model.commonality_[1],
        "weights": model.group_weights_,
        "worker_group": model.worker_group_,
    }
    if isinstance(model, PaperAMCC):
        member = model.worker_group_ == np.arange(len(model.group_weights_))[:, None]
        # (n_groups, n_workers) weights that average over the workers of a group; nobody's group is left at zero.
        share = member / np.maximum(member.sum(axis=1, keepdims=True), 1)
        found["individuality"] = np.einsum("mw,wgl->mgl", share, model.individuality_matrices_)
        found["commonality"] = model.commonality_matrices_
    return {name: np.asarray(values).round(6).tolist() for name, values in found.items()}


def worker_quality(draw: Draw) -> dict[str, Any]:
    """Hit rate minus false-alarm rate of each worker against the truth; NaN without both kinds of pairs.

    1 for who is always right, 0 for who answers without looking, −1 for who says the opposite.
    """
    votes = draw.votes
    known = draw.known[votes.item, votes.label]
    true, yes = draw.truth[votes.item, votes.label], votes.value > 0
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN that is meant
        hit, false_alarm = (
            weight_per_code(votes.worker, (known & side & yes).astype(float), votes.n_workers)
            / weight_per_code(votes.worker, (known & side).astype(float), votes.n_workers)
            for side in (true, ~true)
        )
    names = [str(name) for name in votes.worker_names.to_pylist()]
    return {
        "quality": (hit - false_alarm).round(6).tolist(),
        "answers": votes.answers_per_worker.tolist(),
        "names": names,
    }


# -- running --------------------------------------------------------------------------------------------------------


def run_tasks(
    tasks: Iterable[Task], folder: Path, *, n_processes: int = 1, progress: Progress = silent
) -> dict[Task, Found]:
    """Results of all tasks, those of the cache in `folder` first.

    Sets are drawn before anything else, because what was drawn is part of the name of a result.
    """
    make_folder(folder)
    wanted = list(dict.fromkeys(tasks))
    drawn_from = list(dict.fromkeys(task.drawn_from for task in wanted if task.drawn_from is not None))
    count = Count(len(drawn_from) + len(wanted), progress)
    prints: dict[tuple[PaperSet, int] | None, str] = {None: ""}
    for origin, drawn in computed(_fingerprint, [(each, each) for each in drawn_from], n_processes):
        prints[origin] = drawn
        count()
    found: dict[Task, Found] = {}
    # Those that take time come last, one by one: nothing else of this reproduction may disturb them.
    for alone, most in ((False, n_processes), (True, 1)):
        part = [task for task in wanted if task.alone == alone]
        files = [(place(folder, _key(task, prints[task.drawn_from])), (task,)) for task in part]
        found |= zip(part, kept(_measure, files, n_processes=most, count=count), strict=True)
    return {task: found[task] for task in wanted}


def _fingerprint(paper_set: PaperSet, seed: int) -> str:
    return paper_set.draw(seed).fingerprint()


def _measure(task: Task) -> Found:
    return task.measure()


def _key(task: Task, drawn: str) -> list[Any]:
    """What a result depends on: the draw, the task, the library, and how this file measures."""
    return [drawn, task.depends_on, cache.code_version(), cache.file_hash(__file__)]


def fits_of(paper_set: PaperSet, entrant: Entrant, n_runs: int) -> Sequence[FitTask]:
    """One fit per run, with seeds 0, 1 … ; a single one where neither votes nor method depend on chance."""
    chance = not paper_set.fixed or entrant.random
    return [FitTask(paper_set, seed, entrant) for seed in range(n_runs if chance else 1)]
