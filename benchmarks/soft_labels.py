"""Soft labels against held-out people: a few answers per item predict the share of yes among all others.

    python benchmarks/soft_labels.py --data DATA --seeds 5

Every set is thinned to k answers an item; what is predicted is the share of yes among those who are left out. Compared
are the column soft, the raw share of yes, Jeffreys' share (yes + 1/2) / (votes + 1), and the probability of presence.
Lower is better; `*` marks where soft is behind the raw share by more than two standard errors over the draws.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from script import hush, parser_of

from amcc import Votes, metrics
from amcc.consensus import make_model
from amcc.data.layout import read_crowd
from amcc.experiments.cells import thinned

# Sets and answers kept; in so_emotions one person an item is left out, so that shares are 0 or 1.
CELLS = (
    *((name, k) for name in ("apple_ekman", "apple_nakamura", "love_ekman", "love_nakamura") for k in (3, 5)),
    *(("imagenet_real_golden", k) for k in (3, 5, 10)),
    *(("crowdtruth_medical", k) for k in (3, 5)),
    *(("crowdtruth_tweets", k) for k in (3,)),
    *(("affective", k) for k in (3, 5)),
    ("so_emotions", 2),
)

# The column soft first; the others are what one would take without it.
PREDICTIONS = ("soft", "raw", "jeffreys", "probability")


def parts(votes: Votes, k: int, seed: int) -> tuple[Votes, Votes]:
    """The votes of k answers an item, and all others."""
    kept = thinned(votes, k, seed)
    answer, seen = (v.item.astype(np.int64) * votes.n_workers + v.worker for v in (votes, kept))
    inside = np.isin(answer, seen)
    return votes.select(inside), votes.select(~inside)


def scores(votes: Votes, k: int, seed: int, method: str) -> dict[str, tuple[float, float]]:
    """Manhattan distance and cross-entropy of every prediction."""
    seen, left = parts(votes, k, seed)
    model = make_model(method).fit(seen)
    keys = [v.pairs.item.astype(np.int64) * v.n_labels + v.pairs.label for v in (seen, left)]
    _, here, there = np.intersect1d(*keys, return_indices=True)
    share = (left.n_yes / left.pairs.n_votes)[there][:, None]
    n_yes, n_votes = seen.n_yes, seen.pairs.n_votes
    given = {
        "soft": model.pairs(soft=True, votes=seen, frame="arrow")["soft"].to_numpy(),
        "raw": n_yes / n_votes,
        "jeffreys": (n_yes + 0.5) / (n_votes + 1),
        "probability": model.pair_proba_,
    }
    return {
        name: (metrics.manhattan(share, p[here][:, None]), metrics.cross_entropy(share, p[here][:, None]))
        for name, p in given.items()
    }


def main() -> None:
    """Print one line per set: Manhattan distance / cross-entropy."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--method", default="majority", help="whose worker rates and probabilities are used")
    chosen = parser.parse_args()
    hush()
    print(f"{'set':26s} " + " ".join(f"{name:>15s}" for name in PREDICTIONS))
    for name, k in CELLS:
        if not (chosen.data / name / "annotations.csv.gz").exists():
            print(f"{name} is not in {chosen.data}")
            continue
        votes = read_crowd(chosen.data / name).votes
        rows = [scores(votes, k, seed, chosen.method) for seed in range(chosen.seeds)]
        mean = {name: np.mean([row[name] for row in rows], axis=0) for name in PREDICTIONS}
        behind = np.array([np.subtract(row["soft"], row["raw"]) for row in rows])
        error = behind.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.zeros(2)
        marks = np.where(behind.mean(axis=0) > 2 * error, "*", " ")
        cells = " ".join(f"{mean[p][0]:7.4f}/{mean[p][1]:6.4f}" for p in PREDICTIONS)
        print(f"{name + ' @' + str(k):26s} {cells}  {marks[0]}{marks[1]}", flush=True)


if __name__ == "__main__":
    main()
