"""What item features are worth: the default with and without them, where few or nobody answered.

    python benchmarks/features.py --data DATA --seeds 5

Scores are over all pairs whose truth is known, asked or not; `left out` is the share of items that nobody answers, with
the scores on these alone behind the bar. Crowds:

- simulated: features are the truth plus noise of this deviation; `noise` has no truth in it, `truth` no noise.
- mulan, coins: the sets' own features; workers err at rates of their own, whatever the item is like.
- mulan, classifiers: workers as the paper simulates them, RankSVMs that learned from the same features on other items.
  They err as the features suggest, which no votes can reveal.
- texts: real answers of people; features are the TF-IDF of items.csv. The truth of so_emotions is the majority of its
  three raters, so that three answers are the truth itself.

Without --data, only simulated crowds are shown. The method was chosen in view of emotions, scene, yeast, tweets and
so_emotions with seeds 0 and 5: for these sets, numbers are in-sample.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from script import parser_of

from amcc import metrics
from amcc.consensus import AMCC
from amcc.data.features import tf_idf
from amcc.data.reading import read_feature_set
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.data.simulated_workers import simulate_workers
from amcc.errors import ConvergenceWarning
from amcc.experiments.cells import Cell, thinned
from amcc.votes import Votes

MULAN = ("mulan_emotions", "mulan_scene", "mulan_yeast")
TEXTS = {"crowdtruth_tweets": ("text",), "so_emotions": ("text",), "affective": ("text",),
         "varierr_nli": ("premise", "hypothesis")}  # fmt: skip
# Answers per item: with more, votes alone know nearly all that features could tell.
ANSWERS = (1, 2, 3)
# Share of the items that nobody answers: enough to score, few enough to learn from the others.
LEFT_OUT = 0.3
N_WORKERS = 30
# Of workers with coins: Beta distributions of their rates, share of spammers, and of how often these say yes.
HIT, FALSE_ALARM, SPAM, SPAM_RATE = (7.0, 3.0), (1.5, 10.0), 0.2, (2.0, 6.0)


class Case(NamedTuple):
    """A crowd with features: what it is, votes, (n_items, n_labels) truth and where that is known, features."""

    name: str
    votes: Votes
    truth: np.ndarray
    known: np.ndarray
    features: Any


def coin_votes(truth: np.ndarray, answers: int, seed: int) -> Votes:
    """Answers of workers who err at rates of their own, some of them spammers."""
    rng = np.random.default_rng(seed)
    hit, false_alarm, yes = (rng.beta(*shape, N_WORKERS) for shape in (HIT, FALSE_ALARM, SPAM_RATE))
    spams = rng.random(N_WORKERS) < SPAM
    hit, false_alarm = np.where(spams, yes, hit), np.where(spams, yes, false_alarm)
    given = np.zeros((N_WORKERS, *truth.shape), np.int8)
    for item, present in enumerate(truth):
        for worker in rng.choice(N_WORKERS, answers, replace=False):
            says_yes = rng.random(len(present)) < np.where(present, hit[worker], false_alarm[worker])
            given[worker, item] = np.where(says_yes, 1, -1)
    return Votes.from_dense(given)


def simulated_cases(seed: int) -> Iterator[Case]:
    """Truth and noise in several mixtures."""
    for answers in ANSWERS:
        crowd = simulate_crowd(CrowdSpec(n_items=600, n_workers=40, n_labels=8, answers_per_item=answers, seed=seed))
        known, rng = np.ones_like(crowd.truth), np.random.default_rng(seed)
        noise = rng.normal(size=(600, 40))
        yield Case(f"simulated, noise @{answers}", crowd.votes, crowd.truth, known, noise)
        for deviation in (0.0, 1.0, 3.0):
            features = crowd.truth + deviation * noise[:, :8]
            name = f"simulated, truth + {deviation:g} noise @{answers}"
            yield Case(name, crowd.votes, crowd.truth, known, features)


def mulan_cases(data: Path, seed: int) -> Iterator[Case]:
    """Sets with features, and workers of two kinds."""
    for name in MULAN:
        described = read_feature_set(name, data)
        classifiers = simulate_workers(described, seed=seed)
        for answers in ANSWERS:
            votes, known = coin_votes(described.truth, answers, seed), np.ones_like(described.truth)
            yield Case(f"{name}, coins @{answers}", votes, described.truth, known, described.features)
            votes, known = thinned(classifiers.votes, answers, seed), np.ones_like(classifiers.truth)
            yield Case(f"{name}, classifiers @{answers}", votes, classifiers.truth, known, classifiers.features)


def text_cases(data: Path, seed: int) -> Iterator[Case]:
    """Real crowds, and the texts they read."""
    for name, columns in TEXTS.items():
        whole = Cell(name, "independent", 1, str(data / name)).draw(seed)
        with (data / name / "items.csv").open(encoding="utf-8", newline="") as file:
            texts = {row["item"]: " ".join(row[column] for column in columns) for row in csv.DictReader(file)}
        features = tf_idf([texts.get(str(item), "") for item in whole.votes.item_names.to_pylist()])
        for answers in ANSWERS:
            votes = thinned(whole.votes, answers, seed)
            yield Case(f"{name} @{answers}", votes, whole.truth, whole.known, features)


def scores(case: Case, proba: np.ndarray, items: np.ndarray) -> list[float]:
    """Jaccard and log-loss on these items."""
    known = case.known & items[:, None]
    if not known.any():
        return [np.nan, np.nan]
    return [metrics.jaccard(case.truth, proba > 0.5, known), metrics.log_loss(case.truth, proba, known)]


def compared(case: Case, unanswered: np.ndarray) -> list[float]:
    """Scores without and with features, of all items and of the unanswered; weight and seconds of the features."""
    plain, informed = AMCC(), AMCC()
    start = time.perf_counter()
    plain.fit(case.votes)
    middle = time.perf_counter()
    informed.fit(case.votes, features=case.features)
    seconds = time.perf_counter() - middle - (middle - start)
    everything = np.ones(case.votes.n_items, dtype=bool)
    rows = [
        scores(case, model.predict_proba(), items) for items in (everything, unanswered) for model in (plain, informed)
    ]
    return [*np.concatenate(rows), informed.item_prior_.weight, max(seconds, 0.0)]


def changed(before: float, after: float) -> str:
    """Two numbers, and what became of the first."""
    return f"{before:.3f} {after:.3f} ({after - before:+.3f})"


def line(name: str, rows: list[list[float]]) -> str:
    """A crowd, and the means of what was measured on it."""
    j0, l0, j1, l1, uj0, ul0, uj1, ul1, weight, seconds = np.mean(rows, axis=0)
    text = f"{name:52} {changed(j0, j1):>20} {changed(l0, l1):>21}  {weight:6.2f} {seconds:8.2f}"
    return text + (f" | {changed(uj0, uj1)} {changed(ul0, ul1)}" if np.isfinite(ul0) else "")


def main() -> None:
    """Print a line for each crowd, a mean over seeds."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="folder of the sets")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="crowds whose names contain this")
    options = parser.parse_args()
    found: dict[str, list[list[float]]] = defaultdict(list)
    for seed in range(options.seeds):
        sources = [simulated_cases(seed)]
        if options.data:
            sources += [mulan_cases(options.data, seed), text_cases(options.data, seed)]
        for case in (case for source in sources for case in source):
            if options.only not in case.name:
                continue
            left_out = np.random.default_rng(seed).random(case.votes.n_items) < LEFT_OUT
            fewer = case._replace(votes=case.votes.select(~left_out[case.votes.item]))
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                for each, name, unanswered in (
                    (case, case.name, np.zeros_like(left_out)),
                    (fewer, f"{case.name}, {LEFT_OUT:.0%} left out", left_out),
                ):
                    found[name].append(compared(each, unanswered))
                    print(f"seed {seed}: {line(name, found[name][-1:])}", file=sys.stderr, flush=True)
    print(f"mean of {options.seeds} seeds: without with (change)")
    print(f"{'crowd':52} {'Jaccard':>20} {'log-loss':>21}  weight  seconds | unanswered items: Jaccard, log-loss")
    for name, rows in found.items():
        print(line(name, rows))


if __name__ == "__main__":
    main()
