"""What it costs to append a few votes to packed ones, against packing all of them again, and to go on from a model.

New votes are a random sample: of all answers, so that nearly all blocks are touched (*anywhere*), and of those on the
last items, old and new ones, as campaigns have them (*at the end*). Time is that of all cores together.

    python benchmarks/appending.py --sizes 1e6 1e7
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from page import short
from script import parser_of, whole_number

from amcc import AMCC, Votes, write_votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.local import LocalEngine
from amcc.engine.packed import PackedVotes
from amcc.io.append import append_votes
from amcc.io.pack import pack_votes

SEED = 0


def cpu_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of all cores, and what came out."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


class Counting(LocalEngine):
    """Counts the votes that functions are applied to."""

    passed = 0

    def block(self, number: int) -> Any:
        """The block, counted."""
        self.passed += self.packed.entries[number].votes
        return super().block(number)


def is_new(votes: Votes, n_new: int, where: str) -> np.ndarray[Any, Any]:
    """(n_votes,) about `n_new` votes, whole answers; one in five of them is on an item that has no other."""
    rng = np.random.default_rng(SEED)
    share = n_new / len(votes)
    # At the end: the last items, ten times as many as the new votes need.
    first = 0 if where == "anywhere" else int(votes.n_items * (1 - 10 * share))
    within = share * votes.n_items / (votes.n_items - first)
    answer = rng.random((votes.n_workers, 1 + votes.n_items // 1000))  # a worker's answers to items of one remainder
    drawn = answer[votes.worker, votes.item % answer.shape[1]] < 0.8 * within
    whole = rng.random(votes.n_items) < 0.2 * within
    return (votes.item >= first) & (drawn | whole[votes.item])


def measure(n_votes: int, n_new: int, block_votes: int, where: str) -> None:
    """Pack the old votes, append the new ones, pack all again, and go on from a model of the old ones."""
    votes = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=SEED)).votes
    new = is_new(votes, n_new, where)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for name, some in (("old", votes.select(~new)), ("new", votes.select(new)), ("all", votes)):
            write_votes(some, place / f"{name}.parquet")
        before = pack_votes(place / "old.parquet", place / "packed", block_votes=block_votes)
        model = AMCC(warm_start=True).fit(LocalEngine(before))
        append, packed = cpu_of(lambda: append_votes(place / "new.parquet", place / "packed"))
        again, _ = cpu_of(lambda: pack_votes(place / "all.parquet", place / "again", block_votes=block_votes))
        assert packed.n_votes == PackedVotes(place / "again").n_votes
        touched = set(before.entries) - set(packed.entries)
        read = sum(entry.votes for entry in touched)
        engine = Counting(packed)
        going_on, _ = cpu_of(lambda: model.fit(engine))
    print(
        f"{short(n_votes)} votes in {len(before.entries)} blocks, {int(new.sum()):,} new ones {where}: append "
        f"{append:.2f} s, read {read / n_votes:.0%} of the votes ({len(touched)} blocks); pack again {again:.2f} s, "
        f"{again / append:.1f} times as long; --from {going_on:.2f} s, {engine.passed / packed.n_votes:.0f} passes",
        flush=True,
    )


def main() -> None:
    """Measure all sizes, print line by line."""
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", type=whole_number, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--new", type=whole_number, default=10**4)
    parser.add_argument("--block-votes", type=whole_number, nargs="+", default=[10**6, 10**5])
    arguments = parser.parse_args()
    measure(3 * 10**5, 10**3, 10**5, "anywhere")  # imports and compiling
    for n_votes in arguments.sizes:
        for block_votes in arguments.block_votes:
            for where in ("anywhere", "at the end"):
                measure(n_votes, arguments.new, block_votes, where)


if __name__ == "__main__":
    main()
