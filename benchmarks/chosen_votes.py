"""Would another consensus make more of the votes that a strategy buys? Jaccard of several methods on the same votes.

    python benchmarks/chosen_votes.py --data DATA --seeds 2
    python benchmarks/chosen_votes.py --data DATA --seeds 1 --strategy amcc --sets SONYC-UST

A replay shows what the learner and the strategy reach together. This says which of them holds the other back: where a
method is far ahead of the learner on the votes that were bought with its help, it is the consensus. The last columns
are the default if it read the votes in one way only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from script import hush, parser_of

from amcc import AMCC, make_model, metrics
from amcc.active import STRATEGIES, Learner, first_votes, purchases, usual_batch
from amcc.arrays import Floats
from amcc.consensus.base import ConsensusModel
from amcc.experiments.cells import Draw
from amcc.experiments.reproduce.active_replay import BEST_OF, SETS
from amcc.experiments.reproduce.sets import GENERATED, REAL, PaperSet, further_sets
from amcc.votes import Votes

# Shares of the votes at which methods are compared.
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)
LEARNER = "learner"
# What is switched off so that the default reads the votes in one way only.
READINGS = {
    "two coins": ("counts", "degrees", "correlation"),
    "counts": ("coins", "degrees", "correlation", "independence"),
}


def jaccard(draw: Draw, proba: Floats) -> float:
    """Of the pairs whose truth is known."""
    return metrics.jaccard(draw.truth, proba > 0.5, draw.known)


def quality(model: ConsensusModel, draw: Draw, votes: Votes) -> float:
    """What a model makes of these votes, told who the workers are if it has a use for it."""
    return jaccard(draw, model.fit(votes, roster=draw.roster if model.uses_roster else None).predict_proba())


def compared(draw: Draw, strategy: str, seed: int) -> Iterator[tuple[float, dict[str, float]]]:
    """At each share of the votes that there is on the way, the Jaccard index of the learner and of all methods."""
    rng, votes, chooses = np.random.default_rng(seed), draw.votes, STRATEGIES[strategy]()
    learner = Learner(partial(make_model, chooses.model), roster=draw.roster)
    first, batch = first_votes(votes, "one", rng), usual_batch(votes)
    left = [share for share in SHARES if share > first.mean()]
    for moment in purchases(votes, first, chooses, learner, np.ones(votes.n_workers), batch=batch, rng=rng):
        if not left:
            return
        if moment.asked.mean() >= left[0]:
            bought = votes.select(moment.asked)
            models = {name: make_model(name) for name in BEST_OF}
            models |= {f"by {name}": AMCC(without=steps) for name, steps in READINGS.items()}
            found = {name: quality(model, draw, bought) for name, model in models.items()}
            yield left.pop(0), {LEARNER: jaccard(draw, moment.beliefs.proba), **found}


def main() -> None:
    """Print a row for each set and share."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--strategy", choices=sorted(STRATEGIES), default="voi")
    parser.add_argument("--sets", help="names of the paper's sets, separated by commas; default: those of the replay")
    options = parser.parse_args()
    data = str(options.data)
    replayed = [*(PaperSet(name, data) for name in SETS), *further_sets(options.data), PaperSet(GENERATED)]
    sets = [PaperSet(name, data) for name in options.sets.split(",")] if options.sets else replayed
    for each in sets:
        if each.name not in {*REAL, *(known.name for known in replayed)}:
            parser.error(f"the sets are {', '.join(REAL)}; got {each.name!r}")
    columns = (LEARNER, *BEST_OF, *(f"by {name}" for name in READINGS))
    print(f"| set | votes | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    means: list[Floats] = []
    for each in sets:
        rows: dict[float, list[list[float]]] = {}
        for seed in range(options.seeds):
            for share, scores in compared(each.draw(seed), options.strategy, seed):
                rows.setdefault(share, []).append([scores[name] for name in columns])
        for share, of_seeds in rows.items():
            means.append(np.mean(of_seeds, axis=0))
            print(row(each.title, f"{100 * share:.0f} %", means[-1]), flush=True)
    print(row("mean", "", np.mean(means, axis=0)))


def row(title: str, share: str, scores: Floats) -> str:
    """A row of the table."""
    return f"| {title} | {share} | {' | '.join(f'{score:.3f}' for score in scores)} |"


if __name__ == "__main__":
    hush()
    main()
