"""amcc replay: what would it have cost?

One run is `amcc.active.replay.replay`. Here every strategy is run with every seed, in several processes, and what the
runs say together is told: in a table, as JSON, as rows, or in a picture.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from amcc import metrics, tables
from amcc.active import STRATEGIES, Curve, Prices, cost_of_goals, first_votes, mean_curve
from amcc.active.buying import DEFAULT_STRATEGY, check_batch, checked_strategy
from amcc.active.prices import budget_units, eq12_prices, prices_by_kind
from amcc.active.replay import ENOUGH_RUNS, GOALS, CostOfGoal, PricesNow, Recording, Start, as_prices_now
from amcc.active.replay import replay as replayed
from amcc.active.stopping import check_patience
from amcc.active.strategies import make_strategy
from amcc.arrays import Floats
from amcc.cli.console import busy, notes, screen
from amcc.cli.fitting import DEFAULT_METHOD
from amcc.cli.options.features import ItemFeatures
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.prices import PriceOptions
from amcc.cli.options.truth import TruthCoverage, TruthPath
from amcc.cli.options.votes import ReadingOptions, VotesPath
from amcc.cli.output import Json, print_json
from amcc.cli.paths import PICTURE, TABLE
from amcc.consensus import ConsensusModel, make_model
from amcc.errors import ConvergenceWarning, EmptyInputError, InputError, ParameterError
from amcc.files import whole_file
from amcc.io import write_table
from amcc.processes import computed
from amcc.truth import Truth
from amcc.votes import Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class CurveOutput(OptionGroup):
    """What is done with the curves, beside what is printed."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write strategy,seed,cost_share,votes,jaccard."), TABLE
    ] = None
    plot: Annotated[Path | None, typer.Option(help="Also draw the curves: .png, .svg or .pdf."), PICTURE] = None

    def keep(self, curves: Mapping[tuple[str, int], Curve], found: Mapping[str, Replay], quality: float) -> None:
        """Write and draw the curves where that was asked for."""
        if self.output is not None:
            write_table(curve_rows(curves), self.output)
            notes.print(f"wrote the curves to {self.output}")
        if self.plot is not None:
            draw_curves(found, quality, self.plot)
            notes.print(f"drew the curves in {self.plot}")


Batch = Annotated[int | None, typer.Option(help="Questions asked at a time. Default: about 1 % of the votes.")]
Patience = Annotated[
    int | None,
    typer.Option(help="Stop after so many batches in which the error that the model expects reached no new low."),
]


def replay(
    *,
    path: VotesPath,
    truth: TruthPath,
    strategy: Annotated[
        str, typer.Option(help=f"What to compare, separated by commas: {', '.join(STRATEGIES)}.")
    ] = DEFAULT_STRATEGY,
    money: PriceOptions,
    budget: Annotated[
        str | None, typer.Option(help="Stop when it is spent. Default: when all votes are bought.")
    ] = None,
    patience: Patience = None,
    seeds: Annotated[int, typer.Option(help="Runs of each strategy, which differ by chance.")] = ENOUGH_RUNS,
    coverage: TruthCoverage,
    start: Annotated[
        str, typer.Option(help="What is bought first, by chance: none, one answer per item, or PERCENT of the answers.")
    ] = "one",
    batch: Batch = None,
    described: ItemFeatures,
    processes: Annotated[int, typer.Option(min=0, help="How many at a time; 0 for one per core.")] = 0,
    target: CurveOutput,
    as_json: Json = False,
    reading: ReadingOptions,
) -> None:
    """Buy recorded votes one after the other, as strategies choose them: what would the same quality have cost?

    Quality is the mean Jaccard index of the consensus; that of all votes counts as reached from 0.005 below it. The
    cost is where it stays: from there on the quality is never again lower. Of several runs the middle one counts, and
    the cheapest and the most expensive stand beside it.
    """
    votes, names = reading.read(path), strategy_names(strategy)
    check_runs(names, seeds, batch, patience, described)
    first = parse_start(start)
    limit = None if budget is None else budget_units(budget, money.decimals)
    recording = recorded(votes, coverage.read(truth))
    before = first_prices(votes, money)
    settings = {
        "start": first,
        "batch": batch,
        "budget": limit,
        "patience": patience,
        "features": described.read(votes),
    }
    check_start(votes, before, first, limit, seeds)
    prices = PricesByEq12(money) if money.by_eq12 else before.vote.astype(np.float64)
    quality, total = all_votes(recording, prices)
    run = partial(run_once, recording, prices, settings | {"total": float(total)})
    curves = run_all(run, [(name, seed) for name in names for seed in range(seeds)], processes or os.cpu_count() or 1)
    found = {name: Replay([curves[name, seed] for seed in range(seeds)], quality) for name in names}
    note_few_seeds(seeds)
    target.keep(curves, found, quality)
    if as_json:
        print_json({name: each.as_json() for name, each in found.items()})
    else:
        show(found, quality, len(votes), before.text(total), ends=limit is not None or patience is not None)


