"""How forecasts of cost (`amcc.active.forecast`) compare with what replays really cost, and what they are fitted to.

    python benchmarks/forecast.py --data DATA --seeds 3 -o curves.jsonl --plot docs/figures/forecast.svg

Crowds of many families are replayed, real ones (a part of the items, or of the answers, of large ones) and simulated
ones with and without shared trouble. Strategies and prices take turns. The file keeps the curves: what is there is not
replayed again, so that a study can be stopped at any time.

At `MOMENTS` moments of each replay the cost to `TARGETS` shares of the present error is forecast, and compared with the
money after which the expected error was there for the first time. The pool of recorded votes ends: a target that was
not reached costs "more than all", and is covered by an interval that is open above. Printed is the share of real costs
that the 80 % intervals hold, for each family by numbers that were fitted without it, and the numbers fitted to all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import partial
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_expit
from script import hush, parser_of

from amcc import Votes, make_model
from amcc.active import STRATEGIES, Learner, first_votes, purchases, usual_batch
from amcc.active.forecast import Experience, Forecast, SoFar, cost_to, pairs_settled
from amcc.active.questions import Triplets
from amcc.data import CrowdSpec, family_of, read_set, simulate_crowd
from amcc.experiments.cells import SHARED_TROUBLES, TROUBLES, thinned
from amcc.roster import Roster

# Moments of a replay, equally far apart in log money from its start to this share of all money; and targets, as shares
# of the error at the moment, from the next step to what is rarely reached.
MOMENTS, LAST_MOMENT = 8, 0.7
TARGETS = (0.95, 0.85, 0.7, 0.5, 0.35)

# Sets, with the most answers per item and the most items that are used: a replay should take seconds.
SETS: dict[str, tuple[int | None, int | None]] = {
    "affective": (None, None),
    "apple_nakamura_run10": (None, None),
    "crowdtruth_medical": (None, 100),
    "crowdtruth_tweets": (None, 200),
    "llm_cebab_aspects": (None, 200),
    "love_ekman": (15, None),
    "ecg_ribeiro": (None, 200),
    "llm_framing": (None, 50),
    "sonyc_ust_coarse_val": (None, 100),
    "nih_four_findings": (None, 300),
    "apple_nakamura": (10, None),
    "imagenet_real_golden": (20, 40),
    "open_domain_relex": (None, 40),
    "llm_civilcomments": (None, 100),
    "love_nakamura": (10, None),
    "so_emotions": (None, 200),
    "apple_ekman": (15, None),
}
# Twelve answers to each of 80 items: enough for an error to fall, and to stop falling.
SIMULATED = {"n_items": 80, "n_workers": 30, "n_labels": 6, "answers_per_item": 12}
# Crowds with many labels, or in which everybody answers everything, have fewer or more items: about as many votes.
ITEMS = {"dense, rare labels": 40, "judges": 120}
# A crowd has spammers unless it says none: one left out must not be another's double.
SIMULATED_CROWDS: dict[str, dict[str, float]] = {"no trouble": {"spammers": 0.0}, **SHARED_TROUBLES, **TROUBLES}

# `voi` is what users have; `okg`, too, asks where an answer is expected to change most.
TURNS = ("voi", "okg")
PRICES = ("equal", "random")


@dataclass(frozen=True)
class Task:
    """One replay: a crowd, who asks it, what it costs."""

    crowd: str
    strategy: str
    prices: str
    seed: int

    @property
    def family(self) -> str:
        """What has a source in common; a simulated crowd with one trouble is a family, as on the board."""
        return family_of(self.crowd)

    def draw(self, data: Path) -> tuple[Votes, Roster | None]:
        """The votes that can be bought, and who the workers are where that is said."""
        if self.crowd.startswith("simulated"):
            trouble = self.crowd.partition(": ")[2]
            size = {**SIMULATED, "n_items": ITEMS.get(trouble, SIMULATED["n_items"])}
            return simulate_crowd(CrowdSpec(**{**size, **SIMULATED_CROWDS[trouble], "seed": self.seed})).votes, None  # type: ignore[arg-type]
        answers, items = SETS[self.crowd]
        votes = read_set(self.crowd, data).votes
        votes = votes if answers is None else thinned(votes, answers, self.seed)
        return votes if items is None else some_items(votes, items, self.seed), roster_of(data / self.crowd)

    def price_of(self, votes: Votes) -> np.ndarray:
        """(n_workers,) 1, or whole numbers from 1 to 10."""
        n = votes.n_workers
        return np.ones(n) if self.prices == "equal" else np.random.default_rng([self.seed, n]).integers(1, 11, n) * 1.0


def tasks(data: Path, seeds: int) -> Iterator[Task]:
    """All replays, a seed after the other."""
    real = [name for name in SETS if (data / name).exists()]
    crowds = [*real, *(f"simulated: {trouble}" for trouble in SIMULATED_CROWDS)]
    for seed in range(seeds):
        for place, crowd in enumerate(crowds):
            yield Task(crowd, TURNS[(place + seed) % len(TURNS)], PRICES[(place // 2 + seed) % len(PRICES)], seed)


def some_items(votes: Votes, n_items: int, seed: int) -> Votes:
    """The votes on some items drawn at random, with the workers and labels that occur in them."""
    items = np.unique(votes.item)
    chosen = np.sort(np.random.default_rng(seed).permutation(items)[:n_items])
    part = votes.select(np.isin(votes.item, chosen))
    (worker, by), (label, about) = (np.unique(codes, return_inverse=True) for codes in (part.worker, part.label))
    return Votes.from_codes(
        np.searchsorted(chosen, part.item), by, about, part.value, item_names=votes.item_names.take(chosen),
        worker_names=votes.worker_names.take(worker), label_names=votes.label_names.take(label),
    )  # fmt: skip


def roster_of(folder: Path) -> Roster | None:
    """Who the workers are, where the folder says it."""
    import pandas as pd

    path = folder / "workers.csv"
    return Roster.from_frame(pd.read_csv(path)) if path.exists() else None


def replayed(task: Task, data: Path) -> dict[str, Any]:
    """The curve of a replay, money and expected error; how it stood at some moments; pairs settled, and promised."""
    votes, roster = task.draw(data)
    prices, strategy, rng = task.price_of(votes), STRATEGIES[task.strategy](), np.random.default_rng(task.seed)
    make = partial(make_model, strategy.model)
    learner = Learner(make, roster=roster if make().uses_roster else None)
    total = float(prices[votes.worker].sum())
    curve: list[tuple[float, float, float]] = []
    moments: dict[int, dict[str, float]] = {}  # by their place on the curve
    promised, before, wanted = 0.0, None, np.empty(0)
    settings: dict[str, Any] = {"batch": usual_batch(votes), "rng": rng}
    for now in purchases(votes, first_votes(votes, "one", rng), strategy, learner, prices, **settings):
        if before is None:
            wanted = np.geomspace(now.spent, max(now.spent, LAST_MOMENT * total), MOMENTS) * (1 - 1e-9)
        else:
            bought = Triplets.of_votes(votes).take(np.flatnonzero(now.asked & ~before.asked))
            promised += float(pairs_settled(before.beliefs, bought).sum())
        if (wanted <= now.spent).any():
            wanted = wanted[wanted > now.spent]
            moments[len(curve)] = vars(SoFar.of(now.beliefs, prices))
        curve.append((now.spent, now.beliefs.expected_error(), float(now.beliefs.settled_pairs().sum())))
        before = now
    money, error, settled = (np.round(column, 6).tolist() for column in zip(*curve, strict=True))
    told = {"spent": money, "error": error, "moments": moments, "settled": max(settled), "promised": promised}
    return {"family": task.family, **vars(task), "total": total, **told}


# -- what was forecast, and what it cost ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """A forecast that can be checked: where a replay stood, the target, and its real cost (infinite: not reached).

    most : what all votes cost that were left.
    """

    family: str
    so_far: SoFar
    target: float
    most: float
    cost: float

    def forecast(self, experience: Experience) -> Forecast:
        """As it would have been given."""
        return cost_to(self.target, self.so_far, self.most, experience)

    @property
    def distance(self) -> float:
        """Of the target."""
        return log(self.so_far.error / self.target)


def points_of(run: dict[str, Any]) -> Iterator[Point]:
    """The points of a replay."""
    spent, error = np.array(run["spent"]), np.array(run["error"])
    for at, moment in run["moments"].items():
        now, rest = SoFar(**moment), slice(int(at), None)
        for share in TARGETS:
            reached = np.flatnonzero(error[rest] <= share * now.error)
            cost = float(spent[rest][reached[0]] - now.spent) if len(reached) else inf
            if run["total"] > now.spent:
                yield Point(run["family"], now, share * now.error, run["total"] - now.spent, cost)


def fitted(points: list[Point]) -> Experience:
    """The most likely numbers; families count alike. A target that was not reached costs more than all votes."""
    family, counts = np.unique([point.family for point in points], return_inverse=True)
    weight = 1 / np.bincount(counts)[counts] / len(family)
    columns = [(each.distance, each.most, each.cost, each.so_far.spent, each.so_far.votes_per_pair) for each in points]
    distance, most, cost, spent, votes = np.array(columns).T
    reached = np.isfinite(cost)
    stretch = np.log(np.log1p(np.where(reached, cost, most) / spent) / distance)

    def surprise(numbers: np.ndarray) -> float:
        middle, log_spread, *odds = numbers
        z = (stretch - middle) / exp(log_spread)
        floor = odds[0] + odds[1] * np.log(votes) + odds[2] * distance
        density = log_expit(-floor) + log_expit(z) + log_expit(-z) - log_spread
        beyond = np.logaddexp(log_expit(floor), log_expit(-floor) + log_expit(-z))
        return -float((weight * np.where(reached, density, beyond)).sum())

    best = minimize(surprise, [0.5, 0.0, -5.0, 3.0, 4.0], method="BFGS").x
    return Experience(exp(best[0]), exp(best[1]), *(float(number) for number in best[2:]))


def is_covered(point: Point, told: Forecast) -> bool:
    """Whether the interval holds the cost. That of a target beyond reach holds "not reached"."""
    return told.low <= point.cost <= told.high


def left_out(points: list[Point]) -> list[tuple[Point, Forecast]]:
    """Every point, forecast by numbers that were fitted without its family."""
    told = []
    for family in sorted({point.family for point in points}):
        experience = fitted([point for point in points if point.family != family])
        told += [(point, point.forecast(experience)) for point in points if point.family == family]
    return told


# -- what is printed -----------------------------------------------------------------------------------------------


def row(name: str, told: list[tuple[Point, Forecast]]) -> str:
    """A row of the table."""
    covered = np.mean([is_covered(*each) for each in told])
    reached = np.mean([point.cost < inf for point, _ in told])
    closed = [forecast for _, forecast in told if forecast.high < inf]
    width = np.median([each.high / each.low for each in closed]) if closed else np.nan
    below, above = (np.mean([way(point.cost, each) for point, each in told]) for way in (_is_below, _is_above))
    cells = f"{covered:.0%}", f"{below:.0%}", f"{above:.0%}", f"{reached:.0%}", f"{len(closed) / len(told):.0%}"
    return f"| {name} | {len(told)} | {' | '.join(cells)} | {'–' if np.isnan(width) else f'{width:.0f}'} |"


def _is_below(cost: float, told: Forecast) -> bool:
    return cost < told.low


def _is_above(cost: float, told: Forecast) -> bool:
    return cost > told.high


def table(told: list[tuple[Point, Forecast]]) -> list[str]:
    """Coverage by family, by distance of the target, and overall."""
    head = "| | forecasts | covered | cost less | cost more | reached | closed above | high / low |"
    rows = [head, "|---|---|---|---|---|---|---|---|"]
    for family in sorted({point.family for point, _ in told}):
        rows.append(row(family, [each for each in told if each[0].family == family]))
    for share in TARGETS:
        near = [each for each in told if abs(each[0].target / each[0].so_far.error - share) < 1e-6]
        rows.append(row(f"target {share:g} × error", near))
    return [*rows, row("**all**", told)]


def settled_rate(runs: list[dict[str, Any]]) -> str:
    """Most pairs that were settled at a time, for each that was expected to be."""
    rates = [run["settled"] / run["promised"] for run in runs if run["promised"] > 0]
    quartiles = np.quantile(rates, [0.25, 0.5, 0.75]).round(2).tolist()
    return f"pairs settled for each that the batches promised, quartiles over replays: {quartiles}"


def draw(told: list[tuple[Point, Forecast]], path: Path) -> None:
    """The cost that was forecast against what it really was, both as shares of the money spent by then."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from amcc.plotting import BLUE, GREY, PALE, VERMILION, style

    rng = np.random.default_rng(0)
    shown = [told[place] for place in np.sort(rng.permutation(len(told))[:MOST_SHOWN])]
    shown.sort(key=lambda each: each[1].low / each[0].so_far.spent)
    with style():
        figure, axes = plt.subplots(figsize=(7.2, 3.6))
        top = 40.0
        for place, (point, each) in enumerate(shown):
            low, high = (min(amount / point.so_far.spent, top) for amount in (each.low, each.high))
            axes.plot([place, place], [low, high], color=PALE, linewidth=1.1, solid_capstyle="butt")
            cost, good = min(point.cost / point.so_far.spent, top * 1.3), is_covered(point, each)
            axes.plot(place, cost, "o" if good else "s", color=BLUE if good else VERMILION, markersize=2.6, zorder=3)
        axes.axhline(top, color=GREY, linewidth=0.6)
        axes.set(yscale="log", ylim=(3e-3, top * 1.8), xlabel="forecasts, by the lower end of their interval")
        axes.set_ylabel("more money, per money spent so far")
        axes.set_title("80 % intervals (grey) and real cost: inside (blue), outside (red); on top: not reached")
        n_within = sum(each.low < inf for _, each in shown)
        axes.text((n_within + len(shown)) / 2, 8, "called out of reach", color=GREY, ha="center")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


# Forecasts in the picture: more would be a grey field.
MOST_SHOWN = 200


def main() -> None:
    """Replay what is missing, fit, print."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True, help="curves, one line per replay")
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    hush()
    lines = asked.output.read_text().splitlines() if asked.output.exists() else []
    runs = [json.loads(line) for line in lines]
    done = {(run["crowd"], run["strategy"], run["prices"], run["seed"]) for run in runs}
    for task in tasks(asked.data, asked.seeds):
        if astuple(task) in done:
            continue
        runs.append(replayed(task, asked.data))
        with asked.output.open("a") as file:
            file.write(json.dumps(runs[-1]) + "\n")
    points = [point for run in runs for point in points_of(run)]
    told = left_out(points)
    print(f"{len(runs)} replays", *table(told), settled_rate(runs), fitted(points), sep="\n")
    if asked.plot:
        draw(told, asked.plot)


if __name__ == "__main__":
    main()
