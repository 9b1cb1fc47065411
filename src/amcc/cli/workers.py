"""amcc workers: how far to trust each worker."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
import typer

from amcc.cli.common import DEFAULT_METHOD, Json, Method, Output, fit, print_json, reads_votes, write_rows
from amcc.votes import Votes

COLUMNS = ["worker", "answers", "hit_rate", "false_alarm_rate", "informativeness", "group", "weight"]


@reads_votes
def workers(
    votes: Votes,
    method: Method = DEFAULT_METHOD,
    output: Output = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Also the bounds of the 95 % intervals.")] = False,
    as_json: Json = False,
) -> None:
    """Judge the workers, best first; writes worker,answers,hit_rate,false_alarm_rate,informativeness,group,weight."""
    table: pa.Table = fit(votes, method).workers(frame="arrow")
    table = table.select([*COLUMNS, *(name for name in table.column_names if intervals and name not in COLUMNS)])
    table = table.sort_by([("informativeness", "descending"), ("worker", "ascending")])
    if as_json:
        print_json({"method": method, "workers": table.to_pylist()})
    if not as_json or output is not None:
        write_rows(table, output)
