"""Seconds to choose the next questions from a live crowd, for every strategy; and one worker's next page.

`python benchmarks/selection.py [--items N] [--labels N] [--workers N] [--votes N] [--batch N] [strategy ...]`
The votes are random: what they say does not matter for the time.
"""

from __future__ import annotations

import time

import numpy as np
from script import parser_of

from amcc.active.assignment import Outlook
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Anything
from amcc.active.pages import select_with_pages
from amcc.active.prices import Prices
from amcc.active.strategies import STRATEGIES
from amcc.votes import Votes

SEED = 0
# The shortest of a few: a choice takes seconds, and the first may import.
REPEATS = 3
# Workers who ask for a page: enough that the slowest of them says something.
N_PAGES = 50


def random_beliefs(n_items: int, n_labels: int, n_workers: int, n_votes: int) -> CurrentBeliefs:
    """Beliefs of the wanted size, from workers who are right more often than not."""
    rng = np.random.default_rng(SEED)
    places = np.unique(rng.integers(0, n_items * n_labels * n_workers, n_votes))
    pair, worker = np.divmod(places, n_workers)
    item, label = np.divmod(pair, n_labels)
    votes = Votes.from_codes(
        item, worker, label, rng.choice((-1, 1), len(places)),
        item_names=range(n_items), worker_names=range(n_workers), label_names=range(n_labels),
    )  # fmt: skip
    correlation = np.corrcoef(rng.random((n_labels, 3 * n_labels)))
    hit, false_alarm = rng.uniform(0.6, 0.95, (n_workers, n_labels)), rng.uniform(0.05, 0.4, (n_workers, n_labels))
    proba = rng.beta(0.3, 0.6, (n_items, n_labels))
    return CurrentBeliefs(votes, proba, hit, false_alarm, votes.answers_per_worker, correlation, np.abs(correlation))


def seconds(strategy: str, beliefs: CurrentBeliefs, batch: int, page: int = 0) -> float:
    """The shortest of a few runs, from the votes to the questions; page : what a page costs beside its votes."""
    prices = Prices(np.random.default_rng(SEED).integers(100, 500, beliefs.votes.n_workers), page, decimals=2)
    spent = []
    for repeat in range(REPEATS):
        start, rng = time.perf_counter(), np.random.default_rng(repeat)
        select_with_pages(STRATEGIES[strategy](), beliefs, Anything(beliefs.votes), prices, batch, rng)
        spent.append(time.perf_counter() - start)
    return min(spent)


def seconds_of_page(beliefs: CurrentBeliefs) -> tuple[float, float]:
    """To prepare pages after something was learned, and the longest of some pages for single workers."""
    start = time.perf_counter()
    outlook = Outlook.of(beliefs)
    outlook.page(0)
    prepared = time.perf_counter() - start
    spent = []
    for worker in np.random.default_rng(SEED).integers(0, beliefs.votes.n_workers, N_PAGES).tolist():
        start = time.perf_counter()
        outlook.page(worker, page_price=3.0)
        spent.append(time.perf_counter() - start)
    return prepared, max(spent)


def main() -> None:
    """Print one line per strategy."""
    parser = parser_of(__doc__)
    parser.add_argument("strategies", nargs="*", default=list(STRATEGIES))
    for name, default in (("items", 100_000), ("labels", 20), ("workers", 5000), ("votes", 2_000_000), ("batch", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    beliefs = random_beliefs(options.items, options.labels, options.workers, options.votes)
    print(f"{options.batch} questions, {beliefs.votes!r}")
    prepared, page = seconds_of_page(beliefs)
    print(f"one worker's next page: {1000 * page:.1f} ms at most, after {prepared:.2f} s once something was learned")
    for strategy in options.strategies:
        print(f"{strategy:16} {seconds(strategy, beliefs, options.batch):6.2f} s")
    print(f"voi, page prices {seconds('voi', beliefs, options.batch, page=300):6.2f} s")


if __name__ == "__main__":
    main()
