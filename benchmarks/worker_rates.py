"""Whether the 95 % intervals of `amcc workers` hold: how often the true rates of simulated workers are inside.

    python benchmarks/worker_rates.py --seeds 10
    python benchmarks/worker_rates.py --rosters --cells "5 judges, two families"
    python benchmarks/worker_rates.py --others            # as `worker_rates` alone would have it, for comparison

Panels have three to eight judges who see everything; errors of a family share a normal variable per pair (half of
their variance), and where all judges share some, another one. Rates may vary between labels; true rates are then those
within labels, with the weights of Mantel and Haenszel. Crowds are those of `amcc.data.simulate`, with spammers. In one
cell the truth of 60 items is told. A cell shows the share of intervals that hold, in percent, and their mean width, of
hit rates, false-alarm rates and informativeness; and the share of workers of whom there is enough to tell. The rates of
a panel are the same by every method; those of a crowd hold where the method's probabilities do (not with majority).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit, logit
from scipy.stats import norm
from script import hush, parser_of

from amcc import Roster, Truth, Votes
from amcc.arrays import Floats
from amcc.consensus import make_model
from amcc.consensus.rounds import count_votes
from amcc.consensus.workers import WorkerRates, worker_rates
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import as_engine

HIT, FALSE_ALARM = (0.6, 0.97), (0.02, 0.35)  # from weak people to strong language models
FREQUENCY = (0.15, 0.6)
LEAST_BETTER = 0.1  # a judge who is worth asking says yes at least this much more often to what is there


@dataclass(frozen=True)
class Judged:
    """Votes, who the workers are, what may be told, and the true rates: (n_workers,) each."""

    votes: Votes
    hit: Floats
    false_alarm: Floats
    roster: Roster | None = None
    truth: Truth | None = None


def panel(
    seed: int, families: str, n_items: int, n_labels: int, *, in_family: float = 0.5, among_all: float = 0.0,
    in_item: float = 0.0, vary: float = 0.0, told: int = 0,
) -> Judged:  # fmt: skip
    """Judges, one letter for the family of each, on all pairs.

    in_family, among_all, in_item : share of the variance of errors that a family, all judges, and the votes of a judge
    on one item have in common. vary : deviation of rates between labels, in log-odds. told : items with known truth.
    """
    rng = np.random.default_rng(seed)
    n, n_judges = n_items * n_labels, len(families)
    item, label = np.divmod(np.arange(n), n_labels)
    present = rng.random(n) < rng.uniform(*FREQUENCY, n_labels)[label]
    hit = rng.uniform(*HIT, n_judges)
    false_alarm = np.minimum(rng.uniform(*FALSE_ALARM, n_judges), hit - LEAST_BETTER)
    rates = [
        expit(logit(each)[:, None] + vary * rng.standard_normal((n_judges, n_labels))) for each in (hit, false_alarm)
    ]
    common, of_family = rng.standard_normal(n), {name: rng.standard_normal(n) for name in dict.fromkeys(families)}
    yes = np.empty((n_judges, n), dtype=bool)
    for judge, family in enumerate(families):
        shared = in_family if families.count(family) > 1 else 0.0
        parts = (among_all, common), (shared, of_family[family]), (in_item, rng.standard_normal(n_items)[item])
        own = np.sqrt(1 - among_all - shared - in_item) * rng.standard_normal(n)
        error = own + sum(np.sqrt(share) * part for share, part in parts)
        yes[judge] = error > norm.isf(np.where(present, *(each[judge, label] for each in rates)))
    names = [f"judge {number}" for number in range(n_judges)]
    votes = Votes.from_dense(np.where(yes, 1, -1).reshape(n_judges, n_items, n_labels), worker_names=names)
    n_present, n_pairs = np.bincount(label, present), np.bincount(label)
    weight = n_present * (n_pairs - n_present)
    true = (each @ (weight / weight.sum()) for each in rates)
    roster = Roster.from_frame(pa.table({"worker": names, "kind": ["model"] * n_judges, "family": list(families)}))
    return Judged(votes, *true, roster, told_truth(votes, present.reshape(n_items, n_labels), told) if told else None)


def told_truth(votes: Votes, present: npt.NDArray[np.bool_], n_items: int) -> Truth:
    """The truth of the first items: they are as good as any others."""
    item, label = np.nonzero(present[:n_items])
    rows = pa.table({"item": votes.item_names.take(pa.array(item)), "label": votes.label_names.take(pa.array(label))})
    return Truth.from_frames(rows, known_items=pa.table({"item": votes.item_names[:n_items]}))


def crowd(seed: int, n_workers: int, n_items: int, answers_per_item: int = 5) -> Judged:
    """Workers of many kinds, also spammers, who see some of the items; their rates vary between labels."""
    made = simulate_crowd(
        CrowdSpec(n_items=n_items, n_workers=n_workers, n_labels=6, answers_per_item=answers_per_item, seed=seed)
    )
    votes = made.votes
    present = made.truth[votes.item, votes.label]

    def mean(rate: Floats, which: npt.NDArray[np.bool_]) -> Floats:
        met = np.bincount(votes.worker[which], minlength=votes.n_workers)
        sums = np.bincount(votes.worker[which], rate[votes.worker, votes.label][which], votes.n_workers)
        return np.divide(sums, met, out=np.full(len(met), np.nan), where=met > 0)

    return Judged(votes, mean(made.hit_rate, present), mean(made.false_alarm_rate, ~present))


CELLS: dict[str, Callable[[int], Judged]] = {
    "3 judges, 60 items": partial(panel, families="abc", n_items=60, n_labels=1),
    "3 judges": partial(panel, families="abc", n_items=150, n_labels=3),
    "3 judges, two of a family": partial(panel, families="aab", n_items=150, n_labels=3),
    "4 judges, two of a family, 60": partial(panel, families="aabc", n_items=60, n_labels=3),
    "4 judges, two nearly the same": partial(panel, families="aabc", n_items=150, n_labels=2, in_family=0.8),
    "5 judges, 60 items": partial(panel, families="abcde", n_items=60, n_labels=1),
    "5 judges, two families": partial(panel, families="aabbc", n_items=150, n_labels=3),
    "5 judges, three of a family": partial(panel, families="aaabc", n_items=300, n_labels=4),
    "5 judges, labels differ": partial(panel, families="abcde", n_items=150, n_labels=4, vary=1.0),
    "5 judges, items differ": partial(panel, families="abcde", n_items=150, n_labels=4, in_item=0.3),
    "5 judges, families, labels differ": partial(panel, families="aabbc", n_items=150, n_labels=4, vary=0.7),
    "6 judges, all share some": partial(
        panel, families="aabbcd", n_items=150, n_labels=3, in_family=0.3, among_all=0.3
    ),
    "8 judges, three families": partial(panel, families="aaabbbcc", n_items=100, n_labels=2),
    "8 judges, 300 items": partial(panel, families="abcdefgh", n_items=300, n_labels=6),
    "5 judges, 60 items told": partial(panel, families="aaabc", n_items=300, n_labels=4, told=60),
    "30 workers, 150 items": partial(crowd, n_workers=30, n_items=150),
    "30 workers, 600 items": partial(crowd, n_workers=30, n_items=600),
    "100 workers": partial(crowd, n_workers=100, n_items=1000),
    "300 workers": partial(crowd, n_workers=300, n_items=2000),
}


def rates_of(judged: Judged, method: str, *, roster: bool = False, others: bool = False) -> WorkerRates:
    """What is said about the workers; with `others` by the regression on what the others say, however few they are."""
    model = make_model(method)
    model.fit(judged.votes, truth=judged.truth, roster=judged.roster if roster else None)
    if not others:
        return model.worker_rates_
    assert model._to_judge is not None  # nobody asked about the workers yet
    votes, judge = model._to_judge
    return worker_rates(votes, judge(), as_engine(votes).total(count_votes))


def held(judged: Judged, rates: WorkerRates) -> tuple[npt.NDArray[np.bool_], Floats]:
    """(3, n) whether the intervals hold, and their widths, for the workers who met both present and absent pairs."""
    true = {"hit_rate": judged.hit, "false_alarm_rate": judged.false_alarm}
    true["informativeness"] = judged.hit - judged.false_alarm
    low, high = (np.array([getattr(rates, f"{name}_{end}") for name in true]) for end in ("low", "high"))
    value = np.array(list(true.values()))
    met = np.isfinite(value).all(axis=0)
    return ((low <= value) & (value <= high))[:, met], (high - low)[:, met]


def main() -> None:
    """Print one line for each cell."""
    parser = parser_of(__doc__)
    parser.add_argument("--method", default="amcc")
    parser.add_argument("--rosters", action="store_true", help="tell the method the families")
    parser.add_argument("--others", action="store_true", help="judge by what the others say, however few they are")
    parser.add_argument("--cells", default=";".join(CELLS), help="names, separated by semicolons")
    parser.add_argument("--seeds", type=int, default=10, help="panels of each kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    options = parser.parse_args()
    hush()
    print(f"{'held in % (width)':34}{'hit rate':>14}{'false alarms':>14}{'informative':>14}{'told':>7}")
    for name in options.cells.split(";"):
        found, known = [], []
        for seed in range(options.first, options.first + options.seeds):
            judged = CELLS[name](seed)
            rates = rates_of(judged, options.method, roster=options.rosters, others=options.others)
            found.append(held(judged, rates))
            known.extend(rates.known)
        shares, widths = (np.concatenate(each, axis=1).mean(axis=1) for each in zip(*found, strict=True))
        cells = "".join(f"{100 * share:8.1f} ({width:.2f})"[-14:] for share, width in zip(shares, widths, strict=True))
        print(f"{name:34}{cells}{np.mean(known):7.2f}", flush=True)


if __name__ == "__main__":
    main()
