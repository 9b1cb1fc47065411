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
from amcc.active.accounts import Account
from amcc.active.buying import CROWD_BATCH, DEFAULT_STRATEGY
from amcc.active.plan import plan_lines
from amcc.active.prices import major_units
from amcc.active.strategies import STRATEGIES
from amcc.cli.console import busy, notes, say
from amcc.cli.fitting import ModelChoice, effect_as_json, exclusive_as_json, tell_effect, tell_exclusive, tell_reference
from amcc.cli.for_expert import EXPERT_BATCH, ExpertOptions, ask_expert, check_expert_only, check_free
from amcc.cli.options.asked_votes import AskingOptions
from amcc.cli.options.exclusive import Exclusive, exclusive_groups
from amcc.cli.options.features import ItemFeatures
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.ledger import LedgerOptions, amounts, tell_balance
from amcc.cli.options.prices import KindPriceOptions, PriceOptions
from amcc.cli.options.roster import ReferenceOption, WorkersFile, listed_workers, reference_of
from amcc.cli.options.stopping import StopOptions
from amcc.cli.options.truth import KnownTruth, TruthCoverage
from amcc.cli.options.votes import VotesPath
from amcc.cli.output import Json, RowsOutput, print_json
from amcc.cli.paths import FILE
from amcc.consensus.truth_effect import truth_effect
from amcc.errors import InputError, OutOfMoneyError, ParameterError
from amcc.exports.label_studio import tasks_to_ask, write_json
from amcc.io import Export
from amcc.votes import Votes

# What the library calls by the names of its parameters, people gave as options.
AS_OPTIONS = {
    "workers must name": "--worker must name",
    "a price list (prices=…)": "a price list (--prices FILE)",
    "one by one (workers=[…])": "one by one (--worker NAME)",
    "the list (prices=…)": "the list (--prices)",
    "raise the budget, or lower price": "raise --budget, or lower --price",
    "Give a budget, which begins": "Give --budget, which begins",
    "budget must be the ledger's own": "--budget must be the ledger's own",
    "use change_budget(": "use --change-budget (",
    "More money: change_budget": "More money: --change-budget",
    "are awaited (release)": "are awaited (--release gives them up)",
    "the items (items=…)": "--items",
    "the labels (labels=…)": "--labels",
    "give up what waits (release)": "give up what waits (--release)",
    "decimals must be": "--decimals must be",
    "batch must be": "--batch must be",
    "Release questions that wait": "Give up questions that wait (--release)",
    "a roster (roster=…)": "a workers file (--workers FILE)",
    "in the roster": "in the workers file",
    "kind_prices": "--kind-price",
    "(me=…)": "(--me NAME)",
    "(truth=…)": "(--truth FILE)",
    "my_price has no place in an account": "--my-price has no place beside --ledger",
    "without account.": "without --ledger.",
    "target_error must": "--target-error must",
    "stop_gain must": "--stop-gain must",
    "strategy must be one of": "--strategy must be one of",
    "the default price must": "--price must",
    "Raise the budget: that": "Raise --budget: that",
    "give a default price": "give a default price (--price)",
}

# Answers of the requester are known truth, which is believed; votes are weighed.
HAND_BACK = (
    "{n} question{s} for you: put your answers in a table item,label,truth (yes or no) and hand it back with --truth "
    "FILE, not as votes"
)


TASKS_HELP = (
    "Also write the questions as tasks of Label Studio (.json): data.ask are the labels to offer, data.ask_for is the "
    "worker, data.priority the order."
)

Budget = Annotated[
    str | None,
    typer.Option(
        help="What all questions together may cost; with --ledger, those of all calls. Needed, but for --for-expert, "
        "and where the ledger has it."
    ),
]


@dataclass(frozen=True)
class ChoiceOptions(OptionGroup):
    """Who chooses, and whom."""

    strategy: Annotated[str, typer.Option(help=f"One of: {', '.join(STRATEGIES)}.")] = DEFAULT_STRATEGY
    worker: Annotated[list[str] | None, typer.Option(help="Ask only this worker. May be repeated.")] = None


