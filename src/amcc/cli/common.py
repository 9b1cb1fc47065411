"""What all commands share: reading votes, writing rows, talking to people and to scripts."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import typer
from rich.text import Text

from amcc.cli.engines import ENGINE_OPTIONS, EngineChoice
from amcc.cli.names import ACTING, PlainConsole, for_spreadsheets, for_terminals, visible
from amcc.cli.paths import READS, TABLE
from amcc.consensus import AMCC, METHODS, ConsensusModel, load_model, make_model
from amcc.consensus.truth_effect import TruthEffect, truth_effect
from amcc.data.features import Units, read_features, read_text_features
from amcc.engine.base import Block, Engine, as_engine
from amcc.engine.packed import PackedVotes
from amcc.errors import InputError, ParameterError
from amcc.io import (
    csv,
    format_of,
    naming,
    open_packed,
    read_ids,
    read_roster,
    read_truth,
    read_votes,
    spool,
    write_tables,
)
from amcc.roster import Roster
from amcc.tables import ROLES, number_in
from amcc.truth import Truth
from amcc.votes import OnConflict, Unmentioned, Votes

notes = PlainConsole(stderr=True)
screen = PlainConsole()

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead, for scripts.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write; .csv(.gz), .tsv, .parquet or .jsonl. Default: CSV to stdout."),
    TABLE,
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="In .csv and .tsv, put ' before names that a spreadsheet would take for formulas (=, +, -, @). To read "
        "the file with amcc again, write it without this.",
    ),
]
Method = Annotated[str, typer.Option("--method", "-m", help=f"One of: {', '.join(METHODS)}.")]

TRUTH_HELP = "What is true: a table item,label or item,labels, or item,label,truth with yes and no."
TruthPath = Annotated[Path, typer.Argument(metavar="TRUTH", help=TRUTH_HELP), READS]
KnownTruth = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        help="What is already known, as for evaluate: it is kept, teaches about workers and corrects probabilities.",
    ),
    READS,
]
KnownItems = Annotated[
    Path | None, typer.Option(help="Table of the items that the truth covers. Default: those it mentions."), READS
]
KnownPairs = Annotated[Path | None, typer.Option(help="Table item,label of the pairs that the truth covers."), READS]
TruthUnmentioned = Annotated[
    Unmentioned, typer.Option(help="What the truth does not mention: absent if it covers everything.")
]
WorkersFile = Annotated[
    Path | None,
    typer.Option(
        "--workers",
        help="Who the workers are: a table worker,kind,family; kind is human, model or code. Votes of workers who "
        "share errors then count for less.",
    ),
    READS,
]
Features = Annotated[
    Path | None,
    typer.Option(
        help="Numbers that describe the items, for methods and strategies that use them: a table with a column item, "
        ".npz (X and items, or a sparse matrix of scipy) or .npy."
    ),
    READS,
]
FeaturesItems = Annotated[
    Path | None,
    typer.Option(help="Whose rows those of a .npy or sparse .npz file are: a list of items in their order."),
    READS,
]
ItemTexts = Annotated[
    Path | None,
    typer.Option(
        "--text",
        help="Texts of the items in the place of --features, a table item,text: similar ones inform each other.",
    ),
    READS,
]
TextColumn = Annotated[
    str | None, typer.Option(help="Column of the texts. Default: text, or the only one beside the item.")
]
TextUnits = Annotated[Units, typer.Option(help="What texts are compared by: words, or sequences of characters.")]

DEFAULT_METHOD = "amcc"

VotesPath = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        help="Table of votes: .csv, .tsv, .parquet or .jsonl, a folder that amcc pack made, or - for standard input.",
    ),
    READS,
]


def plain_number(text: str) -> float:
    """A number as tables have it: Python's own reading would take 0_1 and nan, too."""
    number = number_in(text)
    if number is None:
        raise typer.BadParameter(f"{text!r} is not a number.")
    return float(number)


_READING: dict[str, tuple[Any, Any]] = {
    "columns": (
        Annotated[
            list[str] | None,
            typer.Option(help=f"Which column is what, as role=column; roles: {', '.join(ROLES)}. May be repeated."),
        ],
        None,
    ),
    "unmentioned": (
        Annotated[
            Literal["absent", "unknown"] | None,
            typer.Option(help="What a label means that an answer does not mention, where only ticks are recorded."),
        ],
        None,
    ),
    "labels": (Annotated[Path | None, typer.Option(help="File with the whole label list."), READS], None),
    "items": (
        Annotated[Path | None, typer.Option(help="File with further items that nobody answered yet."), READS],
        None,
    ),
    "threshold": (
        Annotated[
            float | None,
            typer.Option(parser=plain_number, metavar="FLOAT", help="Graded scores from here on count as yes."),
        ],
        None,
    ),
    "zero": (
        Annotated[Literal["no", "unasked"] | None, typer.Option(help="What 0 means where -1 occurs beside it.")],
        None,
    ),
    "label_separator": (Annotated[str | None, typer.Option(help="Between the labels of a list. Default: |")], None),
    "separator": (Annotated[str | None, typer.Option(help="Between the columns of a text table.")], None),
    "on_conflict": (
        Annotated[
            OnConflict,
            typer.Option(
                help="When a worker answers a question twice: refuse a yes beside a no; take the last; or take all as "
                "samples, which together count as one vote with a share of yes (for language models)."
            ),
        ],
        "error",
    ),
}