# -- arguments -------------------------------------------------------------------------------------------------------


def strategy_names(text: str) -> list[str]:
    """Strategies that are separated by commas; each must be known, and there must be one."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names or [text]:
        make_strategy(name)
    return names


def check_runs(
    names: Sequence[str], seeds: int, batch: int | None, patience: int | None, described: ItemFeatures
) -> None:
    """Raise ParameterError for what makes no sense, before hours are spent on it."""
    for name in names:
        checked_strategy(name, features=described.features is not None, roster=False)
    if seeds < 1:
        raise ParameterError(f"seeds must be at least 1; got {seeds}.")
    if batch is not None:
        check_batch(batch)
    check_patience(patience, "batches", "--patience")


def parse_start(text: str) -> Start:
    """What is known before the first question, from what a person writes."""
    if text == "none":
        return "none"
    if text == "one":
        return "one"
    percent = float(tables.number_in(text.removesuffix("%")) or "nan")
    if not 0 <= percent <= 100:
        raise ParameterError(f"start must be none, one or a percentage from 0 to 100; got {text!r}.")
    return percent / 100


def recorded(votes: Votes, truth: Truth) -> Recording:
    """Votes with their truth, which must speak of some of them."""
    truth.check_names("the votes", item=votes.item_names, label=votes.label_names)
    n_matching = len(truth.positives.keys(votes.item_names, votes.label_names))
    true, known = truth.matrices(votes.item_names, votes.label_names)
    # Without a single true label of a voted item every consensus would be as good as any other.
    if not n_matching or not (true & known).any():
        raise EmptyInputError(
            f"the truth must name labels of items that were voted on; none of its {len(truth.positives.item)} pairs is "
            "one that it covers. Write items and labels as in the votes."
        )
    if outside := len(truth.positives.item) - n_matching:
        notes.print(f"{outside} true pairs are about items or labels without votes; they do not count")
    if not known.all():
        n_items = known.any(axis=1).sum()
        notes.print(
            f"quality is that of {n_items:,} of {votes.n_items:,} items ({known.sum():,} pairs): "
            "the truth of the others is unknown",
            soft_wrap=True,
        )
    return Recording(votes, true, known)


def first_prices(votes: Votes, money: PriceOptions) -> Prices:
    """What the votes of each worker cost before the first vote; others in the price list do not matter."""
    listed = money.listed()
    if money.by_eq12:
        return eq12_prices(None, votes, money.by_eq12, price=money.price, decimals=money.decimals)
    prices_by_kind(listed.kinds, None, votes.worker_names)  # refused, if there are any: who is what is not known here
    tables.refuse_slips(pa.array(list(listed), pa.string()), votes.worker_names, "worker")
    # A list for the whole crowd is fine, and a note is enough: only recorded votes can be bought.
    there = set(votes.worker_names.cast(pa.string()).to_pylist())
    if strangers := [name for name in listed if name not in there]:
        notes.print(f"{len(strangers)} workers of the price list have no recorded vote")
    amounts = {name: amount for name, amount in listed.items() if name in there}
    return Prices.of(votes.worker_names, amounts, default=money.of_others, decimals=money.decimals)


@dataclass(frozen=True)
class PricesByEq12:
    """What votes cost now by eq12, in minor units; a class, so that other processes can be handed it."""

    money: PriceOptions

    def __call__(self, model: ConsensusModel | None, votes: Votes) -> Floats:
        """(n_workers,) by what the model knows, see `amcc.active.replay.PricesNow`."""
        money = self.money
        now = eq12_prices(model, votes, str(money.by_eq12), price=money.price, decimals=money.decimals)
        return now.vote.astype(np.float64)


def check_start(votes: Votes, prices: Prices, start: Start, money: int | None, seeds: int) -> None:
    """Raise InputError where the budget does not even pay for what is bought first."""
    if money is None:
        return
    # The seeds are those of the runs: what they will buy first is known now.
    bought = (first_votes(votes, start, np.random.default_rng(seed)) for seed in range(seeds))
    cost = max(int(prices.vote[votes.worker[first]].sum()) for first in bought)
    if cost > money:
        raise InputError(
            f"the budget must pay for what is bought first, {prices.text(cost)}; got {prices.text(money)}. Raise it, "
            "or start with less (--start none)."
        )


# -- running ---------------------------------------------------------------------------------------------------------


def all_votes(recording: Recording, prices: Floats | PricesNow) -> tuple[float, int]:
    """Mean Jaccard index of the default consensus of all votes, and what they cost at the prices after them."""
    votes = recording.votes
    with busy(f"Fitting {DEFAULT_METHOD} to {len(votes):,} votes"):
        model = make_model(DEFAULT_METHOD).fit(votes)
    quality = metrics.jaccard(recording.truth, model.predict_proba() > 0.5, recording.known)
    # One sum for all strategies, though by eq12 each pays by its own model: their shares can then be compared.
    return quality, int(as_prices_now(prices)(model, votes)[votes.worker].sum())


def run_once(
    recording: Recording,
    prices: Floats | PricesNow,
    settings: Mapping[str, Any],
    name: str,
    seed: int,
    progress: Callable[[float], object] = lambda share: None,
) -> Curve:
    """One strategy with one seed; `settings` are those of `amcc.active.replay.replay`."""
    strategy = make_strategy(name)
    model = partial(make_model, strategy.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of models that are fitted again soon
        return replayed(recording, strategy, model, prices, seed=seed, progress=progress, **settings)


def run_all(
    run: Callable[..., Curve], tasks: Sequence[tuple[str, int]], n_processes: int
) -> dict[tuple[str, int], Curve]:
    """Curves by strategy and seed, with a progress bar."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    curves: dict[tuple[str, int], Curve] = {}
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as shown:
        bar = shown.add_task("Replaying", total=len(tasks))
        # A process more than there are runs would import everything in vain.
        n_processes = min(n_processes, len(tasks))
        if n_processes == 1:  # other processes cannot tell how far they are in a run
            run = partial(run, progress=lambda share: shown.update(bar, completed=len(curves) + share))
        for task, curve in computed(run, [(task, task) for task in tasks], n_processes):
            curves[task] = curve
            shown.update(bar, completed=len(curves))
    return {task: curves[task] for task in tasks}  # in the order of the tasks, whichever was ready first


