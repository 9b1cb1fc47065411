"""amcc workers: how far to trust each worker.

Two views of the same fit. Without --worker: a table of all workers, best first, with notes about their groups, likely
spammers, and workers who seem to share errors though nobody said so (`Judged`). With --worker NAME: the
evidence for and against one person (`account.Account`), so that nobody is judged by a number alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.table import Table

from amcc.cli.account import Account, find_worker
from amcc.cli.console import notes, say, screen, show_all, titled_table
from amcc.cli.fitting import ModelChoice, effect_as_json, exclusive_as_json, fit
from amcc.cli.options.engines import EngineOptions
from amcc.cli.options.features import ItemFeatures
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import KnownTruth, TruthCoverage
from amcc.cli.options.votes import ReadingOptions, VotesPath
from amcc.cli.output import Json, RowsOutput, print_json, write_rows
from amcc.cli.paths import TABLE
from amcc.consensus import ConsensusModel
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.truth_effect import truth_effect
from amcc.consensus.undeclared import MOST_VOTES, Suspicion, suggested_roster, suspected_families
from amcc.engine.base import Engine, gather
from amcc.votes import Votes

# What everybody gets: every rate with the bounds of its interval.
RATES = ("hit_rate", "false_alarm_rate", "informativeness")
COLUMNS = [
    "worker", "answers", *(name + end for name in RATES for end in ("", "_low", "_high")),
    "known", "by_truth", "group", "weight", "evidence",
]  # fmt: skip

# Digits of numbers: a third digit of a rate already means nothing for most workers.
DIGITS = 3

TOO_LITTLE = "too little to tell"

# Further columns where --workers says who the workers are.
ROSTER_COLUMNS = ["kind", "family", "vote_worth"]

SUGGEST_HELP = "Also write a workers file (worker,kind,family) of those who seem to share errors, to be corrected."
WORKER_HELP = "The account of one worker: rates, agreement by label, and the votes behind the verdict."


def workers(
    *,
    path: VotesPath,
    choice: ModelChoice,
    described: ItemFeatures,
    truth: KnownTruth = None,
    coverage: TruthCoverage,
    roster: WorkersFile = None,
    output: RowsOutput,
    suggest: Annotated[Path | None, typer.Option("--suggest-workers", help=SUGGEST_HELP), TABLE] = None,
    worker: Annotated[str | None, typer.Option(help=WORKER_HELP)] = None,
    as_json: Json = False,
    engine: EngineOptions,
    reading: ReadingOptions,
) -> None:
    """Judge the workers, best first, and give the evidence against the likely spammers.

    Writes worker,answers, then hit_rate,false_alarm_rate,informativeness with the bounds of their 95 % intervals (_low,
    _high), known,by_truth,group,weight,evidence, and with --workers also kind,family,vote_worth; on a terminal a table.
    known is false where there is too little to tell: the interval of the informativeness, what of it is above 0, is
    wider than .6. by_truth is true where the rates were measured on known truth. With --worker, prints what is known
    about them, and writes
    item,label,vote,probability,others_yes,others_no to --output.
    """
    with engine.reading():
        given = reading.open(path)
    choice.check_used(features=described.are_named(), of_workers=True, roster=roster)
    # A name that is spelt wrong is found before the fit.
    code = None if worker is None else find_worker(worker, given.votes.worker_names)
    known = coverage.read_if_named(truth, given.truth)
    # What is known is looked up pair by pair, and so is who voted beside whom.
    with engine.running(given.votes, choice.method, whole=known is not None or roster is not None) as votes:
        listed = listed_workers(roster, votes.worker_names, choice.usable(given.roster))
        features = described.read(votes) if isinstance(votes, Votes) else None
        model = fit(votes, choice, features=features, truth=known, roster=listed)
        # Everything that looks at votes again, while the blocks are there.
        model.worker_evidence_  # noqa: B018
        account = None if code is None else Account.of(model, votes, code)
        effect = effect_as_json(truth_effect(model, votes) if isinstance(votes, Votes) else None) | _told(model)
        suspicions = _suspicions(model, votes) if account is None else []
    # After the engine is closed: what follows needs no votes any more.
    if suggest is not None:
        write_rows(suggested_roster(suspicions, model.worker_names_), suggest, safe_csv=output.safe_csv)
    if account is None:
        _tell_all(Judged(model, suspicions), choice.method, effect, output, as_json=as_json)
    else:
        _tell_one(account, choice.method, effect, output, as_json=as_json)


def _tell_all(judged: Judged, method: str, effect: dict[str, Any], output: RowsOutput, *, as_json: bool) -> None:
    """The table of all workers; with --json, notes go to standard error all the same: people should not miss them."""
    if as_json:
        print_json({"method": method, **judged.as_json(), **effect})
    judged.tell()
    if screen.is_terminal and output.output is None and not as_json:
        show_all([judged.shown()])
    elif output.is_wanted_beside(as_json):
        output.write(judged.table())


def _tell_one(account: Account, method: str, effect: dict[str, Any], output: RowsOutput, *, as_json: bool) -> None:
    """The account of one worker; their votes go to --output only."""
    if as_json:
        print_json({"method": method, **account.as_json(), **effect})
    else:
        show_all(account.tables())
    if output.output is not None:
        output.write(account.votes)


def _told(model: ConsensusModel) -> dict[str, Any]:
    """Note that rates are measured by told pairs where there are such, and count these for --json."""
    if model.results_ is None or not (n_told := int(model.pair_told_.sum())):
        return {}
    say(
        f"the consensus was told {n_told:,} of {len(model.pair_told_):,} pairs, as known truth or by the reference: "
        "there workers are compared with that, elsewhere with what the consensus thinks"
    )
    return {"told_pairs": n_told}


def _suspicions(model: ConsensusModel, votes: Votes | Engine) -> list[Suspicion]:
    """Workers who may be a family that nobody declared, by a part of the items where there are many."""
    if isinstance(votes, Engine):
        # About as many votes as would be looked at in memory, of items drawn by chance, always the same ones.
        share = MOST_VOTES / max(votes.n_votes, 1)
        votes = gather(votes, np.flatnonzero(np.random.default_rng(0).random(votes.n_items) < share))
    return suspected_families(votes, model.roster_ if model.has_roster else None)


@dataclass(frozen=True)
class Judged:
    """All workers, and what is said about them together.

    suspicions : workers who may be a family that nobody declared
    """

    model: ConsensusModel
    suspicions: list[Suspicion]

    def table(self) -> pa.Table:
        """One row per worker, best first; workers who are equally good by name, so that files can be compared."""
        table: pa.Table = self.model.workers(frame="arrow")
        columns = [*COLUMNS, *(name for name in ROSTER_COLUMNS if name in table.column_names)]
        table = table.select(columns).sort_by([("informativeness", "descending"), ("worker", "ascending")])
        rounded = [pc.round(each, DIGITS) if pa.types.is_floating(each.type) else each for each in table.columns]
        return pa.table(rounded, names=table.column_names)

    def shown(self) -> Table:
        """The same for people: one column for a rate and its interval."""
        header = ["worker", "answers", "hit rate", "false alarms", "informativeness", "evidence"]
        rows = []
        for row in self.table().to_pylist():
            rates = [of_rate(row, name) for name in RATES] if row["known"] else [TOO_LITTLE, "", ""]
            rows.append([str(row["worker"]), f"{row['answers']:,}", *rates, row["evidence"]])
        return titled_table(
            header, rows, "Yes to present labels, yes to absent ones, and the difference, with 95 % intervals"
        )

    def groups(self) -> list[dict[str, Any]]:
        """The groups that have workers, of models that have groups."""
        if not isinstance(self.model, GroupedModel):
            return []
        return [group for group in self.model.groups(frame="arrow").to_pylist() if group["workers"]]

    def as_json(self) -> dict[str, Any]:
        """All of it, for scripts."""
        model = self.model
        return {
            "groups": self.groups(),
            "exclusive": exclusive_as_json(model),
            "reference": model.reference_sentence_ or None,
            "families": model.families("arrow").to_pylist() if model.has_roster else [],
            "suspected_families": [suspicion.as_json(model.worker_names_) for suspicion in self.suspicions],
            "workers": self.table().to_pylist(),
        }

    def tell(self) -> None:
        """Note what a table of single workers does not show."""
        say(*(group["summary"] for group in self.groups()), style="dim")
        n_spammers = len(self.model.worker_evidence_)
        if n_spammers:
            # These are people: the note says where the evidence is before anybody is excluded.
            who = "1 worker looks like a spammer" if n_spammers == 1 else f"{n_spammers} workers look like spammers"
            notes.print(f"{who}: see the column evidence, or one by one: --worker NAME")
        say(*(suspicion.sentence(self.model.worker_names_) for suspicion in self.suspicions))


def of_rate(row: Mapping[str, Any], name: str) -> str:
    """A rate with its interval, in two digits.

    >>> of_rate({"hit_rate": 0.908, "hit_rate_low": 0.8, "hit_rate_high": 0.997}, "hit_rate")
    '.91 (.80 to >.99)'
    """
    value, low, high = (two_digits(row[name + end]) for end in ("", "_low", "_high"))
    return f"{value} ({low} to {high})"


def two_digits(share: float) -> str:
    """A share as people write it; one that is nearly 0 or 1 must not look as if there were no doubt.

    >>> [two_digits(share) for share in (0.0, 0.004, -0.25, 0.998)]
    ['<.01', '<.01', '−.25', '>.99']
    """
    size = abs(share)
    text = ">.99" if size >= 0.995 else f"{size:.2f}"[1:]
    if text == ".00":
        return "<.01" if share >= 0 else ".00"
    return f"−{text}" if share < 0 else text
