"""How firm is "the quality of all votes"? Jaccard of the default after leaving out a few votes at random.

    python benchmarks/all_votes.py --data DATA --seeds 5

A replay asks from where on a curve stays within .005 of the quality of all votes. Where that quality moves by more when
one vote in a hundred is missing, no strategy can stay there before it has bought nearly all of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from script import hush, parser_of

from amcc import AMCC, metrics
from amcc.data import read_set

# Sets of the larger replay that are used whole.
SETS = (
    "apple_nakamura", "apple_ekman", "love_nakamura", "love_ekman", "affective", "apple_nakamura_run10",
    "crowdtruth_medical",
)  # fmt: skip

# Shares of the votes that are kept.
KEPT = (0.99, 0.95, 0.9)


def qualities(name: str, data: Path, kept: float, seeds: int) -> list[float]:
    """Jaccard index of the default with this share of the votes, once for each seed."""
    found = read_set(name, data)
    scores = []
    for seed in range(seeds):
        some = np.random.default_rng(seed).random(len(found.votes)) < kept
        proba = AMCC().fit(found.votes.select(some)).predict_proba()
        scores.append(metrics.jaccard(found.truth, proba > 0.5, found.known))
    return scores


def main() -> None:
    """Print a row for each set."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    print("| set | all votes |" + "".join(f" {100 * kept:.0f} % of them |" for kept in KEPT))
    print("|---|---|" + "---|" * len(KEPT))
    for name in SETS:
        whole = qualities(name, arguments.data, 2.0, 1)[0]
        cells = []
        for kept in KEPT:
            scores = qualities(name, arguments.data, kept, arguments.seeds)
            cells.append(f"{np.mean(scores):.3f} ({min(scores):.3f}–{max(scores):.3f})")
        print(f"| {name} | {whole:.3f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    hush()
    main()
