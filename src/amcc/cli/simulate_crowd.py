"""amcc simulate-crowd: a crowd with a known truth.

Its options are fields of `CrowdSpec`: one line in `FIELDS` makes the option, its help, and its name in errors.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from amcc.cli.console import notes
from amcc.cli.output import Json, print_json
from amcc.cli.paths import FOLDER
from amcc.data.simulate import CrowdSpec, write_crowd
from amcc.errors import ParameterError

# Field → help of its option. A field that is not here keeps its default: few people would turn it.
FIELDS = {
    "n_items": "Number of items.",
    "n_workers": "Number of workers.",
    "n_labels": "Number of labels.",
    "answers_per_item": "Workers who answer an item.",
    "labels_per_item": "Mean number of true labels.",
    "spammers": "Share of workers who spam.",
    "correlation": "Strength of label correlation, 0 to 1.",
    "difficulty": "Spread of item difficulty.",
    "asked_share": "Share of the labels asked in an answer.",
    "faint": "Share of present pairs that most workers miss.",
    "tempting": "Share of absent pairs that most workers tick.",
    "pair_spread": "Spread, in log-odds, of what makes a pair easy or hard for everybody.",
    "taste": "Spread, in log-odds, of the leanings that a group of workers shares.",
    "n_tastes": "Groups with a taste of their own. Default: 2",
    "taste_labels": "Share of the labels that are a matter of taste. Default: 0.5",
    "n_models": "How many of the workers are language models, who answer every item.",
    "n_families": "Families of models. Default: 1",
    "family_correlation": "Correlation of the errors of models of one family, 0 to 1.",
    "model_correlation": "The same for models of different families; not more than within one.",
    "people_share": "Share of the items that people answer, where there are models.",
    "convention": "Experts call true what this share of honest workers would see: 0.33 is lenient, 0.8 strict. "
    "Default: what is present is true.",
    "convention_spread": "Log-odds by which that share differs between labels.",
    "n_features": "Number of item features.",
    "seed": "Same seed, same crowd.",
}
# The others follow from the number of votes where they are not given, so their option has no default to show.
WITH_DEFAULT = ("n_features", "seed")
# Enough for what only many votes can tell; the default still fits them in seconds (docs/performance.md).
DEFAULT_VOTES = 100_000

# A field at the start of an error, or with its value anywhere in it; elsewhere "taste" is a word like others.
FIELD_IN_ERROR = re.compile(rf"\b({'|'.join(('n_votes', *FIELDS))})(?= must\b|=)")


def _option(field: str) -> str:
    """What the command calls a field: numbers of things are the things."""
    return field.removeprefix("n_")


def _with_field_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each of `FIELDS` in place of its `**wishes`; --json stays the last."""
    *first, last = (
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    )
    of_fields = []
    for field, told in FIELDS.items():
        usual = getattr(CrowdSpec, field)
        kind, default = (type(usual), usual) if field in WITH_DEFAULT else (type(usual) | None, None)
        annotation = Annotated[kind, typer.Option(help=told)]  # type: ignore[valid-type]
        of_fields.append(inspect.Parameter(_option(field), last.kind, annotation=annotation, default=default))
    signature = inspect.Signature([*first, *of_fields, last])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return command


@_with_field_options
def simulate_crowd(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; it is made if need be."), FOLDER],
    votes: Annotated[
        int | None,
        typer.Option(help="About how many votes; sizes not given below follow from it. Default: 100000, or by items."),
    ] = None,
    as_json: Json = False,
    **wishes: Any,
) -> None:
    """Simulate a crowd; writes votes.parquet, truth.csv and workers.csv (with kinds and prices) to a folder.

    Votes are independent given what is present, unless workers share something: pairs that are faint or tempting for
    all, taste, or the errors of a family of language models; workers.csv then says who is a model, and of which family.
    """
    spec = spec_of(votes, {field: wishes[_option(field)] for field in FIELDS if wishes[_option(field)] is not None})
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("Simulating votes", total=spec.n_votes)
        write_crowd(spec, output, progress=lambda done, total: progress.update(bar, completed=done, total=total))
    if as_json:
        sizes = {name: getattr(spec, name) for name in ("n_votes", "n_items", "n_workers", "n_labels", "seed")}
        print_json({**sizes, "output": str(output)})
    else:
        notes.print(
            f"wrote {spec.n_votes:,} votes of {spec.n_workers:,} workers on {spec.n_items:,} items and "
            f"{spec.n_labels} labels to {output}"
        )


def spec_of(votes: int | None, changes: dict[str, Any]) -> CrowdSpec:
    """The spec of so many votes, or of the changed fields alone where these give the items.

    Errors speak of options: what the user typed, not what we call it.
    """
    if votes is not None and "n_items" in changes:
        raise ParameterError(
            f"give either --votes or --items, for one follows from the other; got {votes} and {changes['n_items']}."
        )
    # There is no option for specialties: the default must fit, or a crowd of one or two labels could not be made.
    if "n_labels" in changes:
        changes = {"n_specialties": min(CrowdSpec.n_specialties, changes["n_labels"]), **changes}
    try:
        if "n_items" in changes:
            return CrowdSpec(**changes)
        return CrowdSpec.for_votes(DEFAULT_VOTES if votes is None else votes, **changes)
    except ParameterError as error:
        named = FIELD_IN_ERROR.sub(lambda found: f"--{_option(found[1]).replace('_', '-')}", str(error))
        raise ParameterError(named) from None
