"""Measuring: one task after the other, or two at a time, each kept in a cache.

A task says what to measure and what it depends on; `run_tasks` measures those whose result is not in the cache yet.
So a reproduction that was interrupted goes on where it stopped. Tasks that take time are run alone.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from amcc import METHODS, metrics
from amcc.arrays import Floats, Mask, weight_per_code
from amcc.consensus import AMCC, NAM, ConsensusModel, make_model
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.decode import decode
from amcc.errors import ConvergenceWarning
from amcc.experiments.board import code_version, hash_of
from amcc.experiments.reproduce.crowds import Crowd, FeaturedDraw
from amcc.files import make_folder, whole_file
from amcc.processes import computed
from amcc.votes import Votes

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

SET_RULE = "a label is in the set if its probability is above ½ (the same rule for all methods)"

# What a task has measured, ready for JSON.
Found = Mapping[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A row of a table: a method of amcc, possibly with other parameters."""

    name: str
    method: str
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def known(self) -> bool:
        """Whether this version of amcc has the method."""
        return self.method in METHODS

    @property
    def random(self) -> bool:
        """Whether a seed changes what it finds."""
        return "random_state" in self.model(0).get_params()

    def model(self, seed: int) -> ConsensusModel:
        """The model for the run with this seed."""
        model = make_model(self.method).set_params(**dict(self.params))
        return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


class Task(Protocol):
    """Something to measure; equal tasks are measured once."""

    @property
    def alone(self) -> bool:
        """Whether nothing else may run meanwhile, for it takes time."""

    @property
    def drawn_from(self) -> tuple[Crowd, int] | None:
        """The crowd it needs, and the seed."""

    @property
    def depends_on(self) -> list[Any]:
        """What the result depends on beside the crowd and the code, ready for JSON."""

    def measure(self) -> Found:
        """Do it."""


Results = Mapping[Task, Found]


# -- tasks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnOneDraw:
    """What tasks have in common that need one draw of one crowd."""

    crowd: Crowd
    seed: int
    alone = False

    @property
    def drawn_from(self) -> tuple[Crowd, int]:
        """The crowd and its seed."""
        return self.crowd, 0 if self.crowd.fixed else self.seed


@dataclass(frozen=True)
class Fit(OnOneDraw):
    """One contestant on one draw of one crowd."""

    contestant: Contestant

    @property
    def depends_on(self) -> list[Any]:
        """The model, and whether items are kept."""
        seed = self.seed if self.contestant.random else None
        return ["fit", self.contestant.method, self.contestant.params, seed, self.crowd.fixed]

    def measure(self) -> Found:
        """Scores, seconds, course of the objective, and of AMCC the groups."""
        draw = self.crowd.draw(self.seed)
        model, seconds = fit(self.contestant.model(self.seed), draw.votes, draw.features)
        proba = model.predict_proba()
        predicted = decode(proba, "threshold")
        found: dict[str, Any] = {
            "scores": scores(draw, predicted, proba),
            "seconds": seconds,
            "history": list(model.objective_history_),
        }
        if self.crowd.fixed:
            found["items"] = {
                name: values.round(6).tolist() for name, values in by_item(draw, predicted, proba).items()
            }
        if isinstance(model, AMCC):
            found["groups"] = groups(model) | worker_quality(draw)
        return found


@dataclass(frozen=True)
class Growth:
    """Seconds that a contestant takes on generated crowds of growing size, until a fit takes longer than "
    "`patience`."""

    contestant: Contestant
    sizes: tuple[int, ...]
    patience: float
    alone = True
    drawn_from = None

    @property
    def depends_on(self) -> list[Any]:
        """The model and the sizes."""
        return ["growth", self.contestant.method, self.contestant.params, self.sizes, self.patience]

    def measure(self) -> Found:
        """Seconds and votes of each size, the best of three where that is quick."""
        fit(self.contestant.model(0), _votes_of_size(self.sizes[0]))  # imports and compiles what it needs
        n_votes: list[int] = []
        seconds: list[float] = []
        for size in self.sizes:
            votes = _votes_of_size(size)
            times = [fit(self.contestant.model(0), votes)[1]]
            times += [fit(self.contestant.model(0), votes)[1] for _ in range(2 * (times[0] < self.patience / 10))]
            n_votes.append(len(votes))
            seconds.append(min(times))
            if seconds[-1] > self.patience:
                break
        return {"votes": n_votes, "seconds": seconds}


def _votes_of_size(size: int) -> Votes:
    return simulate_crowd(CrowdSpec.for_votes(size, n_labels=GROWTH_LABELS)).votes


