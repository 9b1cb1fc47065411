"""The hot loop, one round over all votes, against what this machine can do at best, measured in the same run.

Two limits, both on all cores:

- *streaming*: the time in which as many bytes are read from memory as the loop must read or write once, in order. These
  are the slot of each vote (4 bytes) and the start (8), label (4) and probability (8, and 8 for the one before) of each
  pair. No loop over the votes can be faster.
- *gather and scatter*: `present[slot] += evidence[slot]` for every vote and nothing else. Every vote asks for two
  numbers of its coin, wherever they are; the table of coins is larger than the nearest caches, and this is what the
  machine needs to get there. A loop that does not sort its votes anew cannot be faster than this, either.

The contenders take turns, so that whoever else uses the machine disturbs all of them; the best of their times counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from script import parser_of, seconds_of, whole_number

from amcc.threads import in_threads, n_threads

SEED = 0
# Turns of the contenders: whoever else uses the machine must not decide.
REPEATS = 15
# Numbers that each core reads to find out how fast it can: more than any cache holds.
STREAMED = 16_000_000


def hot_loop(n_votes: int) -> list[str]:
    """Rows of a table: one round of a fit against both limits."""
    from amcc import passes
    from amcc.data.simulate import CrowdSpec, simulate_crowd
    from amcc.passes import Belief
    from amcc.threads import in_threads, n_threads

    votes = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=SEED)).votes
    coins, pairs, rng = votes.coins, votes.pairs, np.random.default_rng(SEED)
    now, old = (Belief(rng.normal(size=2 * len(coins)), rng.normal(size=votes.n_labels)) for _ in range(2))
    known, kept = np.empty(0, np.int8), rng.random(len(pairs))

    def one_round(before: Any) -> Callable[[], Any]:
        return lambda: passes.round_pass(coins.slot, pairs.start, pairs.label, known, now, before)

    cores = np.ones((n_threads(), STREAMED))
    streaming, bare, with_kept, again = best_times(
        lambda: in_threads(lambda core: cores[core].sum(), len(cores)),
        gather_and_scatter(coins.slot, now.evidence),
        one_round(kept),
        one_round(old),
    )
    per_pair = pairs.start.itemsize + pairs.label.itemsize + kept.itemsize
    n_bytes = coins.slot.nbytes + per_pair * len(pairs)
    rows = [
        "| one round over the votes | ns per vote | bytes per vote | × streaming | × gather and scatter |",
        "|---|---|---|---|---|",
    ]
    for title, seconds, moved in (
        ("streaming", streaming * n_bytes / cores.nbytes, n_bytes),
        ("gather and scatter", bare, coins.slot.nbytes),
        ("round, probabilities kept", with_kept, n_bytes + kept.nbytes),
        ("round, computed again", again, n_bytes),
    ):
        limit = streaming * moved / cores.nbytes
        cells = 1e9 * seconds / len(votes), moved / len(votes), seconds / limit, seconds / bare
        rows.append(f"| {title} | {' | '.join(f'{cell:.1f}' for cell in cells)} |")
    return rows


def gather_and_scatter(slot: Any, evidence: Any) -> Callable[[], Any]:
    """A bare pass over the slots, each core with a part of the votes and a table of its own."""
    from numba import njit

    @njit(nogil=True)
    def bare(slot, evidence, present):  # type: ignore[no-untyped-def]
        for vote in range(len(slot)):
            present[slot[vote]] += evidence[slot[vote]]

    parts = np.array_split(slot.view(np.uint32), n_threads())
    present = np.zeros((n_threads(), len(evidence)))
    return lambda: in_threads(lambda part: bare(parts[part], evidence, present[part]), n_threads())


def best_times(*tasks: Callable[[], Any]) -> list[float]:
    """The best of several times of each task, in turns, after a first run that may compile."""
    for task in tasks:
        task()
    times = [[seconds_of(task) for task in tasks] for _ in range(REPEATS)]
    return np.min(times, axis=0).tolist()


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--votes", type=whole_number, default=10**7)
    print("\n".join(hot_loop(parser.parse_args().votes)))


if __name__ == "__main__":
    main()
