"""amcc replay: what would it have cost?

One run is `amcc.active.replay.replay`. Here every strategy is run with every seed, in several processes; what the runs
say together is told by `replay_results`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from amcc import metrics, tables
from amcc.active import STRATEGIES, Curve, Learner, Prices, first_votes, usual_batch
from amcc.active.buying import DEFAULT_STRATEGY, check_batch, checked_strategy
from amcc.active.curves import ENOUGH_RUNS, Replay
from amcc.active.pool import PoolLimits, refused_share
from amcc.active.prices import budget_units, eq12_prices, prices_by_kind
from amcc.active.replay import PricesNow, Recording, Start, as_prices_now
from amcc.active.replay import replay as replayed
from amcc.active.stopping import check_patience
from amcc.active.strategies import make_strategy
from amcc.arrays import Floats
from amcc.cli.console import busy, notes
from amcc.cli.fitting import DEFAULT_METHOD
from amcc.cli.options.features import ItemFeatures
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.prices import PriceOptions
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import TruthCoverage, TruthPath
from amcc.cli.options.votes import ReadingOptions, VotesPath
from amcc.cli.output import Json, print_json
from amcc.cli.paths import PICTURE, TABLE
from amcc.cli.replay_results import BestMethod, Outcome, curve_rows, draw_curves, note_few_seeds, show
from amcc.consensus import ConsensusModel, make_model
from amcc.data import thinned
from amcc.errors import ConvergenceWarning, EmptyInputError, InputError, ParameterError
from amcc.io import write_table
from amcc.processes import computed
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes

# Methods that take seconds on 100,000 votes and need nothing but them: by default the best of these is told as well.
QUICK_METHODS = "majority,dawid-skene,ds-tree,ibcc,ebcc,mace,mcmli,c-ds"


@dataclass(frozen=True)
class CurveOutput(OptionGroup):
    """What is done with the curves, beside what is printed."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write strategy,seed,cost_share,votes,jaccard."), TABLE
    ] = None
    plot: Annotated[Path | None, typer.Option(help="Also draw the curves: .png, .svg or .pdf."), PICTURE] = None

    def keep(self, curves: Mapping[tuple[str, int], Curve], outcome: Outcome) -> None:
        """Write and draw the curves where that was asked for."""
        if self.output is not None:
            write_table(curve_rows(curves), self.output)
            notes.print(f"wrote the curves to {self.output}")
        if self.plot is not None:
            draw_curves(outcome, self.plot)
            notes.print(f"drew the curves in {self.plot}")


Batch = Annotated[int | None, typer.Option(help="Questions asked at a time. Default: about 1 % of the votes.")]
Patience = Annotated[
    int | None,
    typer.Option(help="Stop after so many batches in which the error that the model expects reached no new low."),
]
Answers = Annotated[
    int | None,
    typer.Option(min=1, help="First thin the votes to so many random answers per item, others with every seed."),
]
BestOf = Annotated[
    str,
    typer.Option(help="Methods that are also fitted to all votes, separated by commas, or none: how good is the best?"),
]


