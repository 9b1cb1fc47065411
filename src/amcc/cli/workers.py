"""amcc workers: how far to trust each worker."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc.cli.common import (
    DEFAULT_METHOD,
    Json,
    Method,
    Output,
    SafeCsv,
    fit,
    notes,
    print_json,
    reads_votes,
    write_rows,
)
from amcc.cli.engines import EngineChoice, by_blocks
from amcc.consensus import AMCC, ConsensusModel
from amcc.engine.packed import PackedVotes
from amcc.votes import Votes

COLUMNS = ["worker", "answers", "hit_rate", "false_alarm_rate", "informativeness", "group", "weight", "evidence"]


@reads_votes
def workers(
    votes: Votes | PackedVotes,
    engine: EngineChoice,
    method: Method = DEFAULT_METHOD,
    output: Output = None,
    safe_csv: SafeCsv = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="Also the bounds of the 95 % intervals.")] = False,
    as_json: Json = False,
) -> None:
    """Judge the workers, best first, and say what speaks against the likely spammers.

    Writes worker,answers,hit_rate,false_alarm_rate,informativeness,group,weight,evidence.
    """
    if isinstance(votes, PackedVotes) and by_blocks(method):
        with engine.over(votes) as blocks:
            model = fit(blocks, method)
            model.worker_evidence_  # noqa: B018  # judged while the blocks are there
    else:
        engine.refuse_for_files()
        model = fit(votes.votes() if isinstance(votes, PackedVotes) else votes, method)
    table: pa.Table = model.workers(frame="arrow")
    table = table.select([*COLUMNS, *(name for name in table.column_names if intervals and name not in COLUMNS)])
    table = table.sort_by([("informativeness", "descending"), ("worker", "ascending")])
    groups = _groups(model)
    if as_json:
        print_json({"method": method, "groups": groups, "workers": table.to_pylist()})
    for group in groups:
        notes.print(group["summary"], style="dim", soft_wrap=True)
    n_spammers = len(model.worker_evidence_)
    if n_spammers:
        who = "1 worker looks like a spammer" if n_spammers == 1 else f"{n_spammers} workers look like spammers"
        notes.print(f"{who}: see the column evidence")
    if not as_json or output is not None:
        write_rows(table, output, safe_csv=safe_csv)


def _groups(model: ConsensusModel) -> list[dict[str, Any]]:
    """The groups that have workers, of models that have groups."""
    if not isinstance(model, AMCC):
        return []
    return [group for group in model.groups(frame="arrow").to_pylist() if group["workers"]]
