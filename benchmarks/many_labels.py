"""A fit of very many labels: seconds, memory, and how many pairs are right beside majority.

    python benchmarks/many_labels.py --votes 1e7 --labels 1e6

Each item is asked about ten labels drawn from all of them, as with tags that a search has proposed; five workers answer
each. So nearly every vote is the only one of its worker on its label, and nothing may be of size items × labels or
labels × labels. A fifth of the workers answer without looking.
"""

from __future__ import annotations

import resource
import time

import numpy as np
from script import hush, parser_of, whole_number

from amcc import AMCC
from amcc.arrays import Mask
from amcc.votes import Votes

LABELS_PER_ITEM, VOTES_PER_PAIR = 10, 5
PRESENT_SHARE, SPAMMER_SHARE = 0.4, 0.2


def tagged(n_votes: int, n_labels: int, n_workers: int, seed: int) -> tuple[Votes, Mask]:
    """Votes, and (n_pairs,) whether each asked label is present."""
    rng = np.random.default_rng(seed)
    n_items = n_votes // (LABELS_PER_ITEM * VOTES_PER_PAIR)
    item = np.repeat(np.arange(n_items), LABELS_PER_ITEM)
    pair = np.unique(item * n_labels + rng.integers(0, n_labels, len(item)))  # twice the same label is asked once
    present = rng.random(len(pair)) < PRESENT_SHARE
    spams = rng.random(n_workers) < SPAMMER_SHARE
    hit = np.where(spams, 0.5, rng.beta(8, 2, n_workers))
    false_alarm = np.where(spams, 0.5, rng.beta(2, 18, n_workers))
    of_pair = np.repeat(np.arange(len(pair)), VOTES_PER_PAIR)
    first = rng.integers(0, n_workers, len(pair))
    # Five different workers: steps of a fifth of all, so that none meets another on a pair.
    worker = (
        np.repeat(first, VOTES_PER_PAIR) + np.tile(np.arange(VOTES_PER_PAIR), len(pair)) * (n_workers // 5)
    ) % n_workers
    says_yes = rng.random(len(of_pair)) < np.where(present[of_pair], hit[worker], false_alarm[worker])
    item, label = np.divmod(pair[of_pair], n_labels)
    used, label = np.unique(label, return_inverse=True)
    votes = Votes.from_codes(
        item, worker, label, np.where(says_yes, 1, -1),
        item_names=range(n_items), worker_names=range(n_workers), label_names=used,
    )  # fmt: skip
    return votes, present


def main() -> None:
    """Print what was measured."""
    parser = parser_of(__doc__)
    parser.add_argument("--votes", type=whole_number, default=10**7)
    parser.add_argument("--labels", type=whole_number, default=10**6)
    parser.add_argument("--workers", type=whole_number, default=20_000)
    parser.add_argument(
        "--groups", type=int, nargs="+", default=[None], help="numbers of groups to try; default: the usual"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    hush()
    votes, present = tagged(given.votes, given.labels, given.workers, given.seed)
    print(f"{votes!r}; {len(votes.coins):,} coins", flush=True)
    majority = float(((2 * votes.n_yes > votes.pairs.n_votes) == present).mean())
    print(f"right pairs: majority {majority:.3f}", flush=True)
    for n_groups in given.groups:
        start, spent = time.perf_counter(), time.process_time()
        model = AMCC(n_groups=n_groups).fit(votes)
        seconds, cores = time.perf_counter() - start, time.process_time() - spent
        right = float(((model.pair_proba_ > 0.5) == present).mean())
        about = (
            f"{len(model.group_weights_)} groups, {model.n_iter_} rounds, {seconds:.0f} s, {cores:.0f} s of all cores"
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"right pairs: amcc {right:.3f}; {about}; peak of the process {peak:.1f} GB", flush=True)


if __name__ == "__main__":
    main()
