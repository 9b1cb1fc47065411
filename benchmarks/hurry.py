"""What large fits gain where they are in a hurry (`likelihood.NO_HURRY`), and what that does to their results.

Rounds, seconds of all cores together, Jaccard index and log-loss against the truth of simulated crowds, without and
with it. Shapes are votes and workers.

    python benchmarks/hurry.py --shapes 5e5,500 5e5,25000
"""

from __future__ import annotations

import time
from argparse import ArgumentTypeError

import numpy as np
from script import hush, parser_of, whole_number

from amcc import AMCC
from amcc.consensus.default import likelihood
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.metrics import jaccard

# Votes up to which a fit is never in a hurry, as a switch: more than any fit has, or what users get.
SWITCHES = {"plain": 10**15, "hurried": likelihood.NO_HURRY}
# From dense to sparse: a thousand votes of each worker, down to twenty.
SHAPES = [(500_000, 500), (500_000, 25_000), (10**6, 10_000), (2 * 10**6, 1000), (2 * 10**6, 100_000)]
# A probability of 0 or 1 that is wrong costs this much at most, as in `amcc evaluate`.
LEAST = 1e-6


def measured(world: SimulatedWorld) -> tuple[int, float, float, float]:
    """Rounds, seconds, Jaccard index and log-loss of a fit."""
    start = time.process_time()
    model = AMCC().fit(world.votes)
    seconds = time.process_time() - start
    pairs = world.votes.pairs
    proba = np.clip(model.pair_proba_, LEAST, 1 - LEAST)
    true = world.truth[pairs.item, pairs.label]
    loss = -np.log(np.where(true, proba, 1 - proba)).mean()
    return model.n_iter_, seconds, float(jaccard(world.truth, model.predict())), float(loss)


def shape_of(text: str) -> tuple[int, int]:
    """Votes and workers of a shape as people type it."""
    try:
        n_votes, n_workers = map(whole_number, text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"a shape must be votes,workers, such as 5e5,500; got {text!r}") from None
    return n_votes, n_workers


def main() -> None:
    """Print a table."""
    parser = parser_of(__doc__)
    parser.add_argument("--shapes", nargs="+", type=shape_of, default=SHAPES)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    hush()
    print("| votes | workers | steps | rounds | s of all cores | Jaccard | log-loss |\n|---|---|---|---|---|---|---|")
    for n_votes, n_workers in given.shapes:
        world = simulate_crowd(CrowdSpec.for_votes(n_votes, n_workers=n_workers, n_labels=20, seed=given.seed))
        measured(world)  # once without a clock: loops are compiled, and pages of memory are there
        for name, no_hurry in SWITCHES.items():
            likelihood.NO_HURRY = no_hurry
            rounds, seconds, score, loss = measured(world)
            print(f"| {n_votes:,} | {n_workers:,} | {name} | {rounds} | {seconds:.1f} | {score:.4f} | {loss:.4f} |")


if __name__ == "__main__":
    main()
