"""amcc next: whom to ask about what.

The choice itself is `amcc.active.next_questions`, or with --for-expert `amcc.active.questions_for_expert`. Here options
are read, handed over, and what comes back is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc.active import buying
from amcc.active.buying import CROWD_BATCH, DEFAULT_STRATEGY
from amcc.active.prices import major_units
from amcc.active.strategies import STRATEGIES
from amcc.cli.console import busy, say
from amcc.cli.fitting import effect_as_json, tell_effect
from amcc.cli.for_expert import EXPERT_BATCH, ExpertOptions, ask_expert, check_expert_only, check_free
from amcc.cli.options.asked_votes import AskingOptions
from amcc.cli.options.features import ItemFeatures
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.prices import PriceOptions
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.stopping import StopOptions
from amcc.cli.options.truth import KnownTruth, TruthCoverage
from amcc.cli.options.votes import VotesPath
from amcc.cli.output import Json, RowsOutput, print_json
from amcc.consensus.truth_effect import truth_effect
from amcc.errors import InputError, ParameterError
from amcc.votes import Votes

# What the library calls by the names of its parameters, people gave as options.
AS_OPTIONS = {
    "workers must name": "--worker must name",
    "a price list (prices=…)": "a price list (--prices FILE)",
    "one by one (workers=[…])": "one by one (--worker NAME)",
    "the list (prices=…)": "the list (--prices)",
    "raise the budget, or lower price": "raise --budget, or lower --price",
    "target_error must": "--target-error must",
    "stop_gain must": "--stop-gain must",
}


@dataclass(frozen=True)
class ChoiceOptions(OptionGroup):
    """Who chooses, and whom."""

    strategy: Annotated[str, typer.Option(help=f"One of: {', '.join(STRATEGIES)}.")] = DEFAULT_STRATEGY
    worker: Annotated[list[str] | None, typer.Option(help="Ask only this worker. May be repeated.")] = None


def next_questions(
    *,
    path: VotesPath,
    budget: Annotated[
        str | None, typer.Option(help="What all questions together may cost. Needed, but for --for-expert.")
    ] = None,
    money: PriceOptions,
    batch: Annotated[
        int | None,
        typer.Option(
            help=f"At most so many questions; then come back with the answers. Default: {CROWD_BATCH}; with "
            f"--for-expert {EXPERT_BATCH}."
        ),
    ] = None,
    expert: ExpertOptions,
    truth: KnownTruth = None,
    coverage: TruthCoverage,
    choice: ChoiceOptions,
    stop: StopOptions,
    described: ItemFeatures,
    roster: WorkersFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also what the utility was made of.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Decides between questions that are equally good.")] = 0,
    rows: RowsOutput,
    as_json: Json = False,
    reading: AskingOptions,
) -> None:
    """Choose the questions that help most for the money; writes item,label,worker,price,utility,why.

    Everybody can be asked who has voted or is in the price list. Before the first vote, a table without a row will do,
    and --items, --labels and --prices (or --worker) say what there is. Nobody is asked about what --truth says.

    With --for-expert, it chooses the pairs whose true answer says most about how to read the crowd, and writes
    item,label,probability,why. Your answers go into a table item,label,truth, to be handed back with --truth.
    """
    votes, known = reading.read(path), coverage.read_if_named(truth)
    if expert.for_expert:
        # An option that changes nothing was meant to change something: better to say so than to ignore it.
        check_free({"--budget": budget, **_given(money, choice, described), **_rules(stop), "--explain": explain})
        listed = listed_workers(roster, votes.worker_names)
        told = ask_expert(votes, known, listed, EXPERT_BATCH if batch is None else batch, expert, seed)
    else:
        check_expert_only(expert)
        if budget is None:
            raise ParameterError(
                "--budget must say what all questions may cost; only questions to yourself (--for-expert) do without."
            )
        wanted = {"budget": budget, "batch": CROWD_BATCH if batch is None else batch, "truth": known, "seed": seed}
        told = ask_crowd(votes, money, choice, stop, described, roster, wanted, explain=explain)
    if as_json:
        print_json(told[1])
    if rows.is_wanted_beside(as_json):
        rows.write(told[0])
    say(*told[2])


def _given(money: PriceOptions, choice: ChoiceOptions, described: ItemFeatures) -> dict[str, Any]:
    """Options about the crowd, and whether they say something else than their default."""
    chosen = {"--worker": choice.worker, "--strategy": choice.strategy != DEFAULT_STRATEGY}
    paid = {"--prices": money.prices, "--price": money.price, "--decimals": money.decimals}
    return {**paid, **chosen, "--features": described.features, "--features-items": described.features_items}


def _rules(stop: StopOptions) -> dict[str, Any]:
    """Options about when to stop."""
    return {"--target-error": stop.target_error, "--stop-gain": stop.stop_gain}


def ask_crowd(
    votes: Votes, money: PriceOptions, choice: ChoiceOptions, stop: StopOptions, described: ItemFeatures,
    roster: Path | None, wanted: dict[str, Any], *, explain: bool,
) -> tuple[pa.Table, dict[str, Any], list[str]]:  # fmt: skip
    """Rows, JSON and sentences about what the crowd should be asked next.

    wanted : arguments of `amcc.active.next_questions` that are as people gave them.
    """
    # Before files are read, and before anything is noted about what stands in them.
    buying.checked_strategy(choice.strategy, features=described.features is not None, roster=roster is not None)
    with called_as_options():
        listed = money.listed()
        # The library would add them, too; here they are needed for notes about them and about the roster.
        n_before = votes.n_workers
        votes = buying.with_people(votes, listed, choice.worker or (), newcomers=money.by_eq12 is not None)
        if money.by_eq12 and n_before:
            say(*newcomers(votes.worker_names[n_before:].to_pylist()))
        wanted |= {"roster": listed_workers(roster, votes.worker_names), "features": described.read(votes)}
        wanted |= {"prices": money.by_eq12 or listed, "price": money.of_others, "decimals": money.decimals}
        wanted |= stop.rules()
        with busy(f"Choosing after {len(votes):,} votes"):
            found = buying.next_questions(votes, strategy=choice.strategy, workers=choice.worker, **wanted)
    # Before the first vote there is no model, and truth has changed nothing yet.
    effect = None if found.model is None else truth_effect(found.model, votes)
    tell_effect(effect)
    rows = found.table("arrow", explain=explain)
    amounts = {"budget": found.amount(found.budget), "cost": found.amount(found.cost)}
    as_json = {"strategy": choice.strategy, **amounts, "questions": rows.to_pylist(), **effect_as_json(effect)}
    sentences, foreseen = stop.outlook(found)
    spent = f"{major_units(found.cost, money.decimals)} of {major_units(found.budget, money.decimals)}"
    chosen = [] if found.stopped else [summary(len(found), found.n_worthless, spent)]
    return rows, as_json | foreseen | {"stopped": found.stopped}, [*chosen, *sentences]


def newcomers(names: list[str]) -> list[str]:
    """A sentence about those whom only --worker names, if there are any: a slip must be noticed.

    >>> newcomers(["zoe"]), newcomers([])
    (["'zoe' has not voted: a newcomer, who costs the mean of the others"], [])
    """
    return [f"{name!r} has not voted: a newcomer, who costs the mean of the others" for name in names]


@contextmanager
def called_as_options() -> Iterator[None]:
    """Errors of the library speak of its parameters; here they speak of options."""
    try:
        yield
    except (InputError, ParameterError) as error:
        text = str(error)
        for parameter, option in AS_OPTIONS.items():
            text = text.replace(parameter, option)
        raise type(error)(text) from None  # of the same kind, as that decides the exit code


def summary(n_questions: int, n_worthless: int, spent: str) -> str:
    """What was chosen, in a line.

    >>> summary(3, 1, "6 of 20")
    '3 questions for 6 of 20; nothing is expected of 1 of them (utility 0): rather keep that money'
    """
    if not n_questions:
        return "no question is left: everybody who can be asked has answered everything"
    warning = f"; nothing is expected of {n_worthless} of them (utility 0): rather keep that money" * bool(n_worthless)
    return f"{n_questions} question{'s' * (n_questions > 1)} for {spent}{warning}"
