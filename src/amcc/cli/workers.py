"""amcc workers: how far to trust each worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from amcc.cli.account import Account, find_worker
from amcc.cli.common import (
    DEFAULT_METHOD,
    Features,
    FeaturesItems,
    Json,
    KnownItems,
    KnownPairs,
    KnownTruth,
    Method,
    Output,
    SafeCsv,
    TruthUnmentioned,
    WorkersFile,
    described_items,
    effect_as_json,
    fit,
    known_truth,
    listed_workers,
    notes,
    print_json,
    reads_votes,
    screen,
    write_rows,
)
from amcc.cli.engines import EngineChoice, by_blocks
from amcc.cli.paths import TABLE
from amcc.consensus import ConsensusModel, make_model
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.truth_effect import truth_effect
from amcc.consensus.undeclared import MOST_VOTES, Suspicion, suggested_roster, suspected_families
from amcc.engine.base import Engine, gather
from amcc.engine.packed import PackedVotes
from amcc.votes import Votes

COLUMNS = ["worker", "answers", "hit_rate", "false_alarm_rate", "informativeness", "group", "weight", "evidence"]

ROSTER_COLUMNS = ["kind", "family", "vote_worth"]
"""Further columns where --workers says who the workers are."""


@reads_votes
def workers(
    votes: Votes | PackedVotes,
    engine: EngineChoice,
    method: Method = DEFAULT_METHOD,
    features: Features = None,
    features_items: FeaturesItems = None,
    truth: KnownTruth = None,
    known_items: KnownItems = None,
    known_pairs: KnownPairs = None,
    truth_unmentioned: TruthUnmentioned = "unknown",
    roster: WorkersFile = None,
    output: Output = None,
    safe_csv: SafeCsv = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="Also the bounds of the 95 % intervals.")] = False,
    suggest: Annotated[
        Path | None,
        typer.Option(
            "--suggest-workers",
            help="Also write a workers file (worker,kind,family) of those who seem to share errors, to be corrected.",
        ),
        TABLE,
    ] = None,
    worker: Annotated[
        str | None,
        typer.Option(help="The account of one worker: rates, agreement by label, and the votes behind the verdict."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Judge the workers, best first, and give the evidence against the likely spammers.

    Writes worker,answers,hit_rate,false_alarm_rate,informativeness,group,weight,evidence, and with --workers also
    kind,family,vote_worth; with --worker, prints what is known about them, and writes
    item,label,vote,probability,others_yes,others_no to --output.
    """
    if features or features_items:
        make_model(method).check_uses_features(of_workers=True)
    if roster is not None:
        make_model(method).check_uses_roster()
    code = None if worker is None else find_worker(worker, votes.worker_names)
    known = known_truth(truth, known_items, known_pairs, truth_unmentioned)
    if (known is not None or roster is not None) and isinstance(votes, PackedVotes):
        votes = votes.votes()  # what is known is looked up pair by pair, and so is who voted beside whom
    listed = listed_workers(roster, votes.worker_names)
    with _where_it_runs(votes, engine, method) as blocks:
        described = described_items(blocks, features, features_items) if isinstance(blocks, Votes) else None
        model = fit(blocks, method, features=described, truth=known, roster=listed)
        model.worker_evidence_  # noqa: B018  # judged while the blocks are there
        account = None if code is None else Account.of(model, blocks, code)
        effect = effect_as_json(truth_effect(model, blocks) if isinstance(blocks, Votes) else None)
        suspicions = _suspicions(model, blocks) if account is None else []
    if suggest is not None:
        write_rows(suggested_roster(suspicions, model.worker_names_), suggest, safe_csv=safe_csv)
    if account is None:
        _tell_all(model, suspicions, method, output, safe_csv, intervals, as_json, effect)
        return
    if as_json:
        print_json({"method": method, **account.as_json(), **effect})
    else:
        for table in account.tables():
            screen.print(table)
            screen.print()
    if output is not None:
        write_rows(account.votes, output, safe_csv=safe_csv)


@contextmanager
def _where_it_runs(votes: Votes | PackedVotes, engine: EngineChoice, method: str) -> Iterator[Votes | Engine]:
    """Packed votes block by block, where the method can; otherwise votes in memory."""
    if isinstance(votes, PackedVotes) and by_blocks(method):
        with engine.over(votes) as blocks:
            yield blocks
    else:
        engine.refuse_for_files()
        yield votes.votes() if isinstance(votes, PackedVotes) else votes


def _suspicions(model: ConsensusModel, votes: Votes | Engine) -> list[Suspicion]:
    """Workers who may be a family that nobody declared, by a part of the items where there are many."""
    if isinstance(votes, Engine):
        share = MOST_VOTES / max(votes.n_votes, 1)
        votes = gather(votes, np.flatnonzero(np.random.default_rng(0).random(votes.n_items) < share))
    return suspected_families(votes, model.roster_ if model.has_roster else None)


def _tell_all(
    model: ConsensusModel,
    suspicions: list[Suspicion],
    method: str,
    output: Path | None,
    safe_csv: bool,
    intervals: bool,
    as_json: bool,
    effect: dict[str, Any],
) -> None:
    table: pa.Table = model.workers(frame="arrow")
    columns = [*COLUMNS, *(name for name in ROSTER_COLUMNS if name in table.column_names)]
    table = table.select([*columns, *(name for name in table.column_names if intervals and name not in columns)])
    table = table.sort_by([("informativeness", "descending"), ("worker", "ascending")])
    groups = _groups(model)
    if as_json:
        families = model.families("arrow").to_pylist() if model.has_roster else []
        suspected = [suspicion.as_json(model.worker_names_) for suspicion in suspicions]
        told = {"families": families, "suspected_families": suspected}
        print_json({"method": method, "groups": groups, **told, "workers": table.to_pylist(), **effect})
    for group in groups:
        notes.print(group["summary"], style="dim", soft_wrap=True)
    n_spammers = len(model.worker_evidence_)
    if n_spammers:
        who = "1 worker looks like a spammer" if n_spammers == 1 else f"{n_spammers} workers look like spammers"
        notes.print(f"{who}: see the column evidence, or one by one: --worker NAME")
    for suspicion in suspicions:
        notes.print(suspicion.sentence(model.worker_names_), markup=False, soft_wrap=True)
    if not as_json or output is not None:
        write_rows(table, output, safe_csv=safe_csv)


def _groups(model: ConsensusModel) -> list[dict[str, Any]]:
    """The groups that have workers, of models that have groups."""
    if not isinstance(model, GroupedModel):
        return []
    return [group for group in model.groups(frame="arrow").to_pylist() if group["workers"]]