# -- telling ---------------------------------------------------------------------------------------------------------


def note_few_seeds(seeds: int) -> None:
    """Say so where chance has too large a say."""
    if seeds < ENOUGH_RUNS:
        notes.print(
            f"{seeds} {'seed is' if seeds == 1 else 'seeds are'} too few to tell what a goal costs: use --seeds "
            f"{ENOUGH_RUNS} or more, 10 to compare strategies"
        )


@dataclass(frozen=True)
class Replay:
    """What one strategy achieved: a curve for each seed, and the quality of all votes to compare with."""

    curves: Sequence[Curve]
    all_votes_jaccard: float

    @property
    def mean(self) -> Curve:
        """Mean over the seeds."""
        return mean_curve(self.curves)

    @property
    def sustained_cost(self) -> dict[float, CostOfGoal]:
        """Share of the money for each of the goals."""
        return cost_of_goals(self.curves, self.all_votes_jaccard)

    def in_percent(self, goal: float) -> str:
        """What a goal costs, in words: a run that ended before all votes were bought might have reached it later."""
        cost = self.sustained_cost[goal]
        missed = [curve.end for curve, share in zip(self.curves, cost.of_runs, strict=True) if share is None]
        return _in_percent(cost, "stopped before" if {"patience", "money"} & set(missed) else "never")

    @property
    def is_cut(self) -> bool:
        """Whether the mean ends where the first run did, while others went on."""
        ends = [curve.cost_share[-1] for curve in self.curves]
        return bool(max(ends) - min(ends) > VISIBLE)

    def as_json(self) -> dict[str, Any]:
        """All that scripts may want."""
        curve = np.column_stack([self.mean.cost_share, self.mean.jaccard]).tolist()
        costs = {
            f"{goal:.2f}": {"median": cost.median, "min": cost.least, "max": cost.most, "seeds": list(cost.of_runs)}
            for goal, cost in self.sustained_cost.items()
        }
        ends = [
            {"reason": each.end, "cost_share": each.cost_share[-1], "votes": int(each.n_votes[-1]),
             "jaccard": each.jaccard[-1]}
            for each in self.curves
        ]  # fmt: skip
        return {"all_votes_jaccard": self.all_votes_jaccard, "sustained_cost": costs, "curve": curve, "ends": ends}


