"""What it costs to go on from an earlier fit when one in a hundred answers is new, and how near the result comes.

Beside it, another random state: how much whole fits differ among themselves. `--write` puts the table into
docs/performance.md.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from child import look_around
from page import short, write_page
from rows import Record, Row
from script import parser_of, seconds_of, whole_number

SEED = 0
# Answers that arrive since the last fit: a day's work on a set that took months.
SHARE_NEW = 0.01


def measure(n_votes: int) -> Row:
    """Fit without the new answers, go on with them, fit to all of them twice."""
    from amcc import AMCC, metrics
    from amcc.data.simulate import CrowdSpec, simulate_crowd

    crowd = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=SEED))
    votes = crowd.votes
    answers, answer = np.unique(votes.item.astype(np.int64) * votes.n_workers + votes.worker, return_inverse=True)
    is_new = np.random.default_rng(SEED).random(len(answers)) < SHARE_NEW
    model, whole, other = (
        AMCC(warm_start=True).fit(votes.select(~is_new[answer])),
        AMCC(),
        AMCC(random_state=1).fit(votes),
    )
    seconds, of_whole = seconds_of(lambda: model.fit(votes)), seconds_of(lambda: whole.fit(votes))

    def far(one: Any) -> float:
        return float(np.sqrt(np.mean((one.pair_proba_ - whole.pair_proba_) ** 2)))

    def differing(one: Any) -> float:
        return float(np.mean((one.pair_proba_ > 0.5) != (whole.pair_proba_ > 0.5)))

    return {
        "seconds": seconds,
        "whole": of_whole,
        "jaccard": metrics.jaccard(crowd.truth, whole.predict()),
        "jaccard_going_on": metrics.jaccard(crowd.truth, model.predict()),
        **{
            "differing": differing(model),
            "differing_seed": differing(other),
            "far": far(model),
            "far_seed": far(other),
        },
    }


def main() -> None:
    """Measure all sizes, print row by row, write the page if asked."""
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", type=whole_number, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--write", action="store_true", help="also write docs/performance.md")
    arguments = parser.parse_args()
    measure(10**4)  # imports
    measure(3 * 10**5)  # compiling
    record = Record("incremental", kept=arguments.write, resume=False, look=look_around)
    for n_votes in arguments.sizes:
        row = record.row("going_on", (n_votes, 0, 0), partial(measure, n_votes))
        far = f"{row['differing']:.2%} of the decisions differ, {row['differing_seed']:.2%} with another seed"
        print(f"{short(n_votes)} votes: {row['seconds']:.2f} s, a fit {row['whole']:.2f} s; {far}", flush=True)
    if arguments.write:
        write_page()


if __name__ == "__main__":
    main()