def load_votes(path: Path, reading: Mapping[str, Any]) -> Votes:
    """Read votes with the options of the command line, and say what was decided."""
    options = reading_options(reading)
    with busy(f"Reading {path.name}"):
        votes = read_votes(path, **options)
    for note in votes.notes():
        notes.print(note, style="dim", markup=False)
    return votes


def load_packed(path: Path, reading: Mapping[str, Any]) -> PackedVotes:
    """Open packed votes, which have no use for options of reading."""
    return open_packed(path, plain=all(reading[name] == default for name, (_, default) in _READING.items()))


def reading_options(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command line as `read_votes` wants them."""
    columns = {}
    for mapping in reading["columns"] or []:
        role, equals, column = mapping.partition("=")
        if not equals or not column:
            raise ParameterError(f"--columns must look like worker=my_column; got {mapping!r}.")
        columns[role] = column
    return {**reading, "columns": columns, **{name: _listed(reading[name]) for name in ("labels", "items")}}


def _listed(names: Path | Sequence[Any] | None) -> Sequence[Any] | None:
    return read_ids(names) if isinstance(names, Path) else names


Command = Callable[..., None]
Options = Mapping[str, tuple[Any, Any]]


READ_ARGUMENTS = (
    "path", "people", "consensus", "truth", "soft_truth", "known_items", "known_pairs", "labels", "items", "prices",
    "features", "text", "roster",
)  # fmt: skip
"""Arguments and options that name a file to read."""


def reads_standard_input(command: Command) -> Command:
    """Let `-` stand for standard input in one argument of a command; its text is kept in a file for that long."""

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        given = [name for name in READ_ARGUMENTS if arguments.get(name) == Path("-")]
        if len(given) > 1:
            raise ParameterError(
                f"standard input (-) can be read once; it stands for {' and '.join(given)}. Name a file for the others."
            )
        with ExitStack() as kept:
            for name in given:
                folder = kept.enter_context(TemporaryDirectory(prefix="amcc-"))
                arguments[name] = spool(sys.stdin.buffer, Path(folder))
                kept.enter_context(_called_standard_input(arguments[name]))
            command(**arguments)

    return run


@contextmanager
def _called_standard_input(path: Path) -> Iterator[None]:
    """Errors about the file are about standard input: nobody else knows its name."""
    try:
        yield
    except InputError as error:
        raise type(error)(str(error).replace(str(path), "standard input")) from None


def takes_reading(command: Command) -> Command:
    """Give a command the argument VOTES and every option of reading; the command itself gets `path` and `reading`."""

    def run(**arguments: Any) -> None:
        command(reading={name: arguments.pop(name) for name in _READING}, **arguments)

    return _with_options(run, command, _READING, given=("path", "reading"))


def reading_votes(load: Callable[[Path, Mapping[str, Any]], Votes], **kinds: Any) -> Callable[[Command], Command]:
    """A decorator: the command gets the argument VOTES and every option of reading, and is called with `votes`.

    load : how to read them; kinds : annotations of options of reading, where the command has its own. A command with a
    parameter `engine` also gets the options of engines, and packed votes without reading them.
    """
    reading_options = {name: (kinds.get(name, kind), default) for name, (kind, default) in _READING.items()}

    def decorate(command: Command) -> Command:
        by_blocks = "engine" in inspect.signature(command).parameters

        def run(**arguments: Any) -> None:
            reading, path = {name: arguments.pop(name) for name in _READING}, arguments.pop("path")
            if by_blocks:
                arguments["engine"] = EngineChoice(**{name: arguments.pop(name) for name in ENGINE_OPTIONS})
            packed = by_blocks and path.is_dir()
            command(votes=load_packed(path, reading) if packed else load(path, reading), **arguments)

        options = {**ENGINE_OPTIONS, **reading_options} if by_blocks else reading_options
        return _with_options(run, command, options, given=("votes", "engine"))

    return decorate


def _with_options(run: Command, command: Command, options: Options, given: Sequence[str]) -> Command:
    """`run` with the name and help of the command, the argument VOTES, the command's own options, and these."""
    declared = inspect.signature(command, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("path", keyword, annotation=VotesPath),
        *(parameter.replace(kind=keyword) for parameter in declared if parameter.name not in given),
        *(
            inspect.Parameter(name, keyword, annotation=kind, default=default)
            for name, (kind, default) in options.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


reads_votes = reading_votes(load_votes)


def described_items(
    votes: Votes,
    features: Path | None,
    items: Path | None,
    text: Path | None = None,
    column: str | None = None,
    units: Units = "words",
) -> Any:
    """What --features and --features-items, or --text and what belongs to it, say about the items of the votes."""
    if text is not None:
        if features is not None:
            raise ParameterError("--features and --text both describe the items; give one of them.")
        with busy(f"Reading {text.name}"):
            return read_text_features(text, votes, column=column, units=units)
    if column is not None or units != "words":
        raise ParameterError("--text-column and --text-units say how to read --text; name it.")
    if features is not None:
        return read_features(features, votes, items=items)
    if items is not None:
        raise ParameterError("--features-items says whose rows those of --features are; give both.")
    return None


def listed_workers(path: Path | None, worker_names: pa.Array) -> Roster | None:
    """The roster that --workers names, if it does, with notes about how it meets these workers."""
    if path is None:
        return None
    roster = read_roster(path)
    with naming(path):
        roster.seats(worker_names)  # for its errors
    for note in roster.notes(worker_names):
        notes.print(note, style="dim", markup=False, soft_wrap=True)
    return roster


def known_truth(
    truth: Path | None, known_items: Path | None, known_pairs: Path | None, unmentioned: Unmentioned
) -> Truth | None:
    """The truth that options name, if they do."""
    if truth is not None:
        return read_truth(truth, known_items=known_items, known_pairs=known_pairs, unmentioned=unmentioned)
    if known_items is not None or known_pairs is not None or unmentioned != "unknown":
        raise ParameterError("--known-items, --known-pairs and --truth-unmentioned say what --truth covers; name it.")
    return None


def fit(
    votes: Votes | Engine,
    method: str,
    start: Path | None = None,
    features: Any = None,
    truth: Truth | None = None,
    roster: Roster | None = None,
) -> ConsensusModel:
    """Fit the model of that name, or go on from a saved one, and tell about items that nobody answered."""
    model = make_model(method) if start is None else _to_go_on_from(start, method)
    n_votes = len(votes) if isinstance(votes, Votes) else votes.n_votes
    with busy(f"Fitting {method} to {n_votes:,} votes"):
        model.fit(votes, features, truth, roster)
    if model.has_roster:
        for sentence in model.families_.sentences():
            notes.print(sentence, markup=False, soft_wrap=True)
    tell_effect(None if isinstance(votes, Engine) else truth_effect(model, votes))
    described = model.item_prior_
    if described is not None:
        notes.print(described.sentence(), soft_wrap=True)
    unanswered = as_engine(votes).total(items_without_answer).items
    if unanswered:
        known = "their features" if described is not None and described.weight else "the label frequencies"
        notes.print(f"{unanswered} items have no answer: all that is known of them are {known}")
    return model


def tell_effect(effect: TruthEffect | None) -> None:
    """Note what known truth changed, and warn where it does not look like the truth of these votes."""
    if effect is None:
        return
    for sentence in effect.sentences():
        notes.print(sentence, soft_wrap=True, markup=False)
    if effect.suspicion:
        notes.print(f"WARNING: {effect.suspicion}", style="bold yellow", soft_wrap=True, markup=False)


def effect_as_json(effect: TruthEffect | None) -> dict[str, Any]:
    """What known truth changed, as part of a JSON object; nothing where none was given."""
    return {} if effect is None else {"truth": effect.as_json()}


def _to_go_on_from(path: Path, method: str) -> ConsensusModel:
    model = load_model(path)
    if method != DEFAULT_METHOD or not isinstance(model, AMCC):
        raise InputError(
            f"--from goes on with -m {DEFAULT_METHOD}, from a model that it saved; {path} holds {model!r}, and the "
            f"method is {method}. Leave --from out to fit anew."
        )
    return model.set_params(warm_start=True)


class Unanswered(NamedTuple):
    """How many items nobody answered."""

    items: int


def items_without_answer(block: Block) -> Unanswered:
    """How many items of the block nobody answered."""
    return Unanswered(block.n_items - len(np.unique(block.pairs.item)))


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show that work is going on, on a terminal only."""
    if not notes.is_terminal:
        yield
        return
    with notes.status(Text(visible(f"{text} …"))):
        yield


def write_rows(table: pa.Table | Iterable[pa.Table], output: Path | None, *, safe_csv: bool) -> None:
    """Write the rows of a table, or of several with the same columns, to the file or as CSV to standard output."""
    n_rows = 0
    safe = safe_csv and (output is None or format_of(output).read is csv.read)

    def counted() -> Iterator[pa.Table]:
        nonlocal n_rows
        for each in [table] if isinstance(table, pa.Table) else table:
            n_rows += each.num_rows
            yield for_spreadsheets(each) if safe else each

    if output is None:
        sys.stdout.flush()
        csv.write_stream(map(for_terminals, counted()) if sys.stdout.isatty() else counted(), sys.stdout.buffer)
    else:
        write_tables(counted(), output)
        notes.print(f"wrote {n_rows:,} rows to {output}")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that are not defined become null."""
    lines = json.dumps(_without_nan(value), indent=2, ensure_ascii=False).split("\n")  # those of the layout
    sys.stdout.writelines(ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", line) + "\n" for line in lines)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value