def verdict(found: Replay) -> str:
    """What the quality of all votes costs, in words."""
    cost = found.sustained_cost[1.0]
    if cost.median is None:  # more than half of the runs end below the goal
        often = sum(share is not None for share in cost.of_runs)
        but = f", but for {often} of {len(cost.of_runs)} runs" if often else ""
        return f"the quality of all votes is not reached for good{but}"
    return f"same quality as all votes from {found.in_percent(1.0)} of the money on"


def show(found: Mapping[str, Replay], quality: float, n_votes: int, total: str, *, ends: bool) -> None:
    """What each strategy needed, for people; `total` is what all votes cost. ends : also where runs ended, and why."""
    screen.print(f"all {n_votes:,} votes cost {total} and reach Jaccard {quality:.4f}", soft_wrap=True)
    screen.print(result_table(found))
    for name, each in found.items():
        screen.print(f"{name}: {verdict(each)}", soft_wrap=True)
    if ends:
        show_ends(found)


# What a run had done when it ended, by reason.
ENDED = {"all": "bought all votes", "money": "spent the budget", "patience": "stopped without progress"}


def show_ends(found: Mapping[str, Replay]) -> None:
    """Where the runs of each strategy ended, and why, for people."""
    for name, each in found.items():
        for reason, text in ENDED.items():
            ended = [curve for curve in each.curves if curve.end == reason]
            if not ended:
                continue
            share = _spread(np.array([100 * curve.cost_share[-1] for curve in ended]), ".0f")
            jaccard = _spread(np.array([curve.jaccard[-1] for curve in ended]), ".4f")
            runs = f"{len(ended)} of {len(each.curves)} runs {text}"
            screen.print(f"{name}: {runs}, at {share} % of the money, with Jaccard {jaccard}", soft_wrap=True)


def _spread(values: Floats, digits: str) -> str:
    """The middle one, and where there are several, the least and the most.

    >>> _spread(np.array([31.0, 29.6, 40.0]), ".0f"), _spread(np.array([0.5]), ".2f")
    ('31 (30–40)', '0.50')
    """
    middle, least, most = (format(of(values), digits) for of in (np.median, np.min, np.max))
    return middle if least == most else f"{middle} ({least}–{most})"


def result_table(found: Mapping[str, Replay]) -> Table:
    """One row per strategy: the cost of each goal."""
    table = Table("strategy", "first votes", *(f"{100 * goal:.0f} % of it" for goal in GOALS), box=None)
    for name, each in found.items():
        first = f"{100 * each.mean.cost_share[0]:.0f} %"
        table.add_row(name, first, *map(each.in_percent, GOALS))
    return table