def next_questions(
    *,
    path: VotesPath,
    budget: Budget = None,
    account: LedgerOptions,
    money: PriceOptions,
    kinds: KindPriceOptions,
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
    exclusive: Exclusive = None,
    reference: ReferenceOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also what the utility was made of.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Decides between questions that are equally good.")] = 0,
    rows: RowsOutput,
    tasks: Annotated[Path | None, typer.Option(help=TASKS_HELP), FILE] = None,
    as_json: Json = False,
    reading: AskingOptions,
) -> None:
    """Choose the questions that help most for the money; writes item,label,worker,price,utility,why.

    Everybody can be asked who has voted or is in the price list. Before the first vote, a table without a row will do,
    and --items, --labels and --prices (or --worker) say what there is. Nobody is asked about what --truth says.

    With --for-expert, it chooses the pairs whose true answer says most about how to read the crowd, and writes
    item,label,probability,why. Your answers go into a table item,label,truth, to be handed back with --truth.
    """
    export = reading.export(path)
    votes, known = export.votes, coverage.read_if_named(truth, export.truth)
    if expert.for_expert:
        check_not_about_crowd(budget, account, money, kinds, choice, stop, described, explain=explain)
        listed = listed_workers(roster, votes.worker_names, export.roster)
        model = ModelChoice(exclusive=exclusive, reference=reference)
        told = ask_expert(votes, known, listed, EXPERT_BATCH if batch is None else batch, expert, model, seed)
    else:
        check_expert_only(expert)
        check_budget(budget, account)
        wanted = {"batch": CROWD_BATCH if batch is None else batch, "truth": known, "seed": seed, **kinds.arguments()}
        wanted |= {"exclusive": exclusive_groups(exclusive), "reference": reference_of(reference)}
        with called_as_options(), account.opened(votes, budget, money.decimals) as kept:
            if kept is not None and account.waiting:
                told = ask_again(kept)
            else:
                wanted |= _further(export, choice, stop) | ({"budget": budget} if kept is None else {"account": kept})
                told = ask_crowd(votes, money, choice, stop, described, roster, wanted, explain=explain)
    _tell(told, rows, tasks, export.texts, as_json=as_json)


def _tell(
    told: tuple[pa.Table, dict[str, Any], list[str]], rows: RowsOutput, tasks: Path | None, texts: pa.Table,
    *, as_json: bool,
) -> None:  # fmt: skip
    """Write what was found: tasks, rows, JSON, sentences."""
    if tasks is not None:
        write_tasks(told[0], tasks, texts)
    if as_json:
        print_json(told[1])
    if rows.is_wanted_beside(as_json):
        rows.write(told[0])
    say(*told[2])


def write_tasks(questions: pa.Table, path: Path, texts: pa.Table) -> None:
    """Write questions as tasks of Label Studio; those to yourself have no worker, and are for everybody."""
    known = dict(zip(texts["item"].to_pylist(), texts["text"].to_pylist(), strict=True))
    worker = questions["worker"].to_pylist() if "worker" in questions.column_names else [""] * questions.num_rows
    asked = zip(questions["item"].to_pylist(), questions["label"].to_pylist(), worker, strict=True)
    found = tasks_to_ask(((str(item), str(label), str(who)) for item, label, who in asked), known)
    write_json(path, found)
    notes.print(f"wrote {len(found):,} tasks for Label Studio to {path}")


def _further(export: Export, choice: ChoiceOptions, stop: StopOptions) -> dict[str, Any]:
    """When to stop, and what an export says about its workers: strategies other than the default do not look at it."""
    return {**stop.rules(), **({"roster": export.roster} if choice.strategy == DEFAULT_STRATEGY else {})}


