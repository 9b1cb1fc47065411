"""amcc demo: the whole way on a simulated crowd."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from amcc import metrics
from amcc.cli.common import DEFAULT_METHOD, busy, fit, screen
from amcc.cli.paths import FOLDER_OF_REPORT
from amcc.consensus import ConsensusModel
from amcc.consensus.workers import likely_spammers
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.files import make_folder
from amcc.report import write_report


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the report."), FOLDER_OF_REPORT] = Path(
        "amcc-demo"
    ),
    votes: Annotated[int, typer.Option(help="About how many votes to simulate.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Same seed, same crowd.")] = 0,
) -> None:
    """Simulate a crowd, find the consensus, say what was found, and write a report with pictures."""
    make_folder(output)
    with busy("Simulating a crowd"):
        crowd = simulate_crowd(CrowdSpec.for_votes(votes, seed=seed))
    given = crowd.votes
    screen.print(
        f"A simulated crowd: {given.n_workers} workers gave {len(given):,} votes on {given.n_items:,} items and "
        f"{given.n_labels} labels; {np.mean(_is_spammer(crowd)):.0%} of the workers are spammers, "
        "and nobody tells the models who."
    )
    models = {method: fit(given, method) for method in ("majority", DEFAULT_METHOD)}
    screen.print(_scores(crowd, models))
    model = models[DEFAULT_METHOD]
    screen.print(_spammers_found(crowd, model))
    report = output / "report.html"
    with busy("Drawing the report"):
        write_report(model, given, report, title="A simulated crowd")
    screen.print(f"The report with pictures: {report}", soft_wrap=True)


def _scores(crowd: SimulatedWorld, models: dict[str, ConsensusModel]) -> Table:
    table = Table("against the truth", "Jaccard", "F1", "1 − ranking loss", "1 − one-error", box=None)
    for method, model in models.items():
        proba = model.predict_proba()
        scores = metrics.evaluate(crowd.truth, model.predict(), proba)
        shown = ("jaccard", "f1", "one_minus_rl", "one_minus_oe")
        table.add_row(method, *(f"{scores[name]:.3f}" for name in shown))
    return table


def _spammers_found(crowd: SimulatedWorld, model: ConsensusModel) -> str:
    flagged = likely_spammers(model.worker_rates_)
    spammers = _is_spammer(crowd)
    names = [str(name) for name in np.array(model.worker_names_.to_pylist())[flagged][:6]]
    named = f" ({', '.join(names)}{', …' if flagged.sum() > 6 else ''})" if names else ""
    why = [f" {names[0]}, for example: {next(iter(model.worker_evidence_.values()))}."] if names else []
    return "".join(
        [
            f"{flagged.sum()} workers look like spammers{named}; ",
            f"{(flagged & spammers).sum()} of them are, and {(spammers & ~flagged).sum()} spammers were not noticed.",
            *why,
        ]
    )


def _is_spammer(crowd: SimulatedWorld) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.char.endswith(crowd.worker_kind, "spammer")