def _in_percent(cost: CostOfGoal, missed: str) -> str:
    """The middle run; the cheapest and the most expensive where there are several. missed : of those that miss it.

    >>> [_in_percent(CostOfGoal(of_runs), "never") for of_runs in ((0.5,), (0.3, None, 0.5), (None,))]
    ['50 %', '50 % (30 %–never)', 'never']
    """

    def text(share: float | None, unit: str = " %") -> str:
        return missed if share is None else f"{100 * share:.0f}{unit}"

    least, most = (text(share) for share in (cost.least, cost.most))
    if least == most:
        return least
    return f"{text(cost.median)} ({text(cost.least, '' if cost.most is not None else ' %')}–{most})"


def curve_rows(curves: Mapping[tuple[str, int], Curve]) -> pa.Table:
    """One row per strategy, seed and point."""

    def rows(name: str, seed: int, curve: Curve) -> pa.Table:
        same = {"strategy": [name] * len(curve.jaccard), "seed": [seed] * len(curve.jaccard)}
        votes = curve.n_votes.astype(np.int64)
        return pa.table({**same, "cost_share": curve.cost_share, "votes": votes, "jaccard": curve.jaccard})

    return pa.concat_tables([rows(*run, curve) for run, curve in curves.items()])


# -- drawing ---------------------------------------------------------------------------------------------------------

# Styles of lines, and what they look like beside a name.
LINES = {"-": "——", "--": "– –", ":": "····"}

# More strategies are drawn without the range of their seeds, which would hide the lines.
MOST_BANDS = 4

# Shares of the money that differ by less are one place in the picture.
VISIBLE = 0.01


def draw_curves(found: Mapping[str, Replay], quality: float, path: Path) -> None:
    """Quality against money: means as lines, the range of the seeds as bands, a dot at the cost of the middle one.

    Lines meet where everything is bought, so their names stand beside it in the order of what they cost.
    """
    from amcc import plotting

    # First all colours with a whole line, then again with broken ones: few strategies differ by colour alone.
    looks = [(colour, line) for line in LINES for colour in plotting.COLOURS]
    look = dict(zip(found, looks, strict=False))
    with plotting.style():
        figure, panels = plotting.canvas(1, 1, (6.4, 4.0))
        axes = panels[0, 0]
        for name, each in found.items():
            _draw_curves(axes, each, *look[name], band=len(found) <= MOST_BANDS)
        axes.text(1.02, 0.95, "● stays from", transform=axes.transAxes, color=plotting.GREY, fontsize=8)
        for rank, name in enumerate(sorted(found, key=lambda name: _cost_of_all(found[name]))):
            colour, line = look[name]
            text = f"{LINES[line]} {name}: {found[name].in_percent(1.0)}"
            axes.text(1.02, 0.89 - 0.06 * rank, text, transform=axes.transAxes, color=colour, fontsize=8)
        axes.axhline(quality, color=plotting.GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"all votes: {quality:.3f}", (0, quality), (4, 4), xycoords=("axes fraction", "data"),
            textcoords="offset points", color=plotting.GREY, fontsize=8,
        )  # fmt: skip
        axes.set_title("What quality costs; ● from here on the same as with all votes" + cut_note(found))
        axes.set_xlabel("money spent, % of what all votes cost")
        axes.set_ylabel("mean Jaccard index")
        axes.set_xlim(left=0)
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower())


def cut_note(found: Mapping[str, Replay]) -> str:
    """A second line for the title, where lines end although runs went on."""
    cut = any(each.is_cut for each in found.values())
    return "\nlines are means, and end where the first run ended" if cut else ""


def _draw_curves(axes: Axes, each: Replay, colour: str, line: str, *, band: bool) -> None:
    mean = each.mean
    share = 100 * mean.cost_share
    if band:
        of_seeds = np.array([np.interp(mean.cost_share, curve.cost_share, curve.jaccard) for curve in each.curves])
        axes.fill_between(share, of_seeds.min(axis=0), of_seeds.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    axes.plot(share, mean.jaccard, color=colour, linestyle=line)
    stays = each.sustained_cost[1.0].median
    if stays is not None:
        axes.plot(100 * stays, np.interp(stays, mean.cost_share, mean.jaccard), marker="o", color=colour, zorder=3)


def _cost_of_all(each: Replay) -> float:
    stays = each.sustained_cost[1.0].median
    return float("inf") if stays is None else stays