def check_budget(budget: str | None, account: LedgerOptions) -> None:
    """Raise ParameterError where nothing says what questions may cost."""
    if budget is None and account.ledger is None:
        raise ParameterError(
            "--budget must say what all questions may cost; only questions to yourself (--for-expert) do without."
        )


def check_not_about_crowd(
    budget: str | None, account: LedgerOptions, money: PriceOptions, kinds: KindPriceOptions, choice: ChoiceOptions,
    stop: StopOptions, described: ItemFeatures, *, explain: bool,
) -> None:  # fmt: skip
    """Raise an error where an option about the crowd is given beside --for-expert.

    An option that changes nothing was meant to change something: better to say so than to ignore it.
    """
    paid = {"--prices": money.prices, "--price": money.price, "--decimals": money.decimals, **kinds.given()}
    chosen = {"--worker": choice.worker, "--strategy": choice.strategy != DEFAULT_STRATEGY, "--explain": explain}
    stopping = {"--target-error": stop.target_error, "--stop-gain": stop.stop_gain}
    by_features = {"--features": described.features, "--features-items": described.features_items}
    check_free({"--budget": budget, **account.given, **stopping, **paid, **chosen, **by_features})


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
        wanted |= {
            "roster": listed_workers(roster, votes.worker_names, wanted.get("roster")),
            "features": described.read(votes),
        }
        wanted |= {"prices": money.by_eq12 or listed, "price": money.of_others, "decimals": money.decimals}
        if wanted["kind_prices"]:  # who says what some kinds cost has forgotten the others, unless there is --price
            wanted["price"] = money.price
        with busy(f"Choosing after {len(votes):,} votes"):
            found = buying.next_questions(votes, strategy=choice.strategy, workers=choice.worker, **wanted)
    # Before the first vote there is no model, and truth has changed nothing yet.
    effect = None if found.model is None else truth_effect(found.model, votes)
    single = None
    if found.model is not None:
        tell_reference(found.model)
        tell_exclusive(found.model)
        single = exclusive_as_json(found.model)
    tell_effect(effect)
    rows = found.table("arrow", explain=explain)
    spent = {"budget": found.amount(found.budget), "cost": found.amount(found.cost)}
    plan = found.plan()
    as_json = {
        "strategy": choice.strategy, **spent, "questions": rows.to_pylist(),
        "plan": [each.as_json(found.votes, found.prices) for each in plan], "exclusive": single,
        "reference": None if found.model is None else found.model.reference_sentence_ or None, **effect_as_json(effect),
    }  # fmt: skip
    told = f"{major_units(found.cost, money.decimals)} of {major_units(found.budget, money.decimals)}"
    # Without a roster and without yourself there is nobody to choose between: the table says it all.
    whom = plan_lines(plan, found.votes, found.prices) if found.roster or wanted["my_price"] is not None else []
    back = [HAND_BACK.format(n=found.n_mine, s="s" * (found.n_mine > 1))] if found.n_mine else []
    sentences, foreseen = stop.outlook(found)
    as_json |= foreseen | {"stopped": found.stopped}
    if kept := wanted.get("account"):
        as_json["account"] = amounts(kept)
        tell_balance(kept)
    chosen = [] if found.stopped else [summary(len(found), found.n_worthless, told)]
    return rows, as_json, [*chosen, *sentences, *whom, *back]


def ask_again(account: Account) -> tuple[pa.Table, dict[str, Any], list[str]]:
    """Rows, JSON and a sentence about the questions that wait for an answer."""
    rows = account.waiting("arrow")
    account.save()
    tell_balance(account)
    return (
        rows,
        {"questions": rows.to_pylist(), "account": amounts(account)},
        [f"{len(rows):,} questions wait for an answer"],
    )


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
    except (InputError, ParameterError, OutOfMoneyError) as error:
        text = str(error)
        for parameter, option in AS_OPTIONS.items():
            text = text if option in text else text.replace(parameter, option)  # which may have been done already
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