def replay(
    *,
    path: VotesPath,
    truth: TruthPath,
    strategy: Annotated[
        str, typer.Option(help=f"What to compare, separated by commas: {', '.join(STRATEGIES)}.")
    ] = DEFAULT_STRATEGY,
    against: Annotated[
        str | None, typer.Option(help="The strategy that the others are compared with. Default: the first.")
    ] = None,
    money: PriceOptions,
    budget: Annotated[
        str | None, typer.Option(help="Stop when it is spent. Default: when all votes are bought.")
    ] = None,
    patience: Patience = None,
    seeds: Annotated[int, typer.Option(help="Runs of each strategy, which differ by chance.")] = ENOUGH_RUNS,
    coverage: TruthCoverage,
    roster: WorkersFile = None,
    answers: Answers = None,
    best_of: BestOf = QUICK_METHODS,
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
    the cheapest and the most expensive stand beside it. The area is the mean quality over all the money. Strategies are
    compared seed by seed, with 95 % intervals of the mean difference.
    """
    votes, names = reading.read(path), strategy_names(strategy)
    check_runs(names, seeds, batch, patience, described)
    reference, others, first = named_reference(against, names), method_names(best_of), parse_start(start)
    limit = None if budget is None else budget_units(budget, money.decimals)
    recording = recorded(votes, coverage.read(truth))
    before = first_prices(votes, money)
    settings: dict[str, Any] = {"start": first, "batch": batch, "budget": limit, "patience": patience}
    settings |= {"features": described.read(votes), "roster": listed_workers(roster, votes.worker_names)}
    prices = PricesByEq12(money) if money.by_eq12 else before.vote.astype(np.float64)
    parts = parts_of(recording, answers, seeds)
    check_start(parts, before, first, limit, seeds)
    lots = [all_votes(part, prices, others, settings["roster"]) for part in parts]
    curves, outcome = run_and_compare(lots, prices, settings, names, reference, seeds, processes)
    target.keep(curves, outcome)
    total = before.text(round(sum(lot.cost for lot in lots) / len(lots)))
    seats = None if settings["roster"] is None else settings["roster"].seats(votes.worker_names)
    if as_json:
        print_json(outcome.as_json(seats))
    else:
        show(outcome, len(lots[0].recording.votes), total, seats, ends=limit is not None or patience is not None)


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


def named_reference(text: str | None, names: Sequence[str]) -> str:
    """The strategy to compare with, which must be among those that are run."""
    if text is not None and text not in names:
        raise ParameterError(f"--against must be one of the strategies, {', '.join(names)}; got {text!r}.")
    return names[0] if text is None else text


def method_names(text: str) -> list[str]:
    """Methods that are separated by commas; each must be known. `none` is none."""
    names = [] if text.strip() == "none" else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        make_model(name)
    return [name for name in dict.fromkeys(names) if name != DEFAULT_METHOD]


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


def parts_of(recording: Recording, answers: int | None, seeds: int) -> list[Recording]:
    """The recording itself; or, thinned to so many answers per item, one for each seed."""
    if answers is None:
        return [recording]
    return [replace(recording, votes=thinned(recording.votes, answers, seed)) for seed in range(seeds)]


def check_start(parts: Sequence[Recording], prices: Prices, start: Start, money: int | None, seeds: int) -> None:
    """Raise InputError where the budget does not even pay for what is bought first."""
    if money is None:
        return
    # The seeds are those of the runs: what they will buy first is known now.
    votes = [parts[seed % len(parts)].votes for seed in range(seeds)]
    first = [first_votes(each, start, np.random.default_rng(seed)) for seed, each in enumerate(votes)]
    cost = max(int(prices.vote[each.worker[bought]].sum()) for each, bought in zip(votes, first, strict=True))
    if cost > money:
        raise InputError(
            f"the budget must pay for what is bought first, {prices.text(cost)}; got {prices.text(money)}. Raise it, "
            "or start with less (--start none)."
        )


# -- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lot:
    """What is for sale: a recording, what all of it costs, and the quality that methods make of all of it.

    quality : mean Jaccard index by method, the default first.
    """

    recording: Recording
    cost: int
    quality: Mapping[str, float]


def all_votes(recording: Recording, prices: Floats | PricesNow, methods: Sequence[str], roster: Roster | None) -> Lot:
    """The recording with what all its votes cost, at the prices after them by the default, and how good they are."""
    votes = recording.votes
    fitted: dict[str, ConsensusModel] = {}
    for name in (DEFAULT_METHOD, *methods):
        model = make_model(name)
        with busy(f"Fitting {name} to {len(votes):,} votes"), without_warnings():
            fitted[name] = model.fit(votes, roster=roster if model.uses_roster else None)
    quality = {
        name: metrics.jaccard(recording.truth, model.predict_proba() > 0.5, recording.known)
        for name, model in fitted.items()
    }
    # One sum for all strategies, though by eq12 each pays by its own model: their shares can then be compared.
    cost = int(as_prices_now(prices)(fitted[DEFAULT_METHOD], votes)[votes.worker].sum())
    return Lot(recording, cost, quality)


def of_seeds(lots: Sequence[Lot], seeds: int) -> list[float]:
    """(n_seeds,) the quality of all votes that the default makes of them."""
    return [lots[seed % len(lots)].quality[DEFAULT_METHOD] for seed in range(seeds)]


def best_method(lots: Sequence[Lot]) -> BestMethod:
    """The method whose quality with all votes is best, on the mean over the lots; the default where none is better."""
    mean = {name: float(np.mean([lot.quality[name] for lot in lots])) for name in lots[0].quality}
    name = max(mean, key=lambda each: mean[each])  # of equals the first, which is the default
    return BestMethod(name, [lot.quality[name] for lot in lots], mean)


def run_once(
    lots: Sequence[Lot],
    prices: Floats | PricesNow,
    settings: Mapping[str, Any],
    name: str,
    seed: int,
    progress: Callable[[float], object] = lambda share: None,
) -> Curve:
    """One strategy with one seed; `settings` are those of `amcc.active.replay.replay`. lots : one, or one per seed."""
    strategy, lot = make_strategy(name), lots[seed % len(lots)]
    model = partial(make_model, strategy.model)
    with without_warnings():
        return replayed(
            lot.recording, strategy, model, prices, seed=seed, progress=progress, total=float(lot.cost), **settings
        )


def wished(lot: Lot, prices: Floats | PricesNow, settings: Mapping[str, Any], name: str) -> float | None:
    """Of the questions that a strategy would ask after the first votes, the share that the pool refuses."""
    strategy, votes, rng = make_strategy(name), lot.recording.votes, np.random.default_rng(0)
    roster = settings["roster"] if make_model(strategy.model).uses_roster else None
    learner = Learner(partial(make_model, strategy.model), features=settings["features"], roster=roster)
    first = first_votes(votes, settings["start"], rng)
    price = as_prices_now(prices)(None, votes.select(np.zeros_like(first)))
    with without_warnings():
        return refused_share(votes, first, strategy, learner, price, settings["batch"] or usual_batch(votes), rng)


def without_warnings() -> Any:
    """Of models that are fitted again soon, or only for comparison."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


def run_and_compare(
    lots: Sequence[Lot], prices: Floats | PricesNow, settings: Mapping[str, Any], names: Sequence[str], reference: str,
    seeds: int, processes: int,
) -> tuple[dict[tuple[str, int], Curve], Outcome]:  # fmt: skip
    """Curves by strategy and seed, and what they say together."""
    run = partial(run_once, lots, prices, settings)
    curves = run_all(run, [(name, seed) for name in names for seed in range(seeds)], processes or os.cpu_count() or 1)
    found = {name: Replay([curves[name, seed] for seed in range(seeds)], of_seeds(lots, seeds)) for name in names}
    note_few_seeds(seeds)
    wishes = {name: wished(lots[0], prices, settings, name) for name in names}
    return curves, Outcome(found, reference, best_method(lots), PoolLimits.of(lots[0].recording.votes), wishes)


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
