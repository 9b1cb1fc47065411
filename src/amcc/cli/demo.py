"""amcc demo: the whole way on a simulated crowd.

For the first minute with amcc: no data are needed, and since the crowd is simulated, the truth is known. Majority vote
stands beside the default method, and the spammers that were found beside those that are there.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from amcc import metrics
from amcc.arrays import Mask
from amcc.cli.console import busy, screen, titled_table
from amcc.cli.fitting import DEFAULT_METHOD, ModelChoice, fit
from amcc.cli.live import CLIENT, SERVER
from amcc.cli.paths import FOLDER_OF_REPORT
from amcc.consensus import ConsensusModel
from amcc.consensus.workers import likely_spammers
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.files import make_folder
from amcc.io import write_votes
from amcc.report import write_report

# Scores of `metrics.evaluate` that are shown, and what they are called.
SCORES = {"jaccard": "Jaccard", "f1": "F1", "one_minus_rl": "1 − ranking loss", "one_minus_oe": "1 − one-error"}

# Spammers by name: as many as fit in a line.
NAMES_SHOWN = 6

# Workers of the live demo: enough that something happens at every look.
N_SIMULATED = 10


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the report and the votes."), FOLDER_OF_REPORT
    ] = Path("amcc-demo"),
    votes: Annotated[int, typer.Option(help="About how many votes to simulate.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Same seed, same crowd.")] = 0,
    live: Annotated[
        bool, typer.Option("--live", help="Instead: a live campaign to look at, with simulated workers.")
    ] = False,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="With --live: how long it runs.")] = 120.0,
) -> None:
    """Simulate a crowd, find the consensus, say what was found, and write a report with pictures."""
    if live:
        show_live(seconds, seed)
        return
    # First, so that nobody waits for a fit whose report has no place.
    make_folder(output)
    with busy("Simulating a crowd"):
        crowd = simulate_crowd(CrowdSpec.for_votes(votes, seed=seed))
    given = crowd.votes
    screen.print(
        f"A simulated crowd: {given.n_workers} workers gave {len(given):,} votes on {given.n_items:,} items and "
        f"{given.n_labels} labels; {np.mean(_is_spammer(crowd)):.0%} of the workers are spammers, "
        "and nobody tells the models who."
    )
    # Majority vote first: it is what most people would do, and the default has to show that it is worth more.
    models = {method: fit(given, ModelChoice(method)) for method in ("majority", DEFAULT_METHOD)}
    screen.print(_scores(crowd, models))
    model = models[DEFAULT_METHOD]
    screen.print(_spammers_found(crowd, model))
    report = output / "report.html"
    # The report says what to type next, and there must be a file to type it about.
    file = output / "votes.csv"
    with busy("Drawing the report"):
        write_votes(given, file)
        write_report(model, given, report, title="A simulated crowd", source=str(file))
    screen.print(f"The report with pictures: {report}", soft_wrap=True)


def show_live(seconds: float, seed: int) -> None:
    """A server with a campaign of scenes and simulated workers, until the time is over."""
    SERVER.check("amcc demo --live")
    CLIENT.check("amcc demo --live")
    from amcc.serve.demo import LiveDemo, live_demo

    def ready(about: LiveDemo) -> None:
        for line in (
            f"A campaign with {N_SIMULATED} simulated workers runs for {seconds:g} seconds:",
            f"  dashboard       {about.address}/dashboard",
            f"  its password    {about.password}",
            f"  work yourself   {about.link}",
            "Ctrl-C ends it earlier.",
        ):
            screen.print(line, soft_wrap=True)

    # SIGTERM ends it like Ctrl-C: Python's own way would leave the server running, and its folder.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with busy("Live") as progress:
        done = live_demo(
            seconds, N_SIMULATED, seed, ready, lambda now: progress(f"{now.pages:,} pages, {now.answers:,} answers")
        )
    screen.print(
        f"The simulated workers answered {done.answers:,} questions on {done.pages:,} pages; {done.why}. The "
        "server and its campaign are gone.",
        soft_wrap=True,
    )


def _scores(crowd: SimulatedWorld, models: dict[str, ConsensusModel]) -> Table:
    """Scores of each model against the truth of the simulated crowd; all are better when higher."""
    rows = []
    for method, model in models.items():
        scores = metrics.evaluate(crowd.truth, model.predict(), model.predict_proba())
        rows.append([method, *(f"{scores[name]:.3f}" for name in SCORES)])
    return titled_table(["against the truth", *SCORES.values()], rows)


def _spammers_found(crowd: SimulatedWorld, model: ConsensusModel) -> str:
    """Who was taken for a spammer, who of them is one, and the evidence against the first of them."""
    flagged = likely_spammers(model.worker_rates_)
    spammers = _is_spammer(crowd)
    names = [str(name) for name in np.array(model.worker_names_.to_pylist())[flagged][:NAMES_SHOWN]]
    named = f" ({', '.join(names)}{', …' if flagged.sum() > NAMES_SHOWN else ''})" if names else ""
    why = f" {names[0]}, for example: {next(iter(model.worker_evidence_.values()))}." if names else ""
    return (
        f"{flagged.sum()} workers look like spammers{named}; {(flagged & spammers).sum()} of them are, and "
        f"{(spammers & ~flagged).sum()} spammers were not noticed.{why}"
    )


def _is_spammer(crowd: SimulatedWorld) -> Mask:
    """(n_workers,) whether the simulation made them answer without looking, whatever their way of doing so."""
    return np.char.endswith(crowd.worker_kind, "spammer")