# -- what is measured -----------------------------------------------------------------------------------------------


def fit(model: ConsensusModel, votes: Votes, features: Floats | None = None) -> tuple[ConsensusModel, float]:
    """The fitted model, and seconds. The votes come as new: what an earlier fit has worked out of them is not used."""
    votes = replace(votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(votes, features=features if isinstance(model, NAM) else None)  # as in the paper: the others see votes
        return model, time.perf_counter() - start


def scores(draw: FeaturedDraw, predicted: Mask, proba: Floats) -> dict[str, float]:
    """All readings of accuracy, the ranking scores, and how large the sets are."""
    known, truth = draw.known, draw.truth
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


def by_item(draw: FeaturedDraw, predicted: Mask, proba: Floats) -> dict[str, Floats]:
    """(n_items,) the same scores of each item alone; NaN where an item has none."""
    rows = [slice(item, item + 1) for item in range(len(draw.truth))]
    alone = [
        scores(FeaturedDraw(draw.votes, draw.truth[row], draw.known[row]), predicted[row], proba[row])
        if draw.known[row].any()
        else dict.fromkeys(MEASURES, np.nan)
        for row in rows
    ]
    return {name: np.array([item[name] for item in alone]) for name in MEASURES}


def groups(model: AMCC) -> dict[str, Any]:
    """Rates, weights and workers of AMCC's groups; of the paper's objective also its matrices, averaged by group."""
    found = {
        "hit": model.commonality_[0],
        "false_alarm": model.commonality_[1],
        "weights": model.group_weights_,
        "worker_group": model.worker_group_,
    }
    if model.loss == "frobenius":
        member = model.worker_group_ == np.arange(len(model.group_weights_))[:, None]
        share = member / np.maximum(member.sum(axis=1, keepdims=True), 1)
        found["individuality"] = np.einsum("mw,wgl->mgl", share, model.individuality_matrices_)
        found["commonality"] = model.commonality_matrices_
    return {name: np.asarray(values).round(6).tolist() for name, values in found.items()}


def worker_quality(draw: FeaturedDraw) -> dict[str, Any]:
    """Hit rate minus false-alarm rate of each worker against the truth; NaN without both kinds of pairs."""
    votes = draw.votes
    known = draw.known[votes.item, votes.label]
    true, yes = draw.truth[votes.item, votes.label], votes.value > 0
    with np.errstate(invalid="ignore"):
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
    tasks: Iterable[Task],
    cache: Path,
    *,
    n_processes: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> dict[Task, Found]:
    """Results of all tasks, those of the cache first; crowds are drawn before, for what they are is in the key."""
    make_folder(cache)
    wanted = list(dict.fromkeys(tasks))
    crowds = list(dict.fromkeys(task.drawn_from for task in wanted if task.drawn_from is not None))
    total, done = len(crowds) + len(wanted), 0
    prints: dict[tuple[Crowd, int] | None, str] = {None: ""}
    for place, drawn in computed(_fingerprint, [(place, place) for place in crowds], n_processes):
        prints[place] = drawn
        done += 1
        progress(done, total)
    paths = {task: cache / f"{_key(task, prints[task.drawn_from])}.json" for task in wanted}
    missing = [task for task in wanted if not paths[task].exists()]
    done += len(wanted) - len(missing)
    progress(done, total)
    for alone, workforce in ((False, n_processes), (True, 1)):
        part = [(task, (task,)) for task in missing if task.alone == alone]
        for task, found in computed(_measure, part, min(workforce, max(len(part), 1))):
            with whole_file(paths[task]) as temporary:
                temporary.write_text(json.dumps(found))
            done += 1
            progress(done, total)
    return {task: json.loads(path.read_text()) for task, path in paths.items()}


def _fingerprint(crowd: Crowd, seed: int) -> str:
    return crowd.draw(seed).fingerprint()


def _measure(task: Task) -> Found:
    return task.measure()


def _key(task: Task, drawn: str) -> str:
    wanted = json.dumps([drawn, task.depends_on, code_version(), hash_of(__file__)], sort_keys=True)
    return hashlib.sha256(wanted.encode()).hexdigest()[:24]


def runs_of(crowd: Crowd, contestant: Contestant, n_runs: int) -> Sequence[Fit]:
    """One fit per run; a single one where neither crowd nor method depends on chance."""
    chance = not crowd.fixed or contestant.random
    return [Fit(crowd, seed, contestant) for seed in range(n_runs if chance else 1)]
