"""What a classifier is worth as p(y | x) of the paper's eq7, in the place of the consensus.

    python benchmarks/classifier.py --data DATA --cache FOLDER --seeds 5 --seeds-of-large 2
    python benchmarks/classifier.py --data DATA --cache FOLDER --seeds 10 --seeds-of-large 3 --part protocol

Crowds whose items have features: the paper's simulated workers on Emotions, Scene and Yeast, which are classifiers that
learned from the same features, and a generated crowd. Without --data, only the last. Parts:

- alone: log-loss of p on items that nobody has answered, after answers to 5 % and to 30 % of the items; of the
  consensus, and of the classifier for several variances of the features' log-odds (its only setting).
- protocol: Jaccard and cost of strategy `amcc` by the paper's protocol (5 % of the items answered, then 100 questions,
  5 at a time, prices by accuracy); p of the consensus, and what changes with "classifier" and "printed".
- equal: the same at equal prices, after a question for every fourth and for every second pair of the training items.

Changes are paired over seeds, with their standard error. The learner's model does not see the features, as in the
paper; --describe shows them to it in part "equal", as `amcc next` does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from script import hush, parser_of

from amcc import AMCC, metrics
from amcc.active import Learner, purchases
from amcc.active.classifier import presence_by_features
from amcc.active.strategies.amcc import PaperCriterion
from amcc.active.strategies.common import queried
from amcc.experiments.reproduce.active_runs import N_QUESTIONS, PaperRun, partition
from amcc.experiments.reproduce.fits import run_tasks
from amcc.experiments.reproduce.sets import GENERATED, MULAN, PaperSet

PARTS = ("alone", "protocol", "equal")
# Scene and Yeast have four times the items of the others, and take many times as long.
LARGE = ("Scene", "Yeast")
KINDS = ("consensus", "classifier", "printed")
VARIANCES = (0.25, 1.0, 4.0, 16.0)
ANSWERED = (0.05, 0.3)
# Batches of part "equal": each is small beside what is known already.
N_BATCHES = 40

Sets = Mapping[PaperSet, Sequence[int]]


def log_losses(paper_set: PaperSet, seed: int, answered: float) -> list[float]:
    """On unanswered items: of the consensus, and of the classifier with each of the variances."""
    draw = paper_set.draw(seed)
    first = np.random.default_rng(seed).permutation(draw.votes.n_items) < answered * draw.votes.n_items
    votes = draw.votes.select(first[draw.votes.item])
    proba = AMCC().fit(votes).predict_proba()
    tried = [presence_by_features(draw.features, proba, queried(votes), variance=each) for each in VARIANCES]
    return [metrics.log_loss(draw.truth, each, draw.known & ~first[:, None]) for each in (proba, *tried)]


def alone(sets: Sets) -> None:
    """Print how well p is predicted."""
    print("log-loss on unanswered items: consensus, then the classifier with variance", *VARIANCES)
    for paper_set, seeds in sets.items():
        for share in ANSWERED:
            row = np.mean([log_losses(paper_set, seed, share) for seed in seeds], axis=0)
            print(f"{paper_set.title:16} {share:4.0%} answered ", *(f"{each:.3f}" for each in row), flush=True)


def by_protocol(paper_set: PaperSet, seed: int, predictor: str) -> PaperRun:
    """Strategy `amcc` with this p of eq7; only its beginning and its end are measured."""
    return PaperRun(paper_set, seed, "amcc", (("predictor", predictor),), every=N_QUESTIONS)


def protocol(sets: Sets, cache: Path, jobs: int) -> None:
    """Print what p is worth by the paper's protocol."""
    tasks = [by_protocol(each, seed, kind) for each, seeds in sets.items() for seed in seeds for kind in KINDS]
    found = run_tasks(tasks, cache, n_processes=jobs, progress=lambda *now: print(*now, file=sys.stderr))
    print("the paper's protocol: consensus, change with", *KINDS[1:])
    for paper_set, seeds in sets.items():
        for name in ("training jaccard", "test jaccard", "cost"):
            ends = [[found[by_protocol(paper_set, seed, kind)][name][-1] for seed in seeds] for kind in KINDS]
            show(f"{paper_set.title:16} {name:17}", np.array(ends))


def at_equal_prices(paper_set: PaperSet, seed: int, predictor: str, describe: bool) -> tuple[float, float]:
    """Jaccard of the training items half way, and at the end."""
    draw, rng = paper_set.draw(seed), np.random.default_rng(seed)
    votes = draw.votes
    initial, test = partition(votes.n_items, rng)
    training = votes.select(~test[votes.item])
    first, n_questions = initial[training.item], int((~test).sum()) * votes.n_labels // 2
    moments = purchases(
        training, first, PaperCriterion(predictor=predictor),
        Learner(AMCC, features=draw.features, describe=describe), np.ones(votes.n_workers),
        batch=n_questions // N_BATCHES, limit=float(first.sum() + n_questions), rng=rng,
    )  # fmt: skip
    known = draw.known & ~test[:, None]
    jaccard = [metrics.jaccard(draw.truth, moment.beliefs.proba > 0.5, known) for moment in moments]
    return jaccard[len(jaccard) // 2], jaccard[-1]


def equal(sets: Sets, describe: bool) -> None:
    """Print what p is worth at equal prices."""
    print("equal prices, Jaccard of training items: consensus, change with", *KINDS[1:])
    for paper_set, seeds in sets.items():
        measure = partial(at_equal_prices, paper_set, describe=describe)
        ends = np.array([[measure(seed, kind) for seed in seeds] for kind in KINDS])
        for place, name in enumerate(("half way", "at the end")):
            show(f"{paper_set.title:16} {name:17}", ends[:, :, place])


def show(title: str, values: np.ndarray) -> None:
    """A line: the first kind, and by how much the others differ from it; values: (n_kinds, n_seeds)."""
    print(title, with_error(values[0]), *(with_error(each - values[0]) for each in values[1:]), sep="  ", flush=True)


def with_error(values: np.ndarray) -> str:
    """Mean and standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():7.3f} ± {error:.3f}"


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="folder of the sets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for what was measured already")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seeds-of-large", type=int, default=2, help="of Scene and Yeast")
    parser.add_argument("--part", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--sets", nargs="*", choices=[GENERATED, *MULAN], default=[GENERATED, *MULAN])
    parser.add_argument("--describe", action="store_true", help='in part "equal", the model sees the features as well')
    parser.add_argument("--jobs", type=int, default=1, help='processes of part "protocol"')
    options = parser.parse_args()
    hush()
    sets = {
        PaperSet(name, str(options.data), str(options.cache)): range(
            options.seeds_of_large if name in LARGE else options.seeds
        )
        for name in options.sets
        if options.data or name == GENERATED
    }
    if "alone" in options.part:
        alone(sets)
    if "protocol" in options.part:
        protocol(sets, options.cache, options.jobs)
    if "equal" in options.part:
        equal(sets, options.describe)


if __name__ == "__main__":
    main()
