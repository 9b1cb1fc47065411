"""amcc simulate-crowd: a crowd whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from amcc.cli.common import Json, notes, print_json
from amcc.cli.paths import FOLDER
from amcc.data.simulate import CrowdSpec, write_crowd
from amcc.errors import ParameterError


def simulate_crowd(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; it is made if need be."), FOLDER],
    votes: Annotated[
        int | None,
        typer.Option(help="About how many votes; sizes not given below follow from it. Default: 100000, or by items."),
    ] = None,
    items: Annotated[int | None, typer.Option(help="Number of items.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of workers.")] = None,
    labels: Annotated[int | None, typer.Option(help="Number of labels.")] = None,
    answers_per_item: Annotated[int | None, typer.Option(help="Workers who answer an item.")] = None,
    labels_per_item: Annotated[float | None, typer.Option(help="Mean number of true labels.")] = None,
    spammers: Annotated[float | None, typer.Option(help="Share of workers who spam.")] = None,
    correlation: Annotated[float | None, typer.Option(help="Strength of label correlation, 0 to 1.")] = None,
    difficulty: Annotated[float | None, typer.Option(help="Spread of item difficulty.")] = None,
    asked_share: Annotated[float | None, typer.Option(help="Share of the labels asked in an answer.")] = None,
    faint: Annotated[float | None, typer.Option(help="Share of present pairs that most workers miss.")] = None,
    tempting: Annotated[float | None, typer.Option(help="Share of absent pairs that most workers tick.")] = None,
    pair_spread: Annotated[
        float | None, typer.Option(help="Spread, in log-odds, of what makes a pair easy or hard for everybody.")
    ] = None,
    taste: Annotated[
        float | None, typer.Option(help="Spread, in log-odds, of the leanings that a group of workers shares.")
    ] = None,
    tastes: Annotated[int | None, typer.Option(help="Groups with a taste of their own. Default: 2")] = None,
    taste_labels: Annotated[
        float | None, typer.Option(help="Share of the labels that are a matter of taste. Default: 0.5")
    ] = None,
    models: Annotated[
        int | None, typer.Option(help="How many of the workers are language models, who answer every item.")
    ] = None,
    families: Annotated[int | None, typer.Option(help="Families of models. Default: 1")] = None,
    family_correlation: Annotated[
        float | None, typer.Option(help="Correlation of the errors of models of one family, 0 to 1.")
    ] = None,
    model_correlation: Annotated[
        float | None, typer.Option(help="The same for models of different families; not more than within one.")
    ] = None,
    people_share: Annotated[
        float | None, typer.Option(help="Share of the items that people answer, where there are models.")
    ] = None,
    convention: Annotated[
        float | None,
        typer.Option(
            help="Experts call true what this share of honest workers would see: 0.33 is lenient, 0.8 strict. "
            "Default: what is present is true."
        ),
    ] = None,
    convention_spread: Annotated[
        float | None, typer.Option(help="Log-odds by which that share differs between labels.")
    ] = None,
    features: Annotated[int, typer.Option(help="Number of item features.")] = 0,
    seed: Annotated[int, typer.Option(help="Same seed, same crowd.")] = 0,
    as_json: Json = False,
) -> None:
    """Simulate a crowd; writes votes.parquet, truth.csv and workers.csv (with kinds and prices) to a folder.

    Votes are independent given what is present, unless workers share something: pairs that are faint or tempting for
    all, taste, or the errors of a family of language models; workers.csv then says who is a model, and of which family.
    """
    wishes = {
        "n_items": items,
        "n_workers": workers,
        "n_labels": labels,
        "answers_per_item": answers_per_item,
        "labels_per_item": labels_per_item,
        "spammers": spammers,
        "correlation": correlation,
        "difficulty": difficulty,
        "asked_share": asked_share,
        "faint": faint,
        "tempting": tempting,
        "pair_spread": pair_spread,
        "taste": taste,
        "n_tastes": tastes,
        "taste_labels": taste_labels,
        "n_models": models,
        "n_families": families,
        "family_correlation": family_correlation,
        "model_correlation": model_correlation,
        "people_share": people_share,
        "convention": convention,
        "convention_spread": convention_spread,
    }
    changes: dict[str, Any] = {name: wish for name, wish in wishes.items() if wish is not None}
    if items is None:
        spec = CrowdSpec.for_votes(100_000 if votes is None else votes, n_features=features, seed=seed, **changes)
    elif votes is None:
        spec = CrowdSpec(n_features=features, seed=seed, **changes)
    else:
        raise ParameterError(
            f"give either --votes or --items, for one follows from the other; got {votes} and {items}."
        )
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
