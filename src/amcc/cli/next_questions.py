"""amcc next: whom to ask about what. The choice itself is `amcc.active.next_questions`; here options are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc import tables
from amcc.active import buying
from amcc.active.buying import CROWD_BATCH, DEFAULT_STRATEGY
from amcc.active.prices import major_units
from amcc.cli.common import (
    busy,
    described_items,
    effect_as_json,
    listed_workers,
    load_votes,
    reading_votes,
    tell_effect,
)
from amcc.cli.for_expert import EXPERT_BATCH, ExpertOptions, ask_expert, check_expert_only, check_free
from amcc.cli.option_groups import grouped
from amcc.cli.paths import READS
from amcc.cli.question_options import ChoiceOptions, OutputOptions, PriceOptions, TruthOptions
from amcc.consensus.truth_effect import truth_effect
from amcc.errors import EmptyInputError, InputError, ParameterError
from amcc.io import FORMATS, naming, read_ids, read_table
from amcc.truth import Truth
from amcc.votes import Votes

MoreItems = Annotated[
    Path | None, typer.Option(help="Table with a column item: further items, which nobody was asked about."), READS
]
MoreLabels = Annotated[
    str | None,
    typer.Option(help="Further labels, which nobody was asked about: names separated by commas, or a file of them."),
    READS,
]

# What the library calls by the names of its parameters, people gave as options.
AS_OPTIONS = {
    "workers must name": "--worker must name",
    "a price list (prices=…)": "a price list (--prices FILE)",
    "one by one (workers=[…])": "one by one (--worker NAME)",
    "the list (prices=…)": "the list (--prices)",
}

# -- the command -----------------------------------------------------------------------------------------------------


def votes_if_any(path: Path, reading: Mapping[str, Any]) -> Votes:
    """Votes as `load_votes` reads them, or none, with the items and labels that are named beside."""
    items = [] if reading["items"] is None else names_in(reading["items"], "item")
    labels = [] if reading["labels"] is None else listed_labels(reading["labels"])
    try:
        # Where answers deny what they do not mention, everybody was asked about every label of the list.
        mentionable = labels if labels and reading["unmentioned"] == "absent" else None
        votes = load_votes(path, {**reading, "items": None, "labels": mentionable})
    except EmptyInputError:
        if read_table(path, separator=reading["separator"]).num_rows:
            raise  # rows without a value are a mistake, no table before the first vote
        votes = buying.nothing_known()
    votes = buying.with_names(buying.with_names(votes, "item", items), "label", labels)
    if not votes.n_items or not votes.n_labels:
        raise EmptyInputError(
            f"{path} holds no vote, so it must be said what can be asked: --items FILE (a table with a column item) "
            "and --labels a,b,c."
        )
    return votes


@reading_votes(votes_if_any, items=MoreItems, labels=MoreLabels)
@grouped
def next_questions(
    votes: Votes,
    *,
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
    known: TruthOptions,
    choice: ChoiceOptions,
    target: OutputOptions,
) -> None:
    """Choose the questions that help most for the money; writes item,label,worker,price,utility,why.

    Everybody can be asked who has voted or is in the price list. Before the first vote, a table without a row will do,
    and --items, --labels and --prices (or --worker) say what there is. Nobody is asked about what --truth says.

    With --for-expert, it chooses the pairs whose true answer says most about how to read the crowd, and writes
    item,label,probability,why. Your answers go into a table item,label,truth, to be handed back with --truth.
    """
    truth = known.read()
    if expert.for_expert:
        check_free(given_for_the_crowd(budget, money, choice))
        roster = listed_workers(choice.roster, votes.worker_names)
        told = ask_expert(votes, truth, roster, EXPERT_BATCH if batch is None else batch, expert, choice.seed)
    else:
        check_expert_only(expert)
        if budget is None:
            raise ParameterError(
                "--budget must say what all questions may cost; only questions to yourself (--for-expert) do without."
            )
        told = ask_crowd(votes, budget, money, CROWD_BATCH if batch is None else batch, truth, choice)
    target.write(*told)


next_questions.__name__ = "next"  # of the command; in Python it would hide the function


def given_for_the_crowd(budget: str | None, money: PriceOptions, choice: ChoiceOptions) -> list[str]:
    """Options that were given and change nothing where nobody is paid."""
    given: dict[str, object] = {"--budget": budget, "--prices": money.prices, "--price": money.price}
    given |= {"--decimals": money.decimals, "--worker": choice.worker, "--explain": choice.explain}
    given |= {"--features": choice.features, "--features-items": choice.features_items}
    given |= {"--strategy": choice.strategy != DEFAULT_STRATEGY}
    return [name for name, value in given.items() if value]


def ask_crowd(
    votes: Votes, budget: str, money: PriceOptions, batch: int, truth: Truth | None, choice: ChoiceOptions
) -> tuple[pa.Table, dict[str, Any], str]:
    """Rows, JSON and a sentence about what the crowd should be asked next."""
    # Before files are read, and before anything is noted about what stands in them.
    buying.checked_strategy(choice.strategy, features=choice.features is not None, roster=choice.roster is not None)
    with called_as_options():
        listed = money.listed()
        votes = buying.with_people(votes, listed, choice.worker or ())
        roster = listed_workers(choice.roster, votes.worker_names)
        features = described_items(votes, choice.features, choice.features_items)
        with busy(f"Choosing after {len(votes):,} votes"):
            found = buying.next_questions(
                votes, budget=budget, prices=listed, price=money.of_others, decimals=money.decimals, batch=batch,
                strategy=choice.strategy, workers=choice.worker, truth=truth, features=features, roster=roster,
                seed=choice.seed,
            )  # fmt: skip
    effect = None if found.model is None else truth_effect(found.model, votes)
    tell_effect(effect)
    rows = found.table("arrow", explain=choice.explain)
    amounts = {"budget": found.amount(found.budget), "cost": found.amount(found.cost)}
    as_json = {"strategy": choice.strategy, **amounts, "questions": rows.to_pylist(), **effect_as_json(effect)}
    spent = f"{major_units(found.cost, money.decimals)} of {major_units(found.budget, money.decimals)}"
    return rows, as_json, summary(len(found), found.n_worthless, spent)


@contextmanager
def called_as_options() -> Iterator[None]:
    """Errors of the library speak of its parameters; here they speak of options."""
    try:
        yield
    except InputError as error:
        text = str(error)
        for parameter, option in AS_OPTIONS.items():
            text = text.replace(parameter, option)
        raise type(error)(text) from None


def summary(n_questions: int, n_worthless: int, spent: str) -> str:
    """What was chosen, in a line.

    >>> summary(3, 1, "6 of 20")
    '3 questions for 6 of 20; nothing is expected of 1 of them (utility 0): rather keep that money'
    """
    if not n_questions:
        return "no question is left: everybody who can be asked has answered everything"
    warning = f"; nothing is expected of {n_worthless} of them (utility 0): rather keep that money" * bool(n_worthless)
    return f"{n_questions} question{'s' * (n_questions > 1)} for {spent}{warning}"


# -- names of items and labels ---------------------------------------------------------------------------------------


def listed_labels(text: str) -> Sequence[Any]:
    """Labels from what a person writes: a file of them, or names separated by commas."""
    if is_file_name(text):
        return names_in(Path(text), "label")
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError(f"--labels must name a label or a file; got {text!r}.")
    return names


def is_file_name(text: str) -> bool:
    """Whether it is meant as a file: it is one, or one of that kind is misspelt."""
    suffixes = tuple(suffix for kind in FORMATS for suffix in kind.suffixes)
    return os.path.isfile(text) or (  # noqa: PTH113  # pathlib raises where text is too long for a name
        "," not in text and text.lower().endswith(suffixes)
    )


def names_in(path: Path, role: tables.Role) -> Sequence[Any]:
    """Items or labels of a table with a column for them, or of a .txt file with one name per line."""
    if path.suffix.lower() == ".txt":
        return read_ids(path)
    table = read_table(
        path, lambda columns: list(tables.match_columns(columns, needed=(role,), roles=(role,)).values())
    )
    with naming(path):
        names: list[Any] = tables.encode_ids(table.column(0), role, table.column_names[0]).names.to_pylist()
    return names
