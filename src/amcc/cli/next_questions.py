"""amcc next: whom to ask about what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from amcc import tables
from amcc.active.beliefs import CurrentBeliefs, Learner
from amcc.active.candidates import Anything
from amcc.active.expert import DRAWN
from amcc.active.prices import Money, Prices, major_units, minor_units, read_price_list
from amcc.active.questions import Questions, Triplets
from amcc.active.strategies import STRATEGIES, check_features_used
from amcc.active.strategies.baselines import Uniform
from amcc.active.strategies.common import votes_on_pairs
from amcc.active.strategies.voi import ValueOfInformation
from amcc.active.strategy import Strategy
from amcc.arrays import Ints, Mask
from amcc.cli.common import (
    Features,
    FeaturesItems,
    Json,
    KnownItems,
    KnownPairs,
    KnownTruth,
    Output,
    SafeCsv,
    TruthUnmentioned,
    WorkersFile,
    busy,
    described_items,
    effect_as_json,
    known_truth,
    listed_workers,
    load_votes,
    notes,
    print_json,
    reading_votes,
    tell_effect,
    write_rows,
)
from amcc.cli.for_expert import EXPERT_BATCH, ask_expert, check_free
from amcc.cli.paths import READS
from amcc.consensus import make_model
from amcc.consensus.truth_effect import truth_effect
from amcc.errors import EmptyInputError, InputError, ParameterError
from amcc.io import FORMATS, naming, read_ids, read_table
from amcc.truth import positions
from amcc.votes import Votes

DEFAULT_STRATEGY = "voi"

CROWD_BATCH = 100
"""Questions at a time: a crowd answers many between two looks at what it said."""

INFORMATIVE, FAIRLY_INFORMATIVE = 0.5, 0.2
"""How much more often a worker says yes where the label is present, to be called so."""

BY_CHANCE = 2.0
"""Chance chose where the skill that it drew makes an answer worth this many times what the expected skill does: from
here on, most of the reason is the draw. The worth of an answer goes with the square of the skill."""

PriceList = Annotated[Path | None, typer.Option("--prices", help="Price list: a table worker,price."), READS]
Price = Annotated[
    str | None,
    typer.Option(help="What a vote costs of everybody who is not in the price list. Default, without a list: 1."),
]
Decimals = Annotated[int, typer.Option(help="Digits after the point of all amounts: 0 for whole cents, 2 for 1.25.")]
MoreItems = Annotated[
    Path | None, typer.Option(help="Table with a column item: further items, which nobody was asked about."), READS
]
MoreLabels = Annotated[
    str | None,
    typer.Option(help="Further labels, which nobody was asked about: names separated by commas, or a file of them."),
    READS,
]


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
            raise
        votes = nothing_known()
    votes = with_names(with_names(votes, "item", items), "label", labels)
    if not votes.n_items or not votes.n_labels:
        raise EmptyInputError(
            f"{path} holds no vote, so it must be said what can be asked: --items FILE (a table with a column item) "
            "and --labels a,b,c."
        )
    return votes


@reading_votes(votes_if_any, items=MoreItems, labels=MoreLabels)
def next_questions(
    votes: Votes,
    budget: Annotated[
        str | None, typer.Option(help="What all questions together may cost. Needed, but for --for-expert.")
    ] = None,
    prices: PriceList = None,
    price: Price = None,
    decimals: Decimals = 0,
    batch: Annotated[
        int | None,
        typer.Option(
            help=f"At most so many questions; then come back with the answers. Default: {CROWD_BATCH}; with "
            f"--for-expert {EXPERT_BATCH}."
        ),
    ] = None,
    for_expert: Annotated[
        bool,
        typer.Option(
            "--for-expert", help="Choose what you should answer yourself, to say how the crowd is to be read."
        ),
    ] = False,
    whole_items: Annotated[
        bool, typer.Option("--whole-items", help="With --for-expert: so many items, with all their labels.")
    ] = False,
    drawn: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="With --for-expert: share of the questions drawn at random; the others are those "
            "that a model of what may be wrong finds most telling. On real sets chance did better.",
        ),
    ] = DRAWN,
    truth: KnownTruth = None,
    known_items: KnownItems = None,
    known_pairs: KnownPairs = None,
    truth_unmentioned: TruthUnmentioned = "unknown",
    strategy: Annotated[str, typer.Option(help=f"One of: {', '.join(STRATEGIES)}.")] = DEFAULT_STRATEGY,
    worker: Annotated[list[str] | None, typer.Option(help="Ask only this worker. May be repeated.")] = None,
    features: Features = None,
    features_items: FeaturesItems = None,
    roster: WorkersFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also what the utility was made of.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Decides between questions that are equally good.")] = 0,
    output: Output = None,
    safe_csv: SafeCsv = False,
    as_json: Json = False,
) -> None:
    """Choose the questions that help most for the money; writes item,label,worker,price,utility,why.

    Everybody can be asked who has voted or is in the price list. Before the first vote, a table without a row will do,
    and --items, --labels and --prices (or --worker) say what there is. Nobody is asked about what --truth says.

    With --for-expert, it chooses the pairs whose true answer says most about how to read the crowd, and writes
    item,label,probability,why. Your answers go into a table item,label,truth, to be handed back with --truth.
    """
    known = known_truth(truth, known_items, known_pairs, truth_unmentioned)
    if for_expert:
        ignored = {"--budget": budget, "--prices": prices, "--price": price, "--decimals": decimals, "--worker": worker}
        ignored |= {"--explain": explain, "--features": features, "--features-items": features_items}
        ignored |= {"--strategy": strategy != DEFAULT_STRATEGY}
        check_free([name for name, given in ignored.items() if given])
        check_batch(batch)
        n_questions = EXPERT_BATCH if batch is None else batch
        ask_expert(
            votes,
            known,
            listed_workers(roster, votes.worker_names),
            n_questions,
            whole_items,
            drawn,
            seed,
            output,
            safe_csv,
            as_json,
        )
        return
    for name, given in (("--whole-items", whole_items), ("--drawn", drawn != DRAWN)):
        if given:
            raise ParameterError(f"{name} says what to ask you; give it with --for-expert.")
    if budget is None:
        raise ParameterError(
            "--budget must say what all questions may cost; only questions to yourself (--for-expert) do without."
        )
    batch = CROWD_BATCH if batch is None else batch
    chooser = make_strategy(strategy)
    if features is not None:
        check_features_used(chooser, make_model(chooser.model))
    if roster is not None:
        make_model(chooser.model).check_uses_roster()
    money = checked_budget(budget, decimals)
    check_batch(batch)
    listed = {} if prices is None else read_price_list(prices, decimals=decimals)
    votes = with_newcomers(votes, listed, worker or ())
    allowed = allowed_workers(votes, worker)
    vote_price = prices_of_allowed(votes, allowed, listed, price_of_others(prices, price), decimals)
    check_affordable(vote_price[allowed], money, decimals)
    described = described_items(votes, features, features_items)
    seated = listed_workers(roster, votes.worker_names)
    with busy(f"Choosing after {len(votes):,} votes"):
        learner = Learner(partial(make_model, chooser.model), features=described, truth=known, roster=seated)
        beliefs = learner.learn(votes)
        chosen = choose(chooser, beliefs, allowed, vote_price, money, batch, np.random.default_rng(seed))
    effect = None if learner.model is None else truth_effect(learner.model, votes)
    tell_effect(effect)
    drawn = isinstance(chooser, Uniform)
    rows = question_rows(chosen, beliefs, vote_price, decimals, drawn=drawn, explain=explain)
    cost = int(vote_price[chosen.asked.worker].sum())
    if as_json:
        amounts = {"budget": _amount(money, decimals), "cost": _amount(cost, decimals)}
        print_json({"strategy": strategy, **amounts, "questions": rows.to_pylist(), **effect_as_json(effect)})
    if not as_json or output is not None:
        write_rows(rows, output, safe_csv=safe_csv)
    spent = f"{major_units(cost, decimals)} of {major_units(money, decimals)}"
    # other strategies rank questions: to them, 0 need not be nothing
    n_worthless = int((chosen.utility <= 0).sum()) if isinstance(chooser, ValueOfInformation) else 0
    notes.print(summary(len(chosen), n_worthless, spent), soft_wrap=True)


next_questions.__name__ = "next"  # of the command; in Python it would hide the function


# -- questions to the requester --------------------------------------------------------------------------------------


# -- arguments -------------------------------------------------------------------------------------------------------


def make_strategy(name: str) -> Strategy:
    """The strategy of that name with its default settings."""
    if name not in STRATEGIES:
        raise ParameterError(f"strategy must be one of {', '.join(STRATEGIES)}; got {name!r}.")
    return STRATEGIES[name]()


def checked_budget(budget: str, decimals: int) -> int:
    """The budget in minor units, which must be above 0."""
    money = minor_units(budget, decimals, "the budget")
    if money == 0:
        raise InputError(f"the budget must be above 0; got {budget}.")
    return money


def check_batch(batch: int | None) -> None:
    """Raise ParameterError where a batch is empty."""
    if batch is not None and batch < 1:
        raise ParameterError(f"batch must be at least 1; got {batch}.")


def price_of_others(prices: Path | None, price: str | None) -> str | None:
    """The price of those who are in no list; None where everybody must be in it."""
    return "1" if prices is None and price is None else price


# -- what there is ---------------------------------------------------------------------------------------------------


def nothing_known() -> Votes:
    """No vote, and no names."""
    codes, names = np.empty(0, np.int32), pa.array([], pa.string())
    return Votes(codes, codes, codes, np.empty(0, np.int8), names, names, names)


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


def with_names(votes: Votes, role: tables.Role, names: Iterable[Any]) -> Votes:
    """Votes whose items, labels or workers are also these, though there is no vote about or by them."""
    known = getattr(votes, f"{role}_names")
    given = tables.vocabulary_of(list(dict.fromkeys(names)), role).cast(pa.string())
    new = given.filter(pa.array(positions(given, known) < 0))
    if not len(new):
        return votes
    tables.refuse_slips(new, known, role)
    changed: dict[str, Any] = {f"{role}_names": pa.concat_arrays([known.cast(pa.string()), new])}
    return replace(votes, **changed)


def with_newcomers(votes: Votes, listed: Iterable[str], wanted: Sequence[str]) -> Votes:
    """Votes whose workers are also those of the price list; those `wanted`, where nothing else says who there is."""
    nobody_known = not votes.n_workers and not listed
    votes = with_names(votes, "worker", filter(str.strip, wanted) if nobody_known else listed)
    if not votes.n_workers:
        raise EmptyInputError(
            "there must be somebody to ask, and nobody has voted. Name people in a price list (--prices FILE) or one "
            "by one (--worker NAME)."
        )
    return votes


def allowed_workers(votes: Votes, wanted: Sequence[str] | None) -> Mask:
    """(n_workers,) who may be asked: those wanted, or everybody."""
    if not wanted:
        return np.ones(votes.n_workers, dtype=bool)
    names = pa.array(wanted, pa.string())
    place = positions(names, votes.worker_names)
    if (place < 0).any():
        tables.refuse_slips(names, votes.worker_names, "worker")
        unknown = wanted[int((place < 0).argmax())]
        raise InputError(
            f"--worker must name somebody who has voted or is in the price list; {unknown!r} is neither. Check "
            "the spelling, or add newcomers to the list (--prices)."
        )
    return np.isin(np.arange(votes.n_workers), place)


def prices_of_allowed(votes: Votes, allowed: Mask, listed: Mapping[str, Any], others: Any, decimals: int) -> Money:
    """(n_workers,) minor units for a vote of each worker who may be asked; nobody needs to know what others cost."""
    names = votes.worker_names.cast(pa.string()).filter(pa.array(allowed))
    needed = set(names.to_pylist())
    amounts = {name: amount for name, amount in listed.items() if name in needed}
    known = Prices.of(names, amounts, default=others, decimals=decimals).vote
    vote_price = np.full(votes.n_workers, round(known.mean()), dtype=np.int64)  # others must not move the mean
    vote_price[allowed] = known
    return vote_price


def check_affordable(vote_price: Money, money: int, decimals: int) -> None:
    """Raise InputError unless the budget pays for a vote."""
    if vote_price.min() > money:
        raise InputError(
            f"the budget must pay for at least one vote, {major_units(int(vote_price.min()), decimals)}; got "
            f"{major_units(money, decimals)}."
        )


# -- choosing --------------------------------------------------------------------------------------------------------


def choose(
    strategy: Strategy,
    beliefs: CurrentBeliefs,
    allowed: Mask,
    vote_price: Money,
    money: int,
    batch: int,
    rng: np.random.Generator,
) -> Questions:
    """Up to `batch` questions that `money` pays for, the best first.

    Where some of the strategy's choices are too expensive, it chooses again: other pairs, and workers who are not.
    """
    cost = vote_price.astype(np.float64)
    pieces: list[Questions] = []
    taken: set[tuple[int, int]] = set()
    missing, refused = batch, True
    while missing and refused and (affordable := allowed & (vote_price <= money)).any():
        # a whole batch: of so many pairs, at least as many as are missing are new
        candidates = beliefs.open_among(Anything(beliefs.votes, affordable))
        found = strategy.select(beliefs, candidates, cost, batch, rng)
        pairs = list(zip(found.asked.item.tolist(), found.asked.label.tolist(), strict=True))
        places: list[int] = []
        for place, price in enumerate(vote_price[found.asked.worker].tolist()):
            if len(places) < missing and price <= money and pairs[place] not in taken:
                places.append(place)
                money -= price
        pieces.append(some_of(found, np.array(places, dtype=np.int64)))
        taken |= {pairs[place] for place in places}
        missing -= len(places)
        refused = 0 < len(places) < len(found)
    return best_first(pieces)


def some_of(questions: Questions, places: Ints) -> Questions:
    """Some of the questions, in that order."""
    parts = {name: part[places] for name, part in questions.parts.items()}
    return Questions(questions.asked.take(places), questions.utility[places], parts)


def best_first(pieces: Sequence[Questions]) -> Questions:
    """All of them, by falling utility."""
    codes = (np.concatenate([getattr(piece.asked, role) for piece in pieces]) for role in ("item", "label", "worker"))
    parts = {name: np.concatenate([piece.parts[name] for piece in pieces]) for name in pieces[0].parts}
    joined = Questions(Triplets(*codes), np.concatenate([piece.utility for piece in pieces]), parts)
    return some_of(joined, np.argsort(-joined.utility, kind="stable"))


# -- telling ---------------------------------------------------------------------------------------------------------


def question_rows(
    chosen: Questions, beliefs: CurrentBeliefs, vote_price: Money, decimals: int, *, drawn: bool, explain: bool
) -> pa.Table:
    """One row per question."""
    votes, asked = beliefs.votes, chosen.asked
    price = [_amount(units, decimals) for units in vote_price[asked.worker].tolist()]
    return pa.table(
        {
            "item": votes.item_names.take(pa.array(asked.item)),
            "label": votes.label_names.take(pa.array(asked.label)),
            "worker": votes.worker_names.take(pa.array(asked.worker)),
            "price": pa.array(price, pa.float64() if decimals else pa.int64()),
            "utility": chosen.utility,
            "why": pa.array(reasons(chosen, beliefs, drawn=drawn), pa.string()),
            **(chosen.parts if explain else {}),
        }
    )


def summary(n_questions: int, n_worthless: int, spent: str) -> str:
    """What was chosen, in a line.

    >>> summary(3, 1, "6 of 20")
    '3 questions for 6 of 20; nothing is expected of 1 of them (utility 0): rather keep that money'
    """
    if not n_questions:
        return "no question is left: everybody who can be asked has answered everything"
    warning = f"; nothing is expected of {n_worthless} of them (utility 0): rather keep that money" * bool(n_worthless)
    return f"{n_questions} question{'s' * (n_questions > 1)} for {spent}{warning}"


def reasons(chosen: Questions, beliefs: CurrentBeliefs, *, drawn: bool) -> list[str]:
    """Why each question was chosen, in words; `drawn`: by chance."""
    asked = chosen.asked
    columns = (
        beliefs.proba[asked.item, asked.label],
        votes_on_pairs(beliefs.votes, asked.item, asked.label)[1],
        beliefs.experience[asked.worker],
        beliefs.hit[asked.worker, asked.label],
        beliefs.false_alarm[asked.worker, asked.label],
    )
    prefix = "drawn at random: " if drawn else ""
    told = [prefix + reason(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    if "drawn_skill" not in chosen.parts:
        return told
    skills = (chosen.parts[name].tolist() for name in ("skill", "drawn_skill"))
    return [text + by_skill(*of_worker) for text, of_worker in zip(told, zip(*skills, strict=True), strict=True)]


def by_skill(skill: float, drawn: float) -> str:
    """What the strategy itself went by, and whether that was mainly chance.

    >>> by_skill(0.6, 0.62)
    ', skill on all labels 0.60'
    >>> by_skill(0.08, 0.62)
    ', tried by chance: skill on all labels 0.08, drawn as 0.62'
    """
    expected = f"skill on all labels {skill:.2f}"
    if drawn**2 <= BY_CHANCE * max(skill, 0.0) ** 2:
        return f", {expected}"
    return f", tried by chance: {expected}, drawn as {drawn:.2f}"


def reason(proba: float, n_votes: int, experience: int, hit: float, false_alarm: float) -> str:
    """How open a pair is and what the worker is worth, in one line.

    >>> reason(0.52, 3, 40, 0.81, 0.04)
    'probability 0.52 after 3 votes; informative worker (hit 0.81, false alarm 0.04)'
    """
    so_far = f"after {n_votes} vote{'s' * (n_votes > 1)}" if n_votes else "before the first vote"
    return (
        f"probability {proba:.2f} {so_far}; {_kind(experience, hit - false_alarm)} "
        f"(hit {hit:.2f}, false alarm {false_alarm:.2f})"
    )


def _kind(experience: int, informativeness: float) -> str:
    if not experience:
        return "new worker"
    if informativeness >= INFORMATIVE:
        return "informative worker"
    return "fairly informative worker" if informativeness >= FAIRLY_INFORMATIVE else "hardly informative worker"


def _amount(units: int, decimals: int) -> float:
    """Minor units as the number that a person writes."""
    return float(major_units(units, decimals)) if decimals else units
